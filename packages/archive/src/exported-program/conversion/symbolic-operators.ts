import { type Block, BoolType, FloatType, type Graph, IntType, NumberType, type Type, type Value } from '@cresset/ir';
import { toByteString } from '@cresset/tensor';
import type { GraphConverter } from './graph-converter.ts';
import { malformed, type SerializedNode } from './serialized-node.ts';

/** Makes what a call comes to of its arguments, in their order. */
type Conversion = (converter: GraphConverter, args: readonly Value[], node: SerializedNode) => Value | null;

/** What is another operator here: sizes, numbers that are worked out of them as ints and floats of our graphs, and what is asserted of them. */
const CONVERSIONS: ReadonlyMap<string, Conversion> = new Map<string, Conversion>([
  ['torch.ops.aten.sym_size.int', call('aten::size')],
  ['torch.ops.aten.sym_size.default', call('aten::size')],
  ['torch.ops.aten.sym_stride.int', call('aten::stride')],
  ['torch.ops.aten.sym_stride.default', call('aten::stride')],
  ['torch.ops.aten.sym_numel.default', call('aten::numel')],
  ['torch.ops.aten.sym_storage_offset.default', call('aten::storage_offset')],
  ['torch.ops.aten.item.default', item],
  ['torch.ops.aten._local_scalar_dense.default', item],
  ['torch.ops.aten._assert_scalar.default', ({ graph }, [condition, message]) => assertTrue(graph, condition, message)],
  [
    'torch.ops.aten._functional_assert_scalar.default',
    (converter, [condition, message, token]) => {
      assertTrue(converter.graph, condition, message);
      return token;
    },
  ],
  ['torch.ops.aten._assert_async.default', ({ graph }, [tensor]) => assertTensor(graph, tensor, null)],
  ['torch.ops.aten._assert_async.msg', ({ graph }, [tensor, message]) => assertTensor(graph, tensor, message)],
  [
    'torch.ops.aten._functional_assert_async.msg',
    ({ graph }, [tensor, message, token]) => {
      assertTensor(graph, tensor, message);
      return token;
    },
  ],
  ['torch.ops.aten.sym_constrain_range.default', constrainRange],
  ['torch.ops.aten.sym_constrain_range_for_size.default', constrainRange],
  // A view holds for the strides that PyTorch's kernels give, and ours may give others: attention has its heads in another order in memory.
  ['torch.ops.aten.view.default', call('aten::reshape')],
  [
    'torch.ops.prims.clone.default',
    ({ graph }, [tensor]) => graph.insert('aten::clone', [tensor, graph.insertConstant(null)]),
  ],
  ['torch._functorch.predispatch.lazy_load_decompositions', () => null],
  ['torch.ops.aten._make_dep_token.default', ({ graph }) => graph.insertConstant(null)],
  ['_operator.add', arithmetic('aten::add')],
  ['_operator.sub', arithmetic('aten::sub')],
  ['_operator.mul', arithmetic('aten::mul')],
  ['_operator.truediv', division],
  ['_operator.floordiv', arithmetic('aten::floordiv')],
  ['_operator.mod', arithmetic('aten::remainder')],
  ['_operator.pow', power],
  ['_operator.neg', arithmetic('aten::neg')],
  ['_operator.pos', (_converter, [value]) => value],
  ['_operator.abs', arithmetic('prim::abs')],
  ['_operator.eq', comparison('aten::eq')],
  ['_operator.ne', comparison('aten::ne')],
  ['_operator.lt', comparison('aten::lt')],
  ['_operator.le', comparison('aten::le')],
  ['_operator.gt', comparison('aten::gt')],
  ['_operator.ge', comparison('aten::ge')],
  ['_operator.and_', logical('aten::__and__')],
  ['_operator.or_', logical('aten::__or__')],
  ['_operator.xor', logical('aten::__xor__')],
  ['_operator.lshift', arithmetic('aten::__lshift__')],
  ['_operator.rshift', arithmetic('aten::__rshift__')],
  ['torch.sym_not', not],
  ['_operator.not_', not],
  ['torch.sym_float', ({ arguments: values }, [value]) => values.convert(value, FloatType.get())],
  ['torch.sym_int', toInt],
  ['math.trunc', toInt],
  ['math.floor', rounded('aten::floor')],
  ['math.ceil', rounded('aten::ceil')],
  ['builtins.round', rounded('aten::round')],
  ['round', rounded('aten::round')],
  ['torch.sym_max', arithmetic('prim::max')],
  ['torch.sym_min', arithmetic('prim::min')],
  ['torch.sym_sum', ({ graph }, args) => args.reduce((sum, each) => graph.insert('aten::add', [sum, each]))],
  ['torch.sym_ite', choice],
  ...['sqrt', 'cos', 'cosh', 'sin', 'sinh', 'tan', 'tanh', 'asin', 'acos', 'atan', 'log'].map(
    (name): [string, Conversion] => [`torch._sym_${name}`, onFloat(`aten::${name}`)],
  ),
  ['torch._sym_log2', onFloat('aten::log2')],
  ['torch._sym_exp', onFloat('aten::exp')],
]);

