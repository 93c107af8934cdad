import { readdirSync, readFileSync } from 'node:fs';
import { declareFunctions, NATIVE_RESOLVER, parseProgram, type Def } from '@cresset/frontend';
import { CompilationUnit, operatorRegistry, OperatorRegistry, registerOperators, Source } from '@cresset/ir';
import { describe, expect, it } from 'vitest';
import { namesIn, partTable, sourcePartTable } from './documentation/part-table-text.ts';
import { commonRows } from './families/common.ts';
import { rareRows } from './families/rare.ts';
import type { PartName } from './part-table.ts';
import { namesInCode, partsOf, partsOfDtype } from './parts-of.ts';
import { namesInSource, partsOfSource } from './parts-of-source.ts';
import { withForms } from './table/register.ts';
import type { OperatorRow } from './table/row.ts';

const parts = Object.keys(rareRows) as PartName[];
const nameOf = ({ schema }: OperatorRow): string => schema.slice(0, schema.search(/[.(]/));

/** What a call of an operator has in a program's text: `ops.quantized.add(`, `torch.sort(`. */
const identifiersOf = (row: OperatorRow): string[] => nameOf(row).split('::');

const registerRows = (rows: readonly OperatorRow[]): void =>
  registerOperators(withForms(rows).map((row) => ({ schema: row.schema, row })));

describe('the tables of parts', () => {
  it('are what the rows say: `pnpm docs:operators` writes them', () => {
    const written = (name: string): string => readFileSync(new URL(`${name}.ts`, import.meta.url), 'utf8');
    expect(written('part-table')).toBe(partTable());
    expect(written('source-part-table')).toBe(sourcePartTable());
  });

  it.each(parts)('%s is wanted by the names of all its operators, derived forms too', (part) => {
    for (const row of withForms(rareRows[part])) expect([nameOf(row), ...partsOf(identifiersOf(row))]).toContain(part);
  });

  it('are closed: what an operator is said in terms of is there with it', () => {
    for (const row of [...commonRows, ...Object.values(rareRows).flat()]) {
      const own = partsOf(identifiersOf(row));
      const missing = [...partsOf(namesIn(row.decomposition ?? ''))].filter((part) => !own.has(part));
      expect([nameOf(row), missing]).toEqual([nameOf(row), []]);
    }
  });

  it('leave out what most programs name', () => {
    const names =
      'conv2d batch_norm relu_ linear layer_norm softmax matmul add mul_ cat view embedding norm mean erf dropout';
    expect([...partsOf(names.split(' '))]).toEqual([]);
    expect([...partsOfSource('conv2d relu F nn view'.split(' '))]).toEqual([]);
  });

  it('know what Python sources call in other words', () => {
    expect(partsOfSource(['torch', 'fft', 'fft'])).toEqual(new Set(['arranging', 'complex', 'fourier']));
    expect(partsOfSource(['F', 'cross_entropy'])).toContain('losses');
    expect(partsOfSource(['nn', 'init', 'xavier_uniform_'])).toContain('random');
    expect(partsOfSource(['linalg', 'inv'])).toContain('linalg');
  });

  it('take what a Python source names of a module for that, and forms of operators for no functions', () => {
    expect(namesInSource('torch.linalg.inv(x) + la')).toEqual(new Set(['torch', 'linalg_inv', 'x', 'la']));
    expect(namesInSource('import torch.linalg as la')).toContain('linalg');
    expect([...partsOfSource(namesInSource('torch.linalg.inv(x) + torch.special.i0(x)'))]).toEqual([
      'linalg',
      'special',
    ]);
    expect([...partsOfSource(namesInSource('torch.zeros(2) + nn.Identity()(x)'))]).toEqual([]);
    expect([...partsOfSource(namesInSource('nn.init.zeros_(x)'))]).toEqual(['random']);
    expect([...partsOfSource(namesInSource('y = x[mask]'))]).toEqual(['indexing']);
  });

  it('are asked for what saved code calls, and for nothing else that is named', () => {
    const code = [
      'def forward(self: __torch__.Net,',
      '    mode: str) -> Tensor:',
      '  gamma = self.mode',
      '  x = torch.sort(input, -1)',
      '  return ops.quantized.add(x, gamma, 1., 0)',
    ];
    const names = namesInCode(code.join('\n'));
    expect(names).toEqual(new Set(['forward', 'sort', 'quantized', 'add']));
    expect(partsOf(names)).toEqual(new Set(['sorting', 'quantized']));
  });

  it('have parts for dtypes too', () => {
    expect(partsOfDtype('complex64')).toEqual(['complex']);
    expect(partsOfDtype('quint8')).toEqual(['quantized']);
    expect(partsOfDtype('uint8')).toEqual([]);
  });
});

describe('a part', () => {
  it('is a module of that name', () => {
    const files = readdirSync(new URL('parts/', import.meta.url)).map((file) => file.replace('.ts', ''));
    // What programs without a device are faster with, and formulas of derivatives, are no rows: no name asks for them.
    expect(files.sort()).toEqual([...parts, 'derivatives', 'host'].sort());
  });

  it.each(parts)('%s registers its rows, and no others', async (part) => {
    operatorRegistry.clear();
    const { register } = (await import(`./parts/${part}.ts`)) as { register: () => void };
    register();
    expect([...operatorRegistry.names()].sort()).toEqual([...new Set(withForms(rareRows[part]).map(nameOf))].sort());
  });
});

it('overloads are matched in one order, whichever part was there first', () => {
  const registries = [
    [commonRows, ...Object.values(rareRows)],
    [...Object.values(rareRows).reverse(), commonRows],
  ].map((families) => {
    const registry = new OperatorRegistry();
    for (const rows of families) registry.register(withForms(rows).map(({ schema }) => ({ schema })));
    return registry;
  });
  const differing = [...registries[0].names()].filter((name) => {
    const [order, other] = registries.map((registry) => registry.operatorsFor(name).map((each) => each.schemaText));
    return String(order) !== String(other);
  });
  // No call fits two of its overloads.
  expect(differing).toEqual(['aten::set_']);
});

/** Rows by the parts that their names bring. */
const decomposed = new Map<string, OperatorRow[]>();
for (const row of [...commonRows, ...Object.values(rareRows).flat()]) {
  if (row.decomposition === undefined) continue;
  const key = [...partsOf(identifiersOf(row))].sort().join(' ');
  decomposed.set(key, [...(decomposed.get(key) ?? []), row]);
}

describe('an operator said in terms of others', () => {
  it.each([...decomposed])('compiles where no parts are but %j', (names, rows) => {
    operatorRegistry.clear();
    registerRows(commonRows);
    for (const part of names.split(' ').filter(Boolean)) registerRows(rareRows[part as PartName]);
    for (const { decomposition } of rows) {
      const definitions = parseProgram(new Source(decomposition!, 'decomposition'), 'python');
      const functions = declareFunctions(new CompilationUnit(), definitions as readonly Def[], {
        resolver: NATIVE_RESOLVER,
      });
      for (const each of functions) expect(each.graph.outputs.length).toBe(1);
    }
  });
});
