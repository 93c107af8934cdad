import { lint, operatorsFor, parseIr, type Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { canonicalize, differentiate, formulas, gradientPairOf, type Gradient } from '@cresset/passes';
import { beforeAll, describe, expect, it } from 'vitest';
import { initializeRuntime } from '../initialize.ts';
import { runtimeConstants } from '../interpreter/code/constant-value.ts';
import nodes from './gradient-goldens/nodes.json';
import pointwise from './gradient-goldens/pointwise.json';
import structure from './gradient-goldens/structure.json';

beforeAll(() => {
  registerAllOperators();
  initializeRuntime();
});

/** Values numbered in the order in which they are mentioned: names do not count. */
function numbered(graph: Graph | string): string {
  const names = new Map<string, string>();
  return String(graph)
    .trim()
    .replaceAll(/%[\w.]+/g, (name) => {
      if (!names.has(name)) names.set(name, `%${names.size}`);
      return names.get(name)!;
    });
}

describe.each(Object.entries({ nodes, pointwise, structure }))(
  'derivatives are those of PyTorch %s: %s',
  (_, { cases }) => {
    it.each(cases)('$name', ({ ir, f, df, name: _name, ...indices }) => {
      const got = differentiate(parseIr(ir, { constants: runtimeConstants }));
      lint(got.f);
      lint(got.df);
      expect(numbered(canonicalize(got.f))).toBe(numbered(f));
      expect(numbered(canonicalize(got.df))).toBe(numbered(df));
      const { f: _f, df: _df, ...gotIndices }: Gradient = got;
      expect(gotIndices).toEqual(indices);
    });
  },
);

describe('formulas', () => {
  it.each(Object.keys(formulas))('aten::%s has the parameters and the results of its operator', (key) => {
    const [name, overload = ''] = key.split('.');
    const { schema } = operatorsFor(`aten::${name}`).find((each) => each.overloadName === overload)!;
    const { forward, backward } = gradientPairOf(schema)!;
    const types = (values: readonly { readonly type: unknown }[]): string[] => values.map(({ type }) => String(type));
    expect(types(forward.inputs)).toEqual(types(schema.arguments));
    const results = forward.outputs[0].node.inputs;
    expect(types(results.slice(0, -1))).toEqual(types(schema.returns));
    expect(backward.inputs[0].type).toEqual(results.at(-1)!.type);
    const [gradient] = backward.outputs;
    const count = gradient.type.kind === 'TupleType' ? gradient.type.containedTypes().length : 1;
    expect(count).toBe(schema.arguments.length);
  });

  it('are refused for nodes that have none', () => {
    const text = 'graph(%x : Tensor):\n  %r : Tensor = aten::cumsum(%x, %x, %x)\n  return (%r)\n';
    expect(() => differentiate(parseIr(text))).toThrow('differentiation of aten::cumsum is not supported');
  });
});
