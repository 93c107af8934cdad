import {
  constantValue,
  IntType,
  ListType,
  NoneType,
  OptionalType,
  scalarTypeCode,
  TensorType,
  TupleType,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import { emitBuiltinCall } from './builtin-call.ts';
import { SliceValue } from '../values/callable-value.ts';
import { compileError } from '../compilation-error.ts';
import type { Emitter } from './emitter.ts';
import { convertibleToList } from './implicit-conversion.ts';
import { NamedValue } from '../values/named-value.ts';
import { SimpleValue } from '../values/simple-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import type { Expr, SliceExpr, Subscript } from '../parser/tree.ts';

/** `x[…]` as an expression. */
export function emitSubscript(e: Emitter, expr: Subscript, typeHint: Type | undefined): SugaredValue {
  const container = e.emitSugaredExpr(expr.value);
  const valueRange = expr.value.range;
  const [first] = expr.subscripts;
  if (expr.subscripts.length !== 1) {
    const value = container.asValue(valueRange, e.fn);
    return new SimpleValue(emitMultidimSlicing(e, expr.range, value, expr.subscripts));
  }
  if (first!.kind === 'slice') {
    if (container.kind() === 'module') {
      // PyTorch makes a tuple of the modules: what is taken of it are objects, whose methods have to be named to be called.
      const modules = container.asTupleValue(valueRange, e.fn).asValue(valueRange, e.fn);
      return new SimpleValue(emitSlice(e, valueRange, modules, undefined, emitBounds(e, first!)));
    }
    const value = container.asValue(valueRange, e.fn);
    return new SimpleValue(emitSlice(e, expr.range, value, defaultDim(e, value, expr.range), emitBounds(e, first!)));
  }
  const value = container.asValue(valueRange, e.fn);
  const index = e.emitSugaredExpr(first!);
  if (index instanceof SliceValue) {
    return new SimpleValue(emitSlice(e, valueRange, value, defaultDim(e, value, valueRange), index));
  }
  const indexValue = index.asValue(valueRange, e.fn);
  if (value.type instanceof TupleType) {
    return new SimpleValue(emitTupleIndex(e, expr.range, value, indexValue));
  }
  if (value.type.isSubtypeOf(TensorType.get())) {
    return new SimpleValue(emitMultidimSlicing(e, expr.range, value, expr.subscripts));
  }
  return container.getitem(expr.range, e.fn, indexValue, typeHint);
}

/** Start, end and step of a slice; what is left out is undefined. */
export interface Bounds {
  readonly start: Value | undefined;
  readonly stop: Value | undefined;
  readonly step: Value | undefined;
}

function emitBounds(e: Emitter, slice: SliceExpr): Bounds {
  const emit = (expr: Expr | undefined): Value | undefined => (expr === undefined ? undefined : e.emitExpr(expr));
  return { start: emit(slice.start), stop: emit(slice.end), step: emit(slice.step) };
}

/** The first dimension, for tensors; other containers have none. */
function defaultDim(e: Emitter, value: Value, range: SourceRange): Value | undefined {
  return value.type.isSubtypeOf(TensorType.get()) ? e.graph.insertConstant(0n, range) : undefined;
}

/** `aten::slice` of a tensor, list or string; a slice of a tuple is taken apart. */
function emitSlice(e: Emitter, range: SourceRange, value: Value, dim: Value | undefined, bounds: Bounds): Value {
  if (value.type instanceof TupleType) {
    return emitTupleSlice(e, range, value, bounds);
  }
  const { graph } = e;
  const step = bounds.step ?? graph.insertConstant(1n, range);
  const orNone = (bound: Value | undefined): NamedValue =>
    bound === undefined ? NamedValue.ofConstant(null, range) : NamedValue.of(bound, range);
  const args = [NamedValue.of(value, range), orNone(bounds.start), orNone(bounds.stop), NamedValue.of(step, range)];
  if (dim !== undefined) {
    args.splice(1, 0, NamedValue.of(dim, range));
  }
  return emitBuiltinCall(range, graph, 'aten::slice', args);
}

/** `x[i, j:k, None, …]`: ints, slices, None and ellipsis become views, one after the other; tensors one `aten::index`. */
function emitMultidimSlicing(e: Emitter, range: SourceRange, value: Value, subscripts: readonly Expr[]): Value {
  if (!value.type.isSubtypeOf(TensorType.get())) {
    throw compileError(range, 'Unsupported operation: attempted to use multidimensional indexing on a non-tensor type');
  }
  const { sliced, tensorIndices } = emitIntAndSliceIndexing(e, range, value, subscripts);
  return tensorIndices.length === 0 ? sliced : emitIndex(e, range, sliced, tensorIndices);
}

export function emitIndex(e: Emitter, range: SourceRange, value: Value, indices: readonly Value[]): Value {
  const list = e.graph.createList(OptionalType.ofTensor(), indices).setSourceRange(range);
  const index = e.graph.insertNode(list).output();
  return emitBuiltinCall(range, e.graph, 'aten::index', [NamedValue.of(value, range), NamedValue.of(index, range)]);
}

export interface Indexed {
  /** The tensor after ints, slices and None were applied. */
  readonly sliced: Value;
  /** The tensors that are still to index it, by dimension; None where there is none. */
  readonly tensorIndices: readonly Value[];
}

/**
 * Applies the ints, slices, None and ellipsis of a subscript to a tensor. Dimensions are counted from the left up to an ellipsis, and
 * from the right after it, since how many it stands for is not known.
 */
export function emitIntAndSliceIndexing(
  e: Emitter,
  range: SourceRange,
  value: Value,
  subscripts: readonly Expr[],
): Indexed {
  const places = emitIndices(e, range, subscripts);
  const { graph } = e;
  const dimension = (dim: number): Value => graph.insertConstant(BigInt(dim), range);
  let sliced = value;
  const tensors: (Value | undefined)[] = [];
  for (const place of places) {
    const { index, dim, subscript } = place;
    if (index === undefined) {
      if (subscript.kind === 'slice') {
        const at = dimension(dim);
        sliced = emitSlice(e, range, sliced, at, emitBounds(e, subscript));
      } else if (place.slice !== undefined) {
        sliced = emitSlice(e, range, sliced, dimension(dim), place.slice);
      }
    } else if (index.type.isSubtypeOf(NoneType.get())) {
      sliced = emitOnDim(e, range, 'aten::unsqueeze', sliced, dimension(dim));
    } else if (index.type === IntType.get()) {
      sliced = emitOnDim(e, range, 'aten::select', sliced, dimension(dim), index);
    } else {
      tensors[dim] = index;
    }
  }
  const tensorIndices = Array.from(tensors, (tensor) => tensor ?? graph.insertNode(graph.createNone()).output());
  return { sliced, tensorIndices };
}

function emitOnDim(e: Emitter, range: SourceRange, operator: string, ...args: readonly Value[]): Value {
  return emitBuiltinCall(
    range,
    e.graph,
    operator,
    args.map((arg) => NamedValue.of(arg, range)),
  );
}

/** A subscript and the dimension it applies to, after those before it (or, after an ellipsis, behind it) were applied. */
interface Place {
  readonly subscript: Expr;
  readonly dim: number;
  /** Undefined for slices and the ellipsis. */
  readonly index: Value | undefined;
  /** A slice that is no slice expression, `x[slice(1, 2)]`. */
  readonly slice: Bounds | undefined;
}

function emitIndices(e: Emitter, range: SourceRange, subscripts: readonly Expr[]): readonly Place[] {
  const places = new Array<Place>(subscripts.length);
  const ellipsis = subscripts.findIndex((subscript) => subscript.kind === 'dots');
  const end = ellipsis === -1 ? subscripts.length : ellipsis;
  for (let at = 0, dim = 0; at < end; at++) {
    const place = emitPlace(e, range, subscripts[at]!, dim);
    places[at] = place;
    dim += place.index?.type === IntType.get() ? 0 : 1;
  }
  if (ellipsis !== -1) {
    places[ellipsis] = { subscript: subscripts[ellipsis]!, dim: 0, index: undefined, slice: undefined };
  }
  for (let at = subscripts.length - 1, dim = -1; at > end; at--) {
    const subscript = subscripts[at]!;
    if (subscript.kind === 'dots') {
      throw compileError(range, "An index can only have a single ellipsis ('...')");
    }
    const place = emitPlace(e, range, subscript, dim);
    if (place.index?.type.isSubtypeOf(OptionalType.ofTensor()) && !place.index.type.isSubtypeOf(NoneType.get())) {
      throw compileError(range, 'Ellipses followed by tensor indexing is currently not supported');
    }
    places[at] = place;
    dim -= place.index?.type.isSubtypeOf(NoneType.get()) ? 0 : 1;
  }
  return places;
}

function emitPlace(e: Emitter, range: SourceRange, subscript: Expr, dim: number): Place {
  if (subscript.kind === 'slice') {
    return { subscript, dim, index: undefined, slice: undefined };
  }
  const sugared = e.emitSugaredExpr(subscript, subscript.kind === 'none' ? NoneType.get() : undefined);
  if (sugared instanceof SliceValue) {
    return { subscript, dim, index: undefined, slice: sugared };
  }
  let index = sugared.asValue(subscript.range, e.fn);
  if (index.type instanceof ListType) {
    // Indexing by a list is indexing by a tensor of its numbers, integers whatever they are.
    const dtype = NamedValue.ofConstant(BigInt(scalarTypeCode('int64')), range, 'dtype');
    index = emitBuiltinCall(range, e.graph, 'aten::tensor', [NamedValue.of(index, range)], [dtype]);
  }
  const { type } = index;
  if (!type.isSubtypeOf(NoneType.get()) && type !== IntType.get() && !type.isSubtypeOf(OptionalType.ofTensor())) {
    throw compileError(
      range,
      `Unsupported operation: indexing tensor with unsupported index type '${type.reprStr()}'. Only ints, slices, lists and tensors are supported`,
    );
  }
  return { subscript, dim, index, slice: undefined };
}

function emitTupleIndex(e: Emitter, range: SourceRange, tuple: Value, index: Value): Value {
  const type = tuple.type as TupleType;
  if (index.type !== IntType.get()) {
    throw compileError(range, 'tuple index must be an integer');
  }
  const constant = constantValue(index);
  let outputType: Type;
  if (typeof constant === 'bigint') {
    const length = BigInt(type.elements.length);
    const position = constant < 0n ? constant + length : constant;
    if (position < 0n || position >= length) {
      throw compileError(range, `Tuple index out of range. Tuple is length ${length} and index is ${constant}`);
    }
    outputType = type.elements[Number(position)]!;
  } else {
    if (type.elements.length === 0 || !convertibleToList(type, new ListType(type.elements[0]!))) {
      throw compileError(
        range,
        `Cannot index into a ${type.reprStr()} with a non-integer literal because we cannot resolve the output type`,
      );
    }
    outputType = type.elements[0]!;
  }
  const node = e.graph.createTupleIndex(tuple, index, outputType).setSourceRange(range);
  return e.graph.insertNode(node).output();
}

function emitTupleSlice(e: Emitter, range: SourceRange, tuple: Value, bounds: Bounds): Value {
  const { length } = (tuple.type as TupleType).elements;
  const constant = (bound: Value | undefined): number | undefined => {
    const value = bound === undefined ? null : constantValue(bound);
    if (value === null) {
      return undefined;
    }
    if (typeof value !== 'bigint') {
      throw compileError(range, 'tuple slice indices must be integer constants');
    }
    return Number(value);
  };
  const step = constant(bounds.step) ?? 1;
  if (step === 0) {
    throw compileError(range, 'slice step cannot be zero');
  }
  const clamp = (bound: number | undefined, low: number, high: number, missing: number): number =>
    bound === undefined ? missing : Math.min(Math.max(bound < 0 ? bound + length : bound, low), high);
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1];
  const begin = clamp(constant(bounds.start), low, high, step > 0 ? 0 : length - 1);
  const end = clamp(constant(bounds.stop), low, high, step > 0 ? length : -1);
  const count = Math.max(0, Math.ceil((end - begin) / step));
  return e.graph.insertTupleSlice(tuple, begin, step, count);
}
