/** One input, and what takes it. */
export interface CaseInput {
  readonly target: string;
  readonly input: Uint8Array | string;
  /** Bytes, or characters. */
  readonly size: number;
  take(): unknown;
}
