/** A Python process that answers lines with lines. */
export class PythonProcess {
  /** @param python an interpreter that has what the script imports */
  constructor(python: string, script: string, args?: readonly string[]);
  /** Rejects where the process has ended. */
  ask(line: string): Promise<string>;
  close(): void;
}
