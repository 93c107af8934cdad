import {
  AwaitType,
  BoolType,
  ClassType,
  DictType,
  EnumType,
  evalTypeVariables,
  InterfaceType,
  ListType,
  matchTypeVariables,
  operatorsFor,
  RecursiveCallError,
  scalarTypeCode,
  StringType,
  TensorType,
  TupleType,
  AnyListType,
  type FunctionSchema,
  type GraphFunction,
  type ScalarTypeName,
  type SourceRange,
  type Symbol,
  type Type,
  type Value,
} from '@cresset/ir';
import { emitBuiltinCall } from '../emission/builtin-call.ts';
import { compileError } from '../compilation-error.ts';
import { tupleElements } from '../emission/implicit-conversion.ts';
import { NamedValue } from './named-value.ts';
import { matchSchemas } from '../emission/schema-matching.ts';
import { SpecialFormValue } from './special-form-value.ts';
import { SugaredValue, type SugaredCall } from './sugared-value.ts';
import { SugaredTupleValue } from './sugared-tuple-value.ts';

/** Methods of tensors that are `to` with a dtype. */
const CAST_METHODS: Readonly<Record<string, ScalarTypeName>> = {
  byte: 'uint8',
  char: 'int8',
  double: 'float64',
  float: 'float32',
  cfloat: 'complex64',
  cdouble: 'complex128',
  int: 'int32',
  long: 'int64',
  short: 'int16',
  half: 'float16',
};

/** Attributes that are operators of one argument, by the kind of what they are taken from. */
const PROPERTIES: Readonly<Partial<Record<string, ReadonlyMap<string, Symbol>>>> = {
  OptionalType: properties('prim', 'unchecked_unwrap_optional'),
  DeviceObjType: properties('prim', 'type index'),
  TensorType: new Map([
    ...properties(
      'prim',
      'dtype device grad data shape is_cuda is_cpu is_xla is_xpu is_sparse is_sparse_csr is_mkldnn is_mps is_mtia ' +
        'is_quantized is_vulkan is_ipu is_meta is_nested requires_grad layout T H is_maia itemsize nbytes ndim name',
    ),
    ...properties('aten', 'is_leaf mT mH real imag retains_grad'),
  ]),
};

/** What PyTorch says of `x.float(1)`, with the place in its own source. */
const CAST_ARGUMENTS_MESSAGE =
  'args.empty() && kwargs.empty() INTERNAL ASSERT FAILED at ' +
  '"/__w/pytorch/pytorch/torch/csrc/jit/frontend/sugared_value.h":559, please report a bug to PyTorch. ';

function properties(namespace: string, names: string): ReadonlyMap<string, Symbol> {
  return new Map(names.split(' ').map((name) => [name, `${namespace}::${name}`]));
}

/** An ordinary value of the graph. */
export class SimpleValue extends SugaredValue {
  readonly value: Value;

  constructor(value: Value) {
    super();
    this.value = value;
  }

  override kind(): string {
    return `value of type '${this.value.type.annotationStr()}'`;
  }

  override asValue(): Value {
    return this.value;
  }

  override hasAttr(range: SourceRange, _fn: GraphFunction, field: string): boolean {
    const { type } = this.value;
    if (type instanceof ClassType) {
      return type.findMethod(field) !== undefined || type.hasAttribute(field) || type.hasConstant(field);
    }
    if (type instanceof TupleType) {
      if (type.fieldNames === undefined) {
        throw compileError(
          range,
          `hasattr's first argument must be a object or NamedTuple, but got a normal Tuple ${type.reprStr()} instead`,
        );
      }
      return type.fieldNames.includes(field);
    }
    throw compileError(
      range,
      `hasattr's first argument must be an object or NamedTuple, got ${type.reprStr()} instead`,
    );
  }

