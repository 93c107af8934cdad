import { operatorsFor } from '@cresset/ir';
import { registerAllOperators, type OperatorRow } from '@cresset/operators';
import { derivativeKeys } from '@cresset/operators/parts/derivatives';
import { beforeAll, expect, it } from 'vitest';
import { derivativeOf } from './derivative.ts';

beforeAll(registerAllOperators);

/** The rows that a key of the table is for: of that name, or in place where there is no other form. */
function rowsOf(key: string): OperatorRow[] {
  const [name, overload = ''] = key.split('.');
  const found = [name, `${name}_`].map((form) =>
    operatorsFor(form.includes('::') ? form : `aten::${form}`)
      .filter(({ schema }) => schema.overloadName === overload)
      .map(({ row }) => (row as OperatorRow).derived?.from ?? (row as OperatorRow)),
  );
  return found.find((rows) => rows.length > 0) ?? [];
}

it.each(derivativeKeys())('the formulas of %s are of an operator, of its arguments, and compile', (key) => {
  const rows = rowsOf(key);
  expect(rows).not.toEqual([]);
  for (const row of rows) {
    const derivative = derivativeOf(row)!;
    derivative.composition?.();
    for (const formula of derivative.formulas) {
      if (formula.refusal === null) expect(formula.code.instructions).not.toEqual([]);
      else expect(() => formula.code).toThrow(formula.refusal);
    }
  }
  const names = new Set(rows.flatMap((row) => derivativeOf(row)!.signature.args.map(({ name }) => name)));
  const named = derivativeOf(rows[0])!.formulas.flatMap(({ inputs }) => inputs);
  expect(named.filter((name) => !names.has(name))).toEqual([]);
});
