import { operatorRegistry, registerOperators } from '@cresset/ir';
import { families } from './families.ts';
import type { OperatorRow } from './row.ts';
import { variantsOf } from './variants.ts';

/** All rows, with the in-place and `out=` forms derived from them. */
export function allRows(): OperatorRow[] {
  return families.flatMap((family) => family.flatMap((row) => [row, ...variantsOf(row)]));
}

/**
 * Puts every row into ir's registry, where the compiler finds its schema and the runtime, as the operator's `row`, what
 * runs it. Does nothing the second time.
 */
export function registerAllOperators(): void {
  if (operatorRegistry.find('aten::add', 'Tensor')) return;
  registerOperators(
    allRows().map((row) => ({
      schema: row.schema,
      row,
      nondeterministic: row.nondeterministic ?? false,
      aliasAnalysis: row.hasSideEffects ? 'conservative' : 'from-schema',
    })),
  );
}

/** The row of an operator by its qualified name and overload name ('' where it has none). */
export function findRow(name: string, overload: string): OperatorRow | undefined {
  return operatorRegistry.find(name, overload)?.row as OperatorRow | undefined;
}
