import { Await } from '@cresset/tensor';
import { declared } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** What is done with calls that were put off (`torch.jit._awaitable`); to put one off, and to wait for it, are instructions of the interpreter. */
export const awaitRows: readonly OperatorRow[] = [
  declared('prim::awaitable_wait(Await(t) self) -> t'),
  {
    schema: 'prim::awaitable_nowait(t self) -> Await(t)',
    scalar: (self) => {
      const result = new Await();
      result.markCompleted(self);
      return result;
    },
  },
];