  override attr(range: SourceRange, fn: GraphFunction, field: string): SugaredValue {
    const { type } = this.value;
    const isTensor = type.isSubtypeOf(TensorType.get());
    if (isTensor && Object.hasOwn(CAST_METHODS, field)) {
      return new TensorCastValue(CAST_METHODS[field]!, this.#asSelf(range));
    }
    const property = PROPERTIES[type.kind]?.get(field);
    if (property !== undefined) {
      const value = NamedValue.of(this.value, range);
      return new SimpleValue(emitBuiltinCall(range, fn.graphBeingDefined, property, [value]));
    }
    return (
      this.#memberOf(range, fn, field) ??
      BuiltinFunction.tryCreate(field === 'type' ? 'aten::to' : `aten::${field}`, this.#asSelf(range)) ??
      (isTensor ? tensorSpecialForm(field) : undefined) ??
      this.#unknownAttribute(range, field)
    );
  }

  #asSelf(range: SourceRange): NamedValue {
    return NamedValue.of(this.value, range, 'self');
  }

  /** Fields, methods and properties of what programs define. */
  #memberOf(range: SourceRange, fn: GraphFunction, field: string): SugaredValue | undefined {
    const { type } = this.value;
    const graph = fn.graphBeingDefined;
    if (type instanceof TupleType) {
      const index = type.fieldNames?.indexOf(field) ?? -1;
      if (index === -1) {
        return undefined;
      }
      const position = graph.insertConstant(BigInt(index), range);
      const node = graph.createTupleIndex(this.value, position, type.elements[index]!);
      return new SimpleValue(graph.insertNode(node.setSourceRange(range)).output());
    }
    if (type instanceof ClassType) {
      return this.#classMember(type, range, fn, field);
    }
    if (type instanceof InterfaceType) {
      return type.getMethod(field) === undefined ? undefined : new MethodValue(this.value, field);
    }
    if (type instanceof EnumType && (field === 'name' || field === 'value')) {
      const node = field === 'name' ? graph.createEnumName(this.value) : graph.createEnumValue(this.value);
      return new SimpleValue(graph.insertNode(node.setSourceRange(range)).output());
    }
    if (type instanceof AwaitType) {
      // Whoever takes something from what is awaited waits for it.
      const awaited = emitBuiltinCall(range, graph, 'prim::awaitable_wait', [NamedValue.of(this.value, range)]);
      return new SimpleValue(awaited).attr(range, fn, field);
    }
    return undefined;
  }

