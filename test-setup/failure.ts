import { CressetError } from '@cresset/ir';
import { expect } from 'vitest';

/** The CressetError that `work` ends with; a failed expectation where it ends well, or with another error. */
export async function failure(work: Promise<unknown>): Promise<CressetError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CressetError);
  return error as CressetError;
}
