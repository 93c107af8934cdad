import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  CompilationUnit,
  CressetError,
  type FunctionType,
  GraphFunction,
  parseSchema,
  registerOperators,
  Source,
  lint,
} from '@cresset/ir';
import { describe, expect, it } from 'vitest';
import { FunctionValue } from '../values/callable-value.ts';
import { declareScript, script } from '../script.ts';
import { parseProgram } from '../parser/parser.ts';
import { functionalLibrary } from './library.ts';
import { BOOLEAN_DISPATCHED, FUNCTIONAL_SOURCES } from './sources.ts';

const reference = (name: string): string =>
  fileURLToPath(new URL(`../../../../../shared/reference/${name}`, import.meta.url));

/** All operators' schemas, and PyTorch's own signatures of the functions: facts that stand beside the project, where they do. */
const isThere = existsSync(reference('aten-schemas.txt'));

function readSchemas(): readonly string[] {
  const lines = readFileSync(reference('aten-schemas.txt'), 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

interface LibraryFacts {
  readonly functions: Readonly<Record<string, { readonly schema?: string | null }>>;
}

interface BuiltinFacts {
  readonly functions: Readonly<Record<string, string>>;
}

function errorOf(run: () => unknown): string {
  try {
    run();
    return '';
  } catch (error) {
    return error instanceof CressetError ? error.message : `not a CressetError: ${String(error)}, no attribute`;
  }
}

describe.skipIf(!isThere)('the functional library (needs ../shared/reference)', () => {
  if (isThere) {
    registerOperators(readSchemas().map((schema) => ({ schema })));
    declareScript('', { unit: new CompilationUnit() });
  }

  for (const [module, text] of Object.entries(FUNCTIONAL_SOURCES)) {
    for (const definition of parseProgram(new Source(text), 'python')) {
      const { name } = definition.name;
      if (definition.kind !== 'def') continue;
      it(`${module}.${name} compiles`, () => {
        const found = functionalLibrary.find(`${module}.${name}`);
        expect(found).toBeDefined();
        const callees = found instanceof FunctionValue ? found.callees : [];
        const fn = functionalLibrary.functionNamed(`${module}.${name}`) ?? callees[0];
        expect(fn).toBeInstanceOf(GraphFunction);
        expect(() => lint((fn as GraphFunction).graph)).not.toThrow();
      });
    }
  }

  it('has every function that PyTorch compiles from Python', () => {
    const facts = JSON.parse(readFileSync(reference('functional-lib.json'), 'utf8')) as LibraryFacts;
    const names = Object.keys(facts.functions);
    expect(names.length).toBeGreaterThan(150);
    expect(names.filter((name) => functionalLibrary.find(name) === undefined)).toEqual([]);
  });

  it('resolves every name of Python that is an operator', { timeout: 60_000 }, () => {
    const { functions } = JSON.parse(readFileSync(reference('builtins.json'), 'utf8')) as BuiltinFacts;
    const names = Object.keys(functions);
    expect(names.length).toBeGreaterThan(1000);
    const unresolved = names.filter((name) => {
      // Arguments that fit nothing: what counts is that the name is found.
      const error = errorOf(() => script(`def f():\n    return ${name}(["a"], ["b"], ["c"], ["d"], ["e"])\n`));
      return /no attribute|Unknown builtin|undefined value|not supported/.test(error);
    });
    expect(unresolved).toEqual([]);
  });

  it('has the signatures that PyTorch has', () => {
    const facts = JSON.parse(readFileSync(reference('functional-lib.json'), 'utf8')) as LibraryFacts;
    const wrong: string[] = [];
    let compared = 0;
    for (const [name, { schema }] of Object.entries(facts.functions)) {
      const fn = functionalLibrary.functionNamed(name);
      // The grammar of schemas has no default of Any.
      if (!fn || !schema || !schema.startsWith(`${fn.name}(`) || schema.includes('Any out=')) continue;
      compared++;
      const ours = fn.schema.arguments.map((argument) => `${argument}`).join(', ');
      const theirs = parseSchema(schema)
        .arguments.map((argument) => `${argument}`)
        .join(', ');
      if (ours !== theirs) wrong.push(`${name}: (${ours}), not (${theirs})`);
    }
    expect(compared).toBeGreaterThan(50);
    expect(wrong).toEqual([]);
  });

  it('picks the form with indices by a constant', () => {
    expect(Object.keys(BOOLEAN_DISPATCHED)).toContain('torch.nn.functional.max_pool2d');
    const unit = script(`
def f(x):
    return F.max_pool2d(x, 2)
def g(x):
    return F.max_pool2d(x, 2, return_indices=True)
`);
    expect(`${unit.getFunction('__torch__.f').graph}`).toContain('name="_max_pool2d"');
    expect(`${unit.getFunction('__torch__.g').graph}`).toContain('name="max_pool2d_with_indices"');
  });

  it('says what PyTorch says where that is no constant, no bool, or a schema cannot be printed', () => {
    const errorWith = (args: string): string =>
      errorOf(() => script(`def f(x, b: bool):\n    return F.max_pool2d(x, ${args})\n`));
    expect(errorWith('2, return_indices=b')).toMatch(
      "Keyword argument 'return_indices' for boolean dispatch at position was not constant",
    );
    expect(errorWith('2, 2, 0, 1, False, b')).toMatch('Argument for boolean dispatch at position 6 was not constant');
    expect(errorWith('2, return_indices=None')).toMatch('please report a bug to PyTorch. expected bool');
    expect(errorWith('2, foo=1')).toMatch('Expected IntList but got Int');
  });

  it('has the modules beside torch.nn.functional that PyTorch has, under their names', () => {
    const unit = script('def f(x, y):\n    return F.mse_loss(x, y)\n');
    unit.getFunction('__torch__.f').ensureDefined();
    const { graph } = functionalLibrary.functionNamed('torch.nn.functional.mse_loss')!;
    const called = [...graph.allNodes()].filter(({ kind }) => kind === 'prim::CallFunction');
    expect(called.map((node) => (node.input(0).type as FunctionType).function.qualifiedName)).toEqual([
      '__torch__.torch.nn._reduction.legacy_get_string',
      '__torch__.torch.nn._reduction.get_enum',
    ]);
  });

  it('picks the overload of interpolate by the types', () => {
    const unit = script('def f(x):\n    return F.interpolate(x, scale_factor=2.0)\n');
    expect(`${unit.getFunction('__torch__.f').graph}`).toContain('Function = prim::Constant[name="interpolate"]()');
  });
});

it('knows torch.jit.is_tracing, a function of another module', () => {
  const unit = script('def f() -> bool:\n    return torch.jit.is_tracing()\n');
  const { graph } = unit.getFunction('__torch__.f');
  expect(`${graph}`).toContain('Function = prim::Constant[name="is_tracing"]()');
  const types = [...graph.nodes()].flatMap((node) => node.outputs.map((output) => output.type.annotationStr()));
  expect(types).toContain('__torch__.torch.jit._trace.is_tracing');
});
