/** What a child says on its standard output, one JSON text a line. */
export type ChildMessage =
  | { readonly begin: number }
  /** Its input is made; what follows is the engine's. */
  | { readonly made: number }
  | {
      readonly end: number;
      readonly target: string;
      /** `result`, or the code of the error. */
      readonly outcome: string;
      readonly milliseconds: number;
      readonly bytes: number;
    }
  | { readonly failed: number; readonly target: string; readonly reason: string }
  | { readonly done: true };
