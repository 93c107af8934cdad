import { operatorRegistry, registerOperators } from '@cresset/ir';
import { extraDeclarations } from './extra-declarations.ts';
import { families } from '../families/common.ts';
import { coreNote } from './full-edition-names.ts';
import type { OperatorRow } from './row.ts';
import { variantsOf } from './variants.ts';

/** The rows of some families, with the in-place and `out=` forms derived from them. */
export function rowsOf(of: readonly (readonly OperatorRow[])[]): OperatorRow[] {
  return of.flatMap((family) => family.flatMap((row) => [row, ...variantsOf(row)]));
}

/** Puts rows into ir's registry, where the compiler finds their schemas and the runtime, as `row`, what runs them. */
export function registerRows(rows: readonly OperatorRow[]): void {
  registerOperators(
    rows.map((row) => ({
      schema: row.schema,
      row,
      nondeterministic: row.nondeterministic ?? false,
      aliasAnalysis: row.hasSideEffects ? 'conservative' : 'from-schema',
    })),
  );
}

/** Registers the operators that every edition of the library has. Does nothing the second time. */
export function registerCommonOperators(): void {
  if (operatorRegistry.find('aten::add', 'Tensor')) return;
  registerRows([...rowsOf(families), ...extraDeclarations]);
  operatorRegistry.noteOn = coreNote;
}

/** The row of an operator by its qualified name and overload name ('' where it has none). */
export function findRow(name: string, overload: string): OperatorRow | undefined {
  return operatorRegistry.find(name, overload)?.row as OperatorRow | undefined;
}