  #classMember(type: ClassType, range: SourceRange, fn: GraphFunction, field: string): SugaredValue | undefined {
    const graph = fn.graphBeingDefined;
    if (type.findMethod(field) !== undefined) {
      return new MethodValue(this.value, field);
    }
    if (type.hasAttribute(field)) {
      const node = graph.createGetAttr(this.value, field).setSourceRange(range);
      return new SimpleValue(graph.insertNode(node).output());
    }
    if (type.hasConstant(field)) {
      return new SimpleValue(graph.insertConstant(type.constants.get(field), range));
    }
    const property = type.findProperty(field);
    return property === undefined
      ? undefined
      : new MethodValue(this.value, property.getter.name).call({ range, fn, args: [], kwargs: [] });
  }

  #unknownAttribute(range: SourceRange, field: string): never {
    const { type } = this.value;
    let message = `'${type.reprStr()}' object has no attribute or method '${field}'.`;
    if (type instanceof ClassType) {
      message += type.unresolvedClassAttributes.includes(field)
        ? ` '${field}' is defined as a class attribute which currently is not supported. ` +
          'Consider converting this to an instance attribute.'
        : ' Did you forget to initialize an attribute in __init__()?';
    }
    throw compileError(range, message);
  }

  override setAttr(range: SourceRange, fn: GraphFunction, field: string, newValue: Value): void {
    const { type } = this.value;
    if (!(type instanceof ClassType)) {
      throw compileError(range, `Tried to set an attribute: ${field} on a non-class: ${type.reprStr()}`);
    }
    const expected = type.findAttribute(field) ?? this.#initializeAttribute(type, range, fn, field, newValue);
    if (expected === undefined) {
      return;
    }
    if (!newValue.type.isSubtypeOf(expected)) {
      throw compileError(
        range,
        `Wrong type for attribute assignment. Expected ${expected.reprStr()} but got ${newValue.type.reprStr()}`,
      );
    }
    const graph = fn.graphBeingDefined;
    graph.insertNode(graph.createSetAttr(this.value, field, newValue).setSourceRange(range));
  }

  /** In `__init__` an unknown attribute is added to the class; elsewhere a property's setter may take it. */
  #initializeAttribute(
    type: ClassType,
    range: SourceRange,
    fn: GraphFunction,
    field: string,
    newValue: Value,
  ): Type | undefined {
    const graph = fn.graphBeingDefined;
    if (fn.name !== '__init__' || graph.inputs[0]?.type !== type) {
      this.#setProperty(type, range, fn, field, newValue);
      return undefined;
    }
    if (containsType(newValue.type, type)) {
      throw compileError(
        range,
        `Assignment to attribute '${field}' cannot be of a type that contains class '${type.reprStr()}'.\n` +
          'Classes that recursively contain instances of themselves are not yet supported',
      );
    }
    if (graph.insertPoint.owningBlock !== graph.block) {
      throw compileError(
        range,
        'First assignment cannot be in a control-flow block. Initialize the field at the top level first',
      );
    }
    type.addAttribute(field, newValue.type);
    return newValue.type;
  }

  #setProperty(type: ClassType, range: SourceRange, fn: GraphFunction, field: string, newValue: Value): void {
    const property = type.findProperty(field);
    if (property === undefined) {
      throw compileError(
        range,
        `Tried to set nonexistent attribute: ${field}. Did you forget to initialize it in __init__()?`,
      );
    }
    if (property.setter === undefined) {
      throw compileError(range, `Tried to set read-only attribute: ${field}`);
    }
    new MethodValue(this.value, property.setter.name).call({
      range,
      fn,
      args: [NamedValue.of(newValue, range)],
      kwargs: [],
    });
  }

  override asTuple(range: SourceRange, fn: GraphFunction, sizeHint?: number): readonly SugaredValue[] {
    const { type } = this.value;
    const graph = fn.graphBeingDefined;
    if (type instanceof TupleType) {
      return tupleElements(graph, this.value).map((element) => new SimpleValue(element));
    }
    if (type instanceof ListType) {
      if (sizeHint === undefined) {
        throw compileError(range, 'cannot statically infer the expected size of a list in this context');
      }
      const node = graph.insertNode(graph.createListUnpack(this.value, sizeHint).setSourceRange(range));
      return node.outputs.map((element) => new SimpleValue(element));
    }
    if (type.kind === 'AnyTupleType') {
      throw compileError(
        range,
        'Provided tuple is not fully defined/refined including its element types, please provide a value of type like Tuple[int, int]',
      );
    }
    throw compileError(range, `${type.reprStr()} cannot be used as a tuple`);
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    return this.value.type instanceof ClassType
      ? this.attr(range, fn, '__call__').call({ range, fn, args, kwargs })
      : super.call({ range, fn, args, kwargs });
  }

  override len(range: SourceRange, fn: GraphFunction): Value {
    const { type } = this.value;
    if (type instanceof ListType || type instanceof StringType || type.isSubtypeOf(TensorType.get())) {
      return emitBuiltinCall(range, fn.graphBeingDefined, 'aten::len', [NamedValue.of(this.value, range)]);
    }
    throw compileError(range, `'${type.reprStr()}' object is not iterable`);
  }

  override getitem(range: SourceRange, fn: GraphFunction, index: Value, typeHint?: Type): SugaredValue {
    const { type } = this.value;
    const graph = fn.graphBeingDefined;
    const args = [NamedValue.of(this.value, range), NamedValue.of(index, range)];
    if (type instanceof ListType || type instanceof StringType || type instanceof DictType) {
      return new SimpleValue(emitBuiltinCall(range, graph, 'aten::__getitem__', args));
    }
    if (type.isSubtypeOf(TensorType.get())) {
      args.splice(1, 0, NamedValue.ofConstant(0n, range));
      return new SimpleValue(emitBuiltinCall(range, graph, 'aten::select', args));
    }
    if (type instanceof ClassType) {
      if (type.isModule() && typeHint !== undefined) {
        const node = graph.create('prim::ModuleContainerIndex', [this.value, index]).setSourceRange(range);
        return new SimpleValue(graph.insertNode(node).output().setType(typeHint));
      }
      return this.attr(range, fn, '__getitem__').call({ range, fn, args: [NamedValue.of(index, range)], kwargs: [] });
    }
    throw compileError(range, `'${type.reprStr()}' object is not subscriptable`);
  }

  override iter(range: SourceRange, fn: GraphFunction): SugaredValue {
    const { type } = this.value;
    const graph = fn.graphBeingDefined;
    if (type instanceof ListType || type instanceof StringType || type instanceof TensorType) {
      return this;
    }
    if (type instanceof DictType) {
      return new SimpleValue(emitBuiltinCall(range, graph, 'aten::keys', [NamedValue.of(this.value, range)]));
    }
    if (type instanceof TupleType) {
      return new SugaredTupleValue(tupleElements(graph, this.value).map((element) => new SimpleValue(element)));
    }
    throw compileError(range, `'${type.reprStr()}' object is not iterable`);
  }
}

/** Whether `searched` is `type` or has it somewhere in it. */
function containsType(searched: Type, type: ClassType): boolean {
  return searched.isSubtypeOf(type) || searched.containedTypes().some((inner) => containsType(inner, type));
}

function tensorSpecialForm(field: string): SugaredValue | undefined {
  if (field === 'tolist') {
    return new SpecialFormValue('prim::tolist');
  }
  return field === '__getitem__' ? new SpecialFormValue('aten::index') : undefined;
}