/** Converts a node that works on sizes and numbers; false where it is none. */
export function convertSymbolic(converter: GraphConverter, node: SerializedNode): boolean {
  const conversion = CONVERSIONS.get(node.target);
  if (!conversion) return false;
  const args = node.inputs.map((input) => converter.arguments.value(input, null));
  const result = conversion(converter, args, node);
  if (node.outputs.length > 0 && result) converter.defineOutputs(node, [result]);
  return true;
}

function call(name: `aten::${string}`): Conversion {
  return ({ graph }, args) => graph.insert(name, args);
}

function isOf(value: Value, type: Type): boolean {
  return value.type.equals(type);
}

/** What `item()` gives: an int, float or bool where the file has a symbol for it, which is of the tensor's own type. */
function item({ graph }: GraphConverter, [tensor]: readonly Value[], node: SerializedNode): Value {
  const tag = node.outputs[0]?.tag ?? '';
  const cast = { as_sym_int: 'aten::Int', as_sym_float: 'aten::Float', as_sym_bool: 'aten::Bool' }[tag];
  if (tag === 'as_sym_int') assertInt(graph, tensor);
  return cast === undefined ? graph.insert('aten::item', [tensor]) : graph.insert(cast as 'aten::Int', [tensor]);
}

/** Of floats Python would go on with a float, which is no size. */
function assertInt(graph: Graph, tensor: Value): void {
  const isFloat = graph.insert('aten::is_floating_point', [tensor]);
  const message = graph.insertConstant(toByteString('expected an int for a size, and item() gave a float'));
  assertTrue(graph, graph.insert('aten::__not__', [isFloat]), message);
}

/** Truth values count as ints, as in Python. */
function numbers({ graph }: GraphConverter, args: readonly Value[]): Value[] {
  return args.map((value) => (isOf(value, BoolType.get()) ? graph.insert('aten::Int', [value]) : value));
}

function arithmetic(name: `aten::${string}` | `prim::${string}`): Conversion {
  return (converter, args) => converter.graph.insert(name, numbers(converter, args));
}

function comparison(name: `aten::${string}`): Conversion {
  return (converter, args) => {
    const areTruthValues = args.every((value) => isOf(value, BoolType.get()));
    return converter.graph.insert(name, areTruthValues ? args : numbers(converter, args));
  };
}

function logical(name: `aten::${string}`): Conversion {
  return (converter, args) => {
    const areTruthValues = args.every((value) => isOf(value, BoolType.get()));
    return converter.graph.insert(name, areTruthValues ? args : numbers(converter, args));
  };
}

function division(converter: GraphConverter, args: readonly Value[]): Value {
  return converter.graph.insert('aten::div', numbers(converter, args));
}

