import {
  AwaitType,
  compilerServices,
  FutureType,
  ListType,
  NoneType,
  OptionalType,
  StringType,
  TensorType,
  TupleType,
  UnionType,
  type CompilerServices,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import { emitBuiltinCall } from './builtin-call.ts';
import { ClassValue, ClosureValue, SliceValue } from '../values/callable-value.ts';
import { compileError } from '../compilation-error.ts';
import { checkInputCount, emitHasAttr, emitIsInstance } from './condition-emission.ts';
import type { Emitter } from './emitter.ts';
import { tryConvertToType, tupleElements } from './implicit-conversion.ts';
import { IterableTree, RangeValue } from '../values/iterable-value.ts';
import type { LegacyTensorConstructor } from '../values/legacy-tensor-constructor.ts';
import { NamedValue } from '../values/named-value.ts';
import { SimpleValue } from '../values/simple-value.ts';
import { emitIndex } from './subscript-emission.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import { makeVar, type Apply, type Expr, type Select } from '../parser/tree.ts';

const INT64_MAX = 2n ** 63n - 1n;

export type SpecialForm = (e: Emitter, apply: Apply, callee: SugaredValue, typeHint: Type | undefined) => SugaredValue;

const SPECIAL_FORMS: Readonly<Record<string, SpecialForm>> = {
  'prim::fork': emitFork,
  'prim::awaitable': emitFork,
  'prim::annotate': emitAnnotate,
  'prim::unchecked_cast': emitUncheckedCast,
  'prim::GetAttr': emitGetAttr,
  'prim::HasAttr': (e, apply) => {
    checkInputCount(apply, 2);
    return new SimpleValue(emitHasAttr(e, apply.inputs[0]!, apply.inputs[1]!).value);
  },
  'prim::isinstance': (e, apply) => {
    checkInputCount(apply, 2);
    return new SimpleValue(emitIsInstance(e, apply.inputs[0]!, apply.inputs[1]!).value);
  },
  'prim::Uninitialized': (e, apply) => {
    checkInputCount(apply, 1);
    const type = e.typeParser.parseTypeFromExpr(apply.inputs[0]!);
    return new SimpleValue(e.graph.insertNode(e.graph.createUninitialized(type).setSourceRange(apply.range)).output());
  },
  'prim::TupleConstruct': emitTuple,
  'prim::LegacyTypedConstructor': (e, apply, callee) => {
    const args = e.emitValues(apply.inputs, true);
    const kwargs = e.emitKeywordArguments(apply.attributes);
    return (callee as LegacyTensorConstructor).construct(apply.range, e.fn, args, kwargs);
  },
  'prim::tolist': emitToList,
  'prim::CreateObject': emitCreateObject,
  'prim::range': (e, apply) => new RangeValue(apply.range, e.fn, e.emitValues(apply.inputs, true)),
  'prim::slice': emitSliceObject,
  'prim::enumerate': emitEnumerate,
  'prim::zip': emitZip,
  'prim::list': emitListConstructor,
  'aten::index': emitGetItemMethod,
};

/** Forms that only people write: printed code spells them in other ways, so that loading does without. */
export interface SpecialFormServices extends CompilerServices {
  readonly specialForms?: Readonly<Record<string, SpecialForm>>;
}

/** Emits a call whose arguments are not evaluated in the usual way. */
export function emitApplySpecialForm(
  e: Emitter,
  form: string,
  callee: SugaredValue,
  apply: Apply,
  typeHint: Type | undefined,
): SugaredValue {
  const emit = SPECIAL_FORMS[form] ?? compilerServices<SpecialFormServices>().specialForms?.[form];
  if (emit === undefined) {
    throw compileError(apply.range, `unknown special form: ${form}`);
  }
  return emit(e, apply, callee, typeHint);
}

/** `annotate(T, x)`: x, which is to be of type T. */
function emitAnnotate(e: Emitter, apply: Apply): SugaredValue {
  checkInputCount(apply, 2);
  const type = e.typeParser.parseTypeFromExpr(apply.inputs[0]!);
  const value = tryConvertToType(apply.range, e.graph, type, e.emitExpr(apply.inputs[1]!, type), true);
  const whyNot: string[] = [];
  if (!value.type.isSubtypeOf(type, whyNot)) {
    throw compileError(
      apply.inputs[0]!.range,
      `expected an expression of type ${type.reprStr()} but found ${value.type.reprStr()}\n${whyNot.join('')}`,
    );
  }
  const takesNone = type instanceof OptionalType || (type instanceof UnionType && type.canHoldType(NoneType.get()));
  if (!takesNone || !value.type.isSubtypeOf(NoneType.get())) {
    return new SimpleValue(value);
  }
  // A None that knows of what it is an Optional, so that the variable it is assigned to does too.
  const none = e.graph.insertNode(e.graph.createNone().setSourceRange(apply.range)).output();
  return new SimpleValue(none.setType(type));
}

function emitUncheckedCast(e: Emitter, apply: Apply): SugaredValue {
  checkInputCount(apply, 2);
  const type = e.typeParser.parseTypeFromExpr(apply.inputs[0]!);
  const value = e.emitExpr(apply.inputs[1]!);
  // The cast may be there already: printed code has the casts that refinement inserted.
  const isThere = value.node.kind === 'prim::unchecked_cast' && value.type.equals(type);
  return new SimpleValue(isThere ? value : e.graph.insertUncheckedCast(value, type));
}

function emitGetAttr(e: Emitter, apply: Apply): SugaredValue {
  checkInputCount(apply, 2, 3);
  const [object, selector, fallback] = apply.inputs;
  const value = e.emitSugaredExpr(object!);
  if (selector!.kind !== 'string') {
    throw compileError(apply.range, "getattr's second argument must be a string literal");
  }
  const name = selector!.text;
  return fallback === undefined || value.hasAttr(apply.range, e.fn, name)
    ? value.attr(apply.range, e.fn, name)
    : e.emitSugaredExpr(fallback);
}

function emitTuple(e: Emitter, apply: Apply): SugaredValue {
  checkInputCount(apply, 1);
  const elements = e.emitSugaredExpr(apply.inputs[0]!).asTuple(apply.range, e.fn);
  const values = elements.map((element) => element.asValue(apply.range, e.fn));
  return new SimpleValue(e.graph.insertNode(e.graph.createTuple(values).setSourceRange(apply.range)).output());
}

function emitToList(e: Emitter, apply: Apply, _callee: SugaredValue, typeHint: Type | undefined): SugaredValue {
  const operand = (apply.callee as Select).value;
  const value = e.emitExpr(operand);
  if (typeHint === undefined) {
    throw compileError(apply.range, 'Expected type hint for result of tolist()');
  }
  return new SimpleValue(e.graph.insertToList(value, typeHint));
}

/** `C.__new__(C)` */
function emitCreateObject(e: Emitter, apply: Apply): SugaredValue {
  if (apply.inputs.length !== 1) {
    throw compileError(apply.range, 'Only one argument to __new__ allowed');
  }
  const value = e.emitSugaredExpr(apply.inputs[0]!);
  if (!(value instanceof ClassValue)) {
    throw compileError(apply.range, `Expected class value as argument to __new__, got ${value.kind()} instead`);
  }
  return new SimpleValue(e.graph.insertNode(e.graph.createObject(value.type).setSourceRange(apply.range)).output());
}

/** `slice(start, stop, step)`; what is None or left out becomes the number that says as much for a step forward. */
function emitSliceObject(e: Emitter, apply: Apply): SugaredValue {
  if (apply.attributes.length > 0) {
    throw compileError(apply.range, 'Slice does not accept any keyword arguments');
  }
  const values = e.emitValues(apply.inputs, true);
  if (values.length === 0 || values.length > 3) {
    throw compileError(apply.range, `slice accepts exactly 1, 2 or 3 arguments, got: ${values.length}`);
  }
  const [start, stop, step] = values.length === 1 ? [undefined, values[0]] : values;
  const orDefault = (value: Value | undefined, missing: bigint): Value =>
    value === undefined || value.type.isSubtypeOf(NoneType.get())
      ? e.graph.insertConstant(missing, apply.range)
      : value;
  return new SliceValue(orDefault(start, 0n), orDefault(stop, INT64_MAX), orDefault(step, 1n));
}

/** `enumerate(x, start)` is a zip of a range and x. */
function emitEnumerate(e: Emitter, apply: Apply): SugaredValue {
  const { range, inputs, attributes } = apply;
  if (inputs.length === 0) {
    throw compileError(range, 'enumerate expected at least 1 arguments, got 0');
  }
  if (inputs.length + attributes.length > 2) {
    throw compileError(range, `enumerate expected at most 2 arguments, got ${inputs.length + attributes.length}`);
  }
  let start: Expr | undefined = inputs[1];
  const [attribute] = attributes;
  if (attribute !== undefined) {
    if (attribute.name.name !== 'start') {
      throw compileError(range, `enumerate expected kwarg name 'start', got '${attribute.name.name}'`);
    }
    start = attribute.value;
  }
  const rangeInputs = start === undefined ? [] : [e.emitSugaredExpr(start).asValue(range, e.fn)];
  rangeInputs.push(e.materializeInt(INT64_MAX, range));
  const iterable = e.emitSugaredExpr(inputs[0]!).iter(range, e.fn);
  const tree = new IterableTree();
  tree.addChild(range, new RangeValue(range, e.fn, rangeInputs, iterable.staticLen()));
  tree.addChild(range, iterable);
  return tree;
}

function emitZip(e: Emitter, apply: Apply): SugaredValue {
  if (apply.inputs.length === 0) {
    throw compileError(apply.range, 'zip expected at least 1 arguments, got 0');
  }
  const tree = new IterableTree();
  for (const input of apply.inputs) {
    tree.addChild(apply.range, e.emitSugaredExpr(input).iter(apply.range, e.fn));
  }
  return tree;
}

/** `list()`, or `list(x)`: a copy of a list or string, else `[item for item in x]`. */
function emitListConstructor(
  e: Emitter,
  apply: Apply,
  _callee: SugaredValue,
  typeHint: Type | undefined,
): SugaredValue {
  const { range } = apply;
  if (apply.inputs.length === 0) {
    const type = typeHint ?? new ListType(TensorType.get());
    if (!(type instanceof ListType)) {
      throw compileError(range, `Expected list type annotation for list(), found ${type.reprStr()}`);
    }
    const node = e.graph.createList(type.elementType, []).setSourceRange(range);
    return new SimpleValue(e.graph.insertNode(node).output());
  }
  checkInputCount(apply, 1);
  const iterable = e.emitSugaredExpr(apply.inputs[0]!);
  if (iterable instanceof SimpleValue) {
    const { type } = iterable.value;
    if (type instanceof ListType || type instanceof StringType) {
      return new SimpleValue(emitBuiltinCall(range, e.graph, 'aten::list', [NamedValue.of(iterable.value, range)]));
    }
  }
  const iterName = e.createTempName('$_iter');
  e.environment.setSugaredVar(range, iterName, iterable);
  const element = makeVar(range, e.createTempName('$_elem'));
  const comprehension: Expr = {
    kind: 'list-comp',
    range,
    elt: element,
    target: element,
    iter: makeVar(range, iterName),
  };
  return new SimpleValue(e.emitExpr(comprehension, typeHint));
}

/** `tensor.__getitem__(index)` */
function emitGetItemMethod(e: Emitter, apply: Apply): SugaredValue {
  const { range } = apply;
  const self = e.emitSugaredExpr((apply.callee as Select).value).asValue(range, e.fn);
  if (apply.inputs.length !== 1) {
    throw compileError(range, `__getitem__ expected exactly 1 arguments, got ${apply.inputs.length}`);
  }
  const index = e.emitSugaredExpr(apply.inputs[0]!).asValue(range, e.fn);
  const indices = index.type instanceof TupleType ? tupleElements(e.graph, index) : [index];
  return new SimpleValue(emitIndex(e, range, self, indices));
}

/** `fork(f, *args)`, or `awaitable`: f's call goes into a closure, which later passes take out as a graph of its own. */
function emitFork(e: Emitter, apply: Apply, form: SugaredValue): SugaredValue {
  const [callee, ...inputs] = apply.inputs;
  if (callee === undefined) {
    throw compileError(apply.range, `Expected at least one argument to ${form.kind()}()`);
  }
  const forked = e.emitSugaredExpr(callee);
  const args = e.emitArguments(inputs, true);
  const kwargs = e.emitKeywordArguments(apply.attributes);
  const node = e.graph.insertNode(e.graph.create(`prim::${form.kind()}Closure`, [], 1).setSourceRange(apply.range));
  const type = e.graph.withInsertPoint(node, () => {
    const closure =
      forked instanceof ClosureValue
        ? forked
        : (e.emitClosure((block) => {
            block.registerOutput(emitForkedCall(e, apply.range, forked, args, kwargs));
          }) as ClosureValue);
    node.addInput(closure.value);
    return closure.value.node.blocks[0]!.outputs[0]!.type;
  });
  const made = form.kind() === 'fork' ? new FutureType(type) : new AwaitType(type);
  return new SimpleValue(node.output().setType(made));
}

function emitForkedCall(
  e: Emitter,
  range: SourceRange,
  forked: SugaredValue,
  args: readonly NamedValue[],
  kwargs: readonly NamedValue[],
): Value {
  return forked.call({ range, fn: e.fn, args, kwargs }).asValue(range, e.fn);
}
