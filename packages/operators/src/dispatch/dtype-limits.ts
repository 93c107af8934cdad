import { refuseDtypes, type DtypeRefusal } from './dtype-refusals.ts';
import { limitWriting, type WritingEntry } from './writable-dtypes.ts';

/** Dtypes that a family's operators refuse though they could compute with them, since PyTorch's do. */
export interface DtypeLimits {
  readonly refused?: readonly DtypeRefusal[];
  /** What out arguments and tensors written in place may be. */
  readonly written?: readonly WritingEntry[];
}

/** Puts a family's limits in place; once more changes nothing. */
export function limitDtypes({ refused = [], written = [] }: DtypeLimits): void {
  refuseDtypes(refused);
  limitWriting(written);
}
