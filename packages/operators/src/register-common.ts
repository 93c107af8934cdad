import { operatorRegistry } from '@cresset/ir';
import { commonRows } from './families/common.ts';
import { foreignNote } from './table/foreign-note.ts';
import { registerFamily } from './table/register.ts';

/** Registers the operators that are there in any case. Does nothing the second time. */
export function registerCommonOperators(): void {
  registerFamily(commonRows);
  operatorRegistry.noteOn = foreignNote;
}
