import { operatorRegistry, registerOperators } from '@cresset/ir';
import { aliasRows } from './aliases.ts';
import { generatedOutForms } from './out-forms.ts';
import type { OperatorRow } from './row.ts';
import { variantsOf } from './variants.ts';

/** Rows with all that is derived from them: second names, in-place and `out=` forms. */
export function withForms(rows: readonly OperatorRow[]): OperatorRow[] {
  const named = [...rows, ...aliasRows(rows)];
  return [...named.flatMap((row) => [row, ...variantsOf(row)]), ...generatedOutForms(named)];
}

const registered = new WeakSet<readonly OperatorRow[]>();

/**
 * Puts a family's rows, and what is derived from them, into ir's registry, where the compiler finds their schemas and the runtime, as
 * `row`, what runs them. Does nothing the second time.
 */
export function registerFamily(rows: readonly OperatorRow[]): void {
  if (registered.has(rows)) return;
  registered.add(rows);
  registerOperators(
    withForms(rows).map((row) => ({
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
