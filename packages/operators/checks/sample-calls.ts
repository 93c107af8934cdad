import {
  BoolType,
  ClassType,
  FloatType,
  IntType,
  ListType,
  OptionalType,
  parseSchema,
  scalarTypeCode,
  TensorType,
  type Argument,
  type Type,
} from '@cresset/ir';
import { List, ScriptObject, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { OperatorCall } from '../src/dispatch/invoke.ts';
import { run } from '../src/operator-fixture.ts';
import type { OperatorRow } from '../src/table/row.ts';
import { givenCalls } from './given-calls.ts';
import { side, tensorOf } from './sample-tensors.ts';

/** Arguments of one kind for an operator, with tensors as large as one asks for. */
export interface SampleCall {
  /** Shape and dtype of the first tensor, as `image float32`. */
  readonly name: string;
  /** Whether the operator is an expression, which one loop works out for all of them. */
  readonly isExpression: boolean;
  /** The call with about so many elements in each large tensor. */
  at(elements: number): OperatorCall;
}

/** The value of an argument, where large tensors have about so many elements. */
type Candidate = (elements: number) => IValue;

type SizesAt = (elements: number) => number[];

/** Sizes that operators take, by what a tensor of them may be. */
const shapes: readonly (readonly [name: string, sizes: SizesAt])[] = [
  ['line', (elements) => [elements]],
  ['square', (elements) => [side(elements, 2), side(elements, 2)]],
  ['batch', (elements) => [4, side(elements / 4, 2), side(elements / 4, 2)]],
  ['image', (elements) => [2, 4, side(elements / 8, 2), side(elements / 8, 2)]],
  ['volume', (elements) => [1, 4, side(elements / 4, 3), side(elements / 4, 3), side(elements / 4, 3)]],
];

/** A tensor of one element, where nothing else is taken. */
const single: readonly [name: string, sizes: SizesAt] = ['number', () => []];

const dtypes: readonly ScalarType[] = ['float32', 'int64', 'complex64'];

/** How many combinations of arguments are tried for one shape and dtype. */
const MOST_TRIES = 320;
/** Elements of the tensors with which it is tried whether an operator takes arguments. */
const FEW_ELEMENTS = 512;

/** The integer 1 so many times. */
const onesOf = (count: number): Tensor => Tensor.fromArray(new BigInt64Array(count).fill(1n), [count], 'int64');

/** An object of one of PyTorch's classes in C++, with what kernels look for in it. */
function packed(className: string, attributes: Readonly<Record<string, IValue>>): ScriptObject {
  const type = new ClassType(`__torch__.torch.classes.${className}`);
  for (const name of Object.keys(attributes)) type.addAttribute(name, TensorType.get());
  return new ScriptObject(type, Object.values(attributes));
}

/** A quantised weight as layers keep it, for so many gates of a recurrent layer. */
const packedLinear =
  (sizes: SizesAt, gates: number) =>
  (elements: number): ScriptObject => {
    const weight = gateWeight(sizes, 'float32', gates)(elements);
    const _weight = run('aten::quantize_per_tensor', weight, 0.01, 0n, BigInt(scalarTypeCode('qint8')));
    return packed('quantized.LinearPackedParamsBase', { _weight, _bias: null });
  };

/** The weights of a recurrent layer, in a list. */
const packedCell =
  (sizes: SizesAt, gates: number) =>
  (elements: number): List => {
    const linear = packedLinear(sizes, gates)(elements);
    const _packed = new List(linear.type, [linear, linear]);
    const cell = packed('rnn.CellParamsBase', { _packed, _reduce_range: false });
    return new List(cell.type, [cell]);
  };

const constants = (...values: readonly IValue[]): Candidate[] => values.map((value) => () => value);
const integers = (items: readonly number[]): List => new List(IntType.get(), items.map(BigInt));

/** The weight of so many gates of a recurrent layer, of as many features as come in. */
const gateWeight =
  (sizes: SizesAt, dtype: ScalarType, gates: number) =>
  (elements: number): Tensor => {
    const features = sizes(elements).at(-1)!;
    return tensorOf([gates * features, features], dtype);
  };

/** The state of one layer over a batch of sequences, over one sequence, and over one that is packed. */
function states(sizes: SizesAt, dtype: ScalarType): ((elements: number) => Tensor)[] {
  const shapesOfStates: ((all: number[]) => number[])[] = [
    ([, batch, features]) => [1, batch, features],
    (all) => [1, 1, all.at(-1)!],
  ];
  return shapesOfStates.map((shape) => (elements) => tensorOf(shape(sizes(elements)), dtype));
}

/** What is tried for a tensor that is not the first. */
function otherTensors(name: string, sizes: SizesAt, dtype: ScalarType): Candidate[] {
  const whole =
    (as: ScalarType): Candidate =>
    (elements) =>
      tensorOf(sizes(elements), as);
  const line =
    (as: ScalarType, dim: number): Candidate =>
    (elements) =>
      tensorOf([sizes(elements).at(dim) ?? 1], as);
  if (/ind|target|label|offsets|lengths|segment/.test(name))
    return [whole('int64'), line('int64', 0), line('int64', -1)];
  if (/mask|condition/.test(name)) return [whole('bool')];
  if (name === 'batch_sizes') return [(elements) => onesOf(sizes(elements)[0])];
  if (/^w_[ih]h$/.test(name)) return [1, 3, 4].map((gates) => gateWeight(sizes, dtype, gates));
  if (name === 'hx') return [whole(dtype), ...states(sizes, dtype)];
  if (name.startsWith('running_')) return [line(dtype, 1)];
  const kernel: Candidate = (elements) => tensorOf([4, 4, ...sizes(elements).slice(2).fill(3)], dtype);
  const widening: Candidate = (elements) =>
    tensorOf([sizes(elements)[1] ?? 1, 4, ...sizes(elements).slice(2).fill(3)], dtype);
  return [
    whole(dtype),
    ...(name === 'weight' ? [kernel, widening] : []),
    line(dtype, 1),
    line(dtype, -1),
    () => tensorOf([], dtype),
    whole('int64'),
  ];
}

function listCandidates({ name, N = 3 }: Argument, elementType: Type, sizes: SizesAt): Candidate[] {
  if (elementType instanceof FloatType) return constants(new List(FloatType.get(), [0.5, 0.5]));
  if (elementType instanceof BoolType) return constants(new List(BoolType.get(), [true, true, true].slice(0, N)));
  if (!(elementType instanceof IntType)) return [];
  // Steps of windows, one for each dimension that they go along.
  const window = /^(stride|dilation)$/.test(name) ? 1 : name.endsWith('padding') ? 0 : null;
  if (window !== null)
    return [2, 1].flatMap((skipped) => [
      (elements: number) => integers(sizes(elements).slice(skipped).fill(window)),
      ...constants(integers([window])),
    ]);
  const fixed = [[0], [2, 2], [3, 3], [1], [0, 1], [1, 1], [2, 2, 2], [3, 3, 3], [2], [3], [1, 1, 1, 1], [], [0, 0]];
  const sizeLists: Candidate[] = [
    (elements) => integers(sizes(elements)),
    (elements) => integers(sizes(elements).slice(2)),
    (elements) => integers(sizes(elements).slice(-1)),
  ];
  const isSize = /size|shape/.test(name) && !name.startsWith('kernel');
  const fixedLists = constants(...fixed.map(integers));
  return isSize ? [...sizeLists, ...fixedLists] : [...fixedLists, ...sizeLists];
}

function plainCandidates(argument: Argument, type: Type, sizes: SizesAt): Candidate[] {
  switch (type.kind) {
    case 'IntType':
      if (/^(n|steps|num_samples|window_length)$/.test(argument.name)) return [(elements) => BigInt(elements)];
      if (/^groups?$/.test(argument.name)) return constants(1n, 2n);
      return constants(...[0, 1, 2, 3, 4, 16].map(BigInt));
    case 'FloatType':
      return constants(0.5, 1, 2);
    case 'NumberType':
      return [() => 0.5, () => 2n, (elements) => BigInt(elements)];
    case 'BoolType':
      return constants(false, true);
    case 'StringType':
      return constants('none', 'bilinear', 'sum', 'ij', 'reflect', 'L', 'linear');
    case 'ListType':
      return listCandidates(argument, (type as ListType).elementType, sizes);
    default:
      return [];
  }
}

/** What is tried for an argument: its default, if it has one, or what its type and name suggest. */
function candidatesFor(argument: Argument, sizes: SizesAt, dtype: ScalarType, isFirst: boolean): Candidate[] {
  const { name, type, realType, defaultValue } = argument;
  const isOptional = type instanceof OptionalType;
  const inner = isOptional ? type.elementType : type;
  if (Array.isArray(defaultValue)) return constants(integers((defaultValue as readonly bigint[]).map(Number)));
  if (defaultValue !== undefined && !(inner instanceof TensorType))
    return constants(defaultValue as IValue, ...(/^(min|max)$/.test(name) ? [0.5] : []));
  const none = isOptional ? constants(null) : [];
  if (inner instanceof TensorType) {
    if (isFirst) return [(elements) => tensorOf(sizes(elements), name === 'condition' ? 'bool' : dtype)];
    return [...none, ...otherTensors(name, sizes, dtype)];
  }
  if (/ScalarType/.test(realType.str()))
    return constants(BigInt(scalarTypeCode(dtype)), BigInt(scalarTypeCode('quint8')));
  if (/CellParamsBase/.test(type.str())) return [3, 4].map((gates) => packedCell(sizes, gates));
  if (/LinearPackedParams/.test(type.str())) return [1, 3, 4].map((gates) => packedLinear(sizes, gates));
  if (inner instanceof ListType && inner.elementType instanceof TensorType) {
    const twice = (tensor: Tensor): List => new List(TensorType.get(), [tensor, tensor]);
    if (name === 'params')
      return [1, 3, 4].map((gates) => (elements) => twice(gateWeight(sizes, dtype, gates)(elements)));
    if (name === 'hx')
      return otherTensors(name, sizes, dtype).map((state) => (elements) => twice(state(elements) as Tensor));
    return [(elements) => new List(TensorType.get(), Array(2).fill(tensorOf(sizes(elements / 2), dtype)))];
  }
  if (inner instanceof ListType && inner.elementType instanceof OptionalType && name === 'indices') {
    const along: Candidate = (elements) => tensorOf([sizes(elements)[0] ?? 1], 'int64');
    return [(elements) => new List(OptionalType.create(TensorType.get()), [along(elements)])];
  }
  return [...none, ...plainCandidates(argument, inner, sizes)];
}

/** Whether an operator takes a call; not all arguments can be made for all shapes. */
type Takes = (make: () => OperatorCall) => boolean;

/** Calls that an operator takes, one for each dtype: of floats in the first shape that it takes, of others in the last; or the one that is written down. */
export function* sampleCalls(row: OperatorRow, takes: Takes): Generator<SampleCall> {
  const given = givenCalls[row.schema.slice(0, row.schema.indexOf('('))];
  if (given) {
    const at = (elements: number): OperatorCall => new OperatorCall(row, [...given(elements)]);
    if (takes(() => at(FEW_ELEMENTS))) yield { name: 'as written down', isExpression: row.pointwise !== undefined, at };
    return;
  }
  const { arguments: formals } = parseSchema(row.schema);
  const first = formals.findIndex(({ type }) => type instanceof TensorType);
  for (const dtype of dtypes) {
    for (const [shape, sizes] of [...(dtype === 'float32' ? shapes : shapes.toReversed()), single]) {
      const choices = formals.map((formal, at) => candidatesFor(formal, sizes, dtype, at === first));
      const chosen = firstTaken(row, choices, takes);
      if (!chosen) continue;
      yield {
        name: `${shape} ${dtype}`,
        isExpression: row.pointwise !== undefined,
        at: (elements) => callOf(row, chosen, elements),
      };
      if (first < 0) return;
      break;
    }
  }
}

const callOf = (row: OperatorRow, chosen: readonly Candidate[], elements: number): OperatorCall =>
  new OperatorCall(
    row,
    chosen.map((candidate) => candidate(elements)),
  );

function firstTaken(
  row: OperatorRow,
  choices: readonly (readonly Candidate[])[],
  takes: Takes,
): readonly Candidate[] | null {
  const total = choices.reduce((product, { length }) => product * length, 1);
  for (let tries = 0; tries < Math.min(total, MOST_TRIES); tries++) {
    // Of many, the first ones are tried, in which the first arguments differ, and others from everywhere.
    let rest = total <= MOST_TRIES || 2 * tries < MOST_TRIES ? tries : (tries * 2_654_435_761) % total;
    const chosen = choices.map((each) => {
      const at = rest % each.length;
      rest = Math.floor(rest / each.length);
      return each[at];
    });
    if (takes(() => callOf(row, chosen, FEW_ELEMENTS))) return chosen;
  }
  return null;
}
