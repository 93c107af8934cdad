import { expect, it } from 'vitest';
import { commonRows } from '../families/common.ts';
import { rareRows } from '../families/rare.ts';
import { RowForms, withForms } from './register.ts';

const schemasOf = (forms: RowForms, name: string): string[] =>
  forms.of(name).map(({ schema }) => schema.slice(0, schema.indexOf('(')));

it('rows that come of others are made by their names', () => {
  const forms = new RowForms(commonRows);
  expect(schemasOf(forms, 'aten::relu_')).toEqual(['aten::relu_']);
  expect(schemasOf(forms, 'aten::multiply_')).toEqual(['aten::multiply_.Tensor', 'aten::multiply_.Scalar']);
  expect(schemasOf(forms, 'aten::__iand__')).toEqual(['aten::__iand__.Tensor', 'aten::__iand__.Scalar']);
  expect(schemasOf(forms, 'aten::mul')).toEqual(expect.arrayContaining(['aten::mul.Tensor', 'aten::mul.out']));
  expect(schemasOf(forms, 'aten::ones')).toEqual(expect.arrayContaining(['aten::ones', 'aten::ones.out']));
  expect(forms.of('aten::mul_').find(({ schema }) => schema.startsWith('aten::mul_.Tensor('))?.derived).toMatchObject({
    form: 'in-place',
    from: { schema: expect.stringContaining('aten::mul.Tensor(') as string },
  });
  expect(forms.of('aten::nothing_')).toEqual([]);
});

it.each(['common', ...Object.keys(rareRows)])('every row of %s is among those of its name', (family) => {
  const rows = family === 'common' ? commonRows : rareRows[family as keyof typeof rareRows];
  const all = withForms(rows);
  for (const row of rows) expect(all).toContain(row);
  expect(new Set(all.map(({ schema }) => schema)).size).toBe(all.length);
});
