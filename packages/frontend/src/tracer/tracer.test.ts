import { registerOperators, TensorType, type Operator } from '@cresset/ir';
import { List, Tensor, type IValue } from '@cresset/tensor';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { Tracer } from './tracer.ts';

const SCHEMAS = [
  'aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor',
  'aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor',
  'aten::eq.Scalar(Tensor self, Scalar other) -> Tensor',
  'aten::eq.Tensor(Tensor self, Tensor other) -> Tensor',
  'aten::view(Tensor(a) self, int[] size) -> Tensor(a)',
  'aten::zeros(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor',
  'aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]',
  'aten::dim(Tensor self) -> int',
  'aten::Int.Tensor(Tensor a) -> int',
];

beforeAll(() => registerOperators(SCHEMAS.map((schema) => ({ schema }))));

const ones = (...sizes: number[]): Tensor =>
  Tensor.fromArray(new Float32Array(sizes.reduce((product, size) => product * size, 1)).fill(1), sizes, 'float32');

/** Results of the right shape: what is computed is not the tracer's business. */
function execute({ name }: Operator, [self, second]: readonly IValue[]): readonly IValue[] {
  switch (name) {
    case 'aten::dim':
      return [BigInt((self as Tensor).dim)];
    case 'aten::chunk':
      return [new List(TensorType.get(), [ones(1), ones(1)])];
    case 'aten::view':
      return [ones(...(second as List).items.map((size) => Math.abs(Number(size))))];
    case 'aten::zeros':
      return [ones(...(self as List).items.map(Number))];
    default:
      return [ones(...(self as Tensor).sizes)];
  }
}

const makeTracer = (warn?: (message: string) => void): Tracer => new Tracer({ execute, warn });
const kindsOf = (tracer: Tracer): string[] => Array.from(tracer.graph.nodes(), (node) => node.kind);

describe('Tracer', () => {
  it('makes a number beside a tensor a tensor where Python does, and a number elsewhere', () => {
    const tracer = makeTracer();
    const x = tracer.addInput(ones(2), 'x') as Tensor;
    tracer.addOutput(tracer.call('aten::add', [x, 2]) as Tensor, 0);
    tracer.call('aten::eq', [x, 2]);
    const [, two] = Array.from(tracer.graph.nodes()).find((node) => node.kind === 'aten::add')!.inputs;
    expect(`${two!.type}`).toBe('Long(requires_grad=0, device=cpu)');
    const [, other] = Array.from(tracer.graph.nodes()).find((node) => node.kind === 'aten::eq')!.inputs;
    expect(`${other!.type}`).toBe('int');
  });

  it('records sizes as tensors that become ints again', () => {
    const tracer = makeTracer();
    const x = tracer.addInput(ones(2, 3)) as Tensor;
    tracer.call('aten::view', [x, tracer.sizeOf(x, 0), -1]);
    expect(kindsOf(tracer)).toEqual([
      'prim::Constant',
      'aten::size',
      'prim::NumToTensor',
      'aten::Int',
      'prim::Constant',
      'prim::ListConstruct',
      'aten::view',
    ]);
  });

  it('fills in what Python fills in of a factory', () => {
    const tracer = makeTracer();
    const zeros = tracer.call('aten::zeros', [2, 3], { dtype: 'int64' }) as Tensor;
    expect(zeros.sizes).toEqual([2, 3]);
    const node = Array.from(tracer.graph.nodes()).at(-1)!;
    expect(node.inputs.slice(1).map((input) => `${input.type}`)).toEqual(['int', 'NoneType', 'Device', 'bool']);
  });

  it('takes apart lists of results, and records nothing that gives no tensor', () => {
    const tracer = makeTracer();
    const x = tracer.addInput(ones(2)) as Tensor;
    tracer.call('aten::chunk', [x, 2]);
    expect(tracer.call('aten::dim', [x])).toBe(1n);
    expect(kindsOf(tracer).slice(-2)).toEqual(['aten::chunk', 'prim::ListUnpack']);
  });

  it('warns of numbers that the program takes out of tensors', () => {
    const warn = vi.fn();
    makeTracer(warn).warnOfPythonValue('boolean');
    expect(warn).toHaveBeenCalledWith(expect.stringMatching(/^Converting a tensor to a Python boolean might cause/));
  });

  it('refuses arguments that no overload takes, and results that come from nowhere', () => {
    const tracer = makeTracer();
    const x = tracer.addInput(ones(2)) as Tensor;
    expect(() => tracer.call('aten::add', [x, 'a'])).toThrow(
      /add\(\) received an invalid combination of arguments - got \(Tensor, str\)/,
    );
    expect(() => tracer.addOutput(ones(1), 0)).toThrow(/did not have observable data dependence with trace inputs/);
  });
});
