import { script } from '@cresset/frontend';
import { setJitOptions, type Graph } from '@cresset/ir';
import { Tensor, type IValue, type List } from '@cresset/tensor';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { initializeRuntime } from '../initialize.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ExecutorCache, GraphExecutor } from './graph-executor.ts';

beforeAll(initializeRuntime);
afterEach(() => setJitOptions({ optLimit: '', enabled: true }));

const spec = { maxFusedTensors: 0, gradEnabled: false };

interface Program {
  readonly graph: Graph;
  run(...args: IValue[]): IValue;
}

/** Compiles and optimises `def f(…)`. */
function optimized(source: string): Program {
  const executors = new ExecutorCache(() => spec);
  const { graph, code } = new GraphExecutor('f', script(source).getFunction('__torch__.f').graph, executors).planFor(
    spec,
  );
  const run = (...args: IValue[]): IValue => {
    const state = new InterpreterState(new Execution(new RuntimeContext()), (fn) => executors.ofFunction(fn));
    return (state.run(code, args) as readonly IValue[])[0];
  };
  return { graph, run };
}

const kindsOf = (graph: Graph): string[] =>
  [...graph.allNodes()].map(({ kind }) => kind).filter((kind) => kind !== 'prim::Constant');

const matrix = (rows: number, columns: number, start = 0): Tensor =>
  Tensor.fromArray(
    Float32Array.from({ length: rows * columns }, (_, at) => ((at * 7 + start) % 11) - 5),
    [rows, columns],
    'float32',
  );
const numbers = (tensor: IValue): number[] => Array.from((tensor as Tensor).contiguousArray() as Float32Array);

/** The sum of `mm(a_i, b_i)`, element by element. */
function sumOfProducts(pairs: readonly (readonly [Tensor, Tensor])[]): number[] {
  const [rows, columns] = [pairs[0][0].sizes[0], pairs[0][1].sizes[1]];
  return Array.from({ length: rows * columns }, (_, at) =>
    pairs.reduce((sum, [left, right]) => {
      const [a, b] = [numbers(left), numbers(right)];
      const depth = left.sizes[1];
      for (let k = 0; k < depth; k++) sum += a[Math.trunc(at / columns) * depth + k] * b[k * columns + (at % columns)];
      return sum;
    }, 0),
  );
}

describe('a plan', () => {
  const tree = `
def f(a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor, g: Tensor, h: Tensor, i: Tensor) -> Tensor:
    return (torch.mm(a, e) + torch.mm(b, g)) + (torch.mm(c, h) + torch.mm(d, i))
`;

  it('computes a sum of many products as one product where their shapes are equal', () => {
    const { graph, run } = optimized(tree);
    expect(kindsOf(graph).filter((kind) => kind === 'prim::MMTreeReduce')).toEqual([]);
    for (const depths of [
      [3, 3, 3, 3],
      [1, 2, 3, 4],
    ]) {
      const left = depths.map((depth, at) => matrix(2, depth, at));
      const right = depths.map((depth, at) => matrix(depth, 5, at + 4));
      expect(numbers(run(...left, ...right))).toEqual(sumOfProducts(left.map((each, at) => [each, right[at]])));
    }
  });

  it('computes many products with one factor in common at once', () => {
    const names = Array.from({ length: 8 }, (_, at) => `x${at}`);
    for (const [side, product] of [
      ['right', (name: string) => `torch.mm(w, ${name})`],
      ['left', (name: string) => `torch.mm(${name}, w)`],
    ] as const) {
      const { run } = optimized(
        `def f(w: Tensor, ${names.map((name) => `${name}: Tensor`).join(', ')}) -> List[Tensor]:\n    return [${names.map(product).join(', ')}]\n`,
      );
      const shared = matrix(3, 3, 2);
      const others = names.map((_, at) => matrix(3, 3, at));
      const results = (run(shared, ...others) as List).items.map(numbers);
      const pairs = others.map((other) => (side === 'right' ? [shared, other] : [other, shared]) as [Tensor, Tensor]);
      expect(results).toEqual(pairs.map((pair) => sumOfProducts([pair])));
    }
  });

  it('cuts into a known number of chunks, and says where there are fewer', () => {
    const { graph, run } = optimized(
      'def f(x: Tensor) -> Tensor:\n    a, b, c = torch.chunk(x, 3, 1)\n    return a - c + b\n',
    );
    expect(kindsOf(graph)).toEqual(['prim::ConstantChunk', 'aten::sub', 'aten::add']);
    const x = Tensor.fromArray(Float32Array.of(1, 2, 4, 8, 16, 32), [1, 6], 'float32');
    expect(numbers(run(x))).toEqual([1 - 16 + 4, 2 - 32 + 8]);
    expect(() => run(matrix(1, 2))).toThrow('Expected 3 elements in a list but found 2');
  });

  it('makes what is appended to a list an element of it, loops unrolled', () => {
    const { graph, run } = optimized(`
def f(x: Tensor) -> Tensor:
    parts: List[Tensor] = []
    for at in range(3):
        parts.append(x * at)
    return torch.cat(parts)
`);
    expect(kindsOf(graph)).toEqual(['aten::mul', 'aten::mul', 'aten::mul', 'prim::ListConstruct', 'aten::cat']);
    expect(numbers(run(matrix(1, 2)))).toEqual([-0, 0, -5, 2, -10, 4]);
  });

  it('is made with as many changes as a pass may make', () => {
    const source = 'def f(n: int) -> int:\n    l = [n, 2]\n    return l[0] + len(l)\n';
    expect(kindsOf(optimized(source).graph)).toEqual(['aten::add']);
    setJitOptions({ optLimit: 'peephole_list_idioms=1' });
    expect(kindsOf(optimized(source).graph)).toEqual(['prim::ListConstruct', 'aten::len', 'aten::add']);
    setJitOptions({ optLimit: 'loop_unrolling=0:remove_mutation=0' });
    const loop = 'def f(n: int) -> int:\n    k = 0\n    for at in range(4):\n        k += n\n    return k\n';
    expect(kindsOf(optimized(loop).graph)).toContain('prim::Loop');
  });
});