/** Of ints it is an int where the file says so, which TorchScript has a float for. */
function power(converter: GraphConverter, args: readonly Value[]): Value {
  const { graph } = converter;
  const given = numbers(converter, args);
  const result = graph.insert('aten::pow', given);
  const areInts = given.every((value) => isOf(value, IntType.get()));
  return areInts && !isOf(result, IntType.get()) ? graph.insert('aten::Int', [result]) : result;
}

function not({ graph, arguments: values }: GraphConverter, [value]: readonly Value[]): Value {
  return graph.insert('aten::__not__', [values.convert(value, BoolType.get())]);
}

function toInt({ graph }: GraphConverter, [value]: readonly Value[]): Value {
  return isOf(value, IntType.get()) ? value : graph.insert('aten::Int', [value]);
}

function rounded(name: `aten::${string}`): Conversion {
  return ({ graph }, args) => {
    if (isOf(args[0], IntType.get())) return args[0];
    const result = graph.insert(name, args);
    return args.length > 1 || isOf(result, IntType.get()) ? result : graph.insert('aten::Int', [result]);
  };
}

function onFloat(name: string): Conversion {
  return ({ graph, arguments: values }, [value]) =>
    graph.insert(name as 'aten::sqrt', [values.convert(value, FloatType.get())]);
}

function choice(converter: GraphConverter, [condition, whenTrue, whenFalse]: readonly Value[]): Value {
  const { graph } = converter;
  const node = graph.insertNode(graph.create('prim::If', [condition]));
  for (const value of [whenTrue, whenFalse]) node.addBlock().registerOutput(value);
  return node.output().setType(converter.typeOf([whenTrue, whenFalse]));
}

// ---- assertions

const RUNTIME_ERROR = 'builtins.RuntimeError';

/** Raises a RuntimeError with a message unless a condition holds. */
export function assertTrue(graph: Graph, condition: Value, message: Value): null {
  const isTrue = isOf(condition, BoolType.get()) ? condition : graph.insert('aten::Bool', [condition]);
  const node = graph.insertNode(graph.create('prim::If', [isTrue], 0));
  node.addBlock();
  raise(graph, node.addBlock(), message);
  return null;
}

function raise(graph: Graph, block: Block, message: Value): void {
  graph.withInsertPoint(block, () => {
    const kind = graph.insertConstant(RUNTIME_ERROR);
    graph.insertNode(graph.create('prim::RaiseException', [message, kind], 0));
  });
}

const NOT_TRUE = 'Expected Tensor with single nonzero value, but got zero';

/** PyTorch says this where no message is given, or an empty one. */
function assertTensor(graph: Graph, tensor: Value, message: Value | null): null {
  const text = message ?? graph.insertConstant(toByteString(NOT_TRUE));
  return assertTrue(graph, graph.insert('aten::Bool', [tensor]), text);
}

/** `sym_constrain_range(size, *, min, max)`, whose arguments the file names. */
function constrainRange(converter: GraphConverter, args: readonly Value[], { inputs }: SerializedNode): null {
  const { graph } = converter;
  const named = (name: string, position: number): Value | undefined => {
    const at = inputs.findIndex((input) => input.name === name);
    return at === -1 ? args[inputs.length > position && inputs[position].name === '' ? position : -1] : args[at];
  };
  const size = isOf(args[0], NumberType.get()) ? graph.insert('aten::Int', [args[0]]) : args[0];
  if (!size) malformed('a range is asked of no size');
  for (const [bound, operator] of [
    [named('min', 1), 'aten::ge'],
    [named('max', 2), 'aten::le'],
  ] as const) {
    if (!bound || bound.type.kind === 'NoneType') continue;
    const text = graph.insertConstant(toByteString('Invalid value range for a size that the data decides'));
    assertTrue(graph, graph.insert(operator, [size, bound]), text);
  }
  return null;
}
