import type { CressetError } from '../error.ts';

/** What is checked of a call before a function runs, beyond the types of its schema: torch.export writes such checks beside a program. */
export interface CallChecks {
  /** Throws a CressetError where a call has another number of positional arguments, or names others. */
  checkNames(positional: number, keywords: readonly string[]): void;
  /**
   * The error to throw where a parameter takes no such value.
   *
   * @param error that of the schema's type
   * @param index of the parameter, not counting `self`
   * @param isContainer whether the value is a list, tuple or dict
   */
  refusal(error: CressetError, index: number, isContainer: boolean): CressetError;
  /** Throws a CressetError where the values of the parameters, `self` left out, are none for which the function holds. */
  check(values: readonly unknown[]): void;
}