/** An operator, or a method that is one with its `self` given. */
export class BuiltinFunction extends SugaredValue {
  readonly symbol: Symbol;
  readonly self: NamedValue | undefined;

  constructor(symbol: Symbol, self?: NamedValue) {
    super();
    this.symbol = symbol;
    this.self = self;
  }

  /** Undefined where there is no such operator, or none that `self` fits. */
  static tryCreate(symbol: Symbol, self: NamedValue): BuiltinFunction | undefined {
    const type = self.type!;
    const fits = operatorsFor(symbol).some(({ schema }) => {
      const index = schema.argumentIndexWithName('self');
      if (index === undefined) {
        return false;
      }
      const formal = schema.arguments[index]!.type;
      const env = new Map<string, Type>();
      if (matchTypeVariables(formal, type, env) !== undefined) {
        return false;
      }
      const concrete = evalTypeVariables(formal, env);
      return concrete !== undefined && type.isSubtypeOf(concrete);
    });
    return fits ? new BuiltinFunction(symbol, self) : undefined;
  }

  override kind(): string {
    return 'builtin';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    return new SimpleValue(emitBuiltinCall(range, fn.graphBeingDefined, this.symbol, args, kwargs, this.self));
  }
}

/** `x.float()` and the like. */
class TensorCastValue extends SugaredValue {
  readonly #dtype: ScalarTypeName;
  readonly #self: NamedValue;

  constructor(dtype: ScalarTypeName, self: NamedValue) {
    super();
    this.#dtype = dtype;
    this.#self = self;
  }

  override kind(): string {
    return 'Cast';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    if (args.length > 0 || kwargs.length > 0) {
      throw compileError(range, CAST_ARGUMENTS_MESSAGE);
    }
    const graph = fn.graphBeingDefined;
    const dtype = graph.insertConstant(BigInt(scalarTypeCode(this.#dtype)), range);
    const named = [this.#self, NamedValue.of(dtype, range, 'dtype')];
    return new SimpleValue(emitBuiltinCall(range, graph, 'aten::to', [], named));
  }
}

/** `int(x)`, `float(x)`, `bool(x)`, `str(x)`: nothing at all where the value has the type already. */
export class CastValue extends BuiltinFunction {
  readonly #type: Type;

  constructor(type: Type, symbol: Symbol) {
    super(symbol);
    this.#type = type;
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    if (args.length === 1 && kwargs.length === 0) {
      const graph = fn.graphBeingDefined;
      const value = args[0]!.value(graph);
      if (value.type.isSubtypeOf(this.#type)) {
        return new SimpleValue(value);
      }
      if (this.#type === BoolType.get() && isSized(value.type)) {
        const length = emitBuiltinCall(range, graph, 'aten::len', [NamedValue.of(value, range)]);
        const zero = NamedValue.ofConstant(0n, range);
        return new SimpleValue(emitBuiltinCall(range, graph, 'aten::gt', [NamedValue.of(length, range), zero]));
      }
    }
    return super.call({ range, fn, args, kwargs });
  }
}

/** A container is true where something is in it. */
function isSized(type: Type): boolean {
  return type.isSubtypeOf(AnyListType.get()) || type.isSubtypeOf(StringType.get()) || type instanceof DictType;
}

/** A method of an object, or several overloads of one, with its `self` given. */
export class MethodValue extends SugaredValue {
  readonly self: Value;
  readonly methodNames: readonly string[];

  constructor(self: Value, ...methodNames: readonly string[]) {
    super();
    this.self = self;
    this.methodNames = methodNames;
  }

  override kind(): string {
    return 'method';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    const withSelf = [NamedValue.of(this.self, range), ...args];
    const schemas = this.methodNames.map((name) => this.#schemaOf(name, range));
    const [index, matched] = matchSchemas(schemas, { range, graph, args: withSelf, kwargs });
    const output = graph.insertMethodCall(this.methodNames[index]!, matched.inputs, matched.returnTypes[0]!);
    output.node.sourceRange = range;
    return new SimpleValue(output);
  }

  #schemaOf(name: string, range: SourceRange): FunctionSchema {
    const { type } = this.self;
    if (type instanceof InterfaceType) {
      return type.getMethod(name)!;
    }
    try {
      return (type as ClassType).getMethod(name).schema;
    } catch (error) {
      if (error instanceof RecursiveCallError) {
        throw compileError(range, ` method '${name}' is called recursively. Recursive calls are not supported`);
      }
      throw error;
    }
  }
}
