import {
  AnyListType,
  AnyTupleType,
  AnyType,
  Argument,
  AwaitType,
  BoolType,
  CapsuleType,
  ComplexType,
  DeviceObjType,
  DictType,
  FloatType,
  FunctionSchema,
  FutureType,
  GeneratorType,
  IntType,
  ListType,
  NoneType,
  NumberType,
  OptionalType,
  PyObjectType,
  RRefType,
  Source,
  StreamObjType,
  StringType,
  TensorType,
  TupleType,
  UnionType,
  type Constant,
  type SourceRange,
  type Type,
} from '@cresset/ir';
import { compileError } from './compilation-error.ts';
import { Parser } from './parser/parser.ts';
import type { Resolver } from './resolver.ts';
import {
  kindToString,
  type Assign,
  type Decl,
  type Def,
  type Expr,
  type Param,
  type Subscript,
} from './parser/tree.ts';

const NAMED_TYPES: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['Tensor', TensorType.get()],
  ['int', IntType.get()],
  ['float', FloatType.get()],
  ['bool', BoolType.get()],
  ['complex', ComplexType.get()],
  ['str', StringType.get()],
  ['Device', DeviceObjType.get()],
  ['Stream', StreamObjType.get()],
  ['Generator', GeneratorType.get()],
  // Programs see numbers of unknown kind only through implicit conversion to Scalar.
  ['number', NumberType.get()],
  ['None', NoneType.get()],
  ['NoneType', NoneType.get()],
  ['Any', AnyType.get()],
  ['Capsule', CapsuleType.get()],
  ['list', AnyListType.get()],
  ['tuple', AnyTupleType.get()],
]);

/** What Python's annotations of `torch` mean, without the `torch.` or `typing.` before them. */
const TORCH_TYPES: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['torch.device', DeviceObjType.get()],
  ['torch.dtype', IntType.get()],
  ['torch.layout', IntType.get()],
  ['torch.qscheme', IntType.get()],
  ['torch.memory_format', IntType.get()],
  ['torch.Size', new ListType(IntType.get())],
  ['torch.Generator', GeneratorType.get()],
  ['torch.nn.Parameter', TensorType.get()],
  ['torch.nn.parameter.Parameter', TensorType.get()],
  ['typing.Any', AnyType.get()],
  ['torch.PyObject', PyObjectType.get()],
]);

const TENSOR_CLASSES =
  /^torch\.(Tensor|LongTensor|FloatTensor|DoubleTensor|IntTensor|ShortTensor|HalfTensor|CharTensor|ByteTensor|BoolTensor)$/;

/** Type constructors under all the names that Python has for them. */
const CONSTRUCTORS: Readonly<Record<string, string>> = {
  List: 'List',
  list: 'List',
  Dict: 'Dict',
  dict: 'Dict',
  Tuple: 'Tuple',
  tuple: 'Tuple',
  Optional: 'Optional',
  Union: 'Union',
  Future: 'Future',
  'torch.jit.Future': 'Future',
  'torch.futures.Future': 'Future',
  Await: 'Await',
  'torch.jit._Await': 'Await',
  'torch._awaits._Await': 'Await',
  RRef: 'RRef',
};

const FINAL = /^(typing\.|torch\.jit\.)?Final$/;

const MISSING_CONTAINED: ReadonlySet<string> = new Set(['List', 'Dict', 'Tuple', 'Optional', 'Union', 'Future']);

/** Computes the values of expressions that stand where only constants may, such as default arguments. */
export type ConstantEvaluator = (
  range: SourceRange,
  types: readonly (Expr | undefined)[],
  exprs: readonly Expr[],
  resolver: Resolver | undefined,
) => readonly Constant[];

/** The values of a file of Python: they are there before anything is compiled. Its methods throw an ErrorReport where there is none. */
export interface ConstantScope {
  /** The value of an expression, as one of a type where one is given; `names` are of the class it stands in. */
  evaluateAs(expr: Expr, type: Type | undefined, names?: ReadonlyMap<string, Constant>): Constant;
  /** The default value of a parameter of a definition (PyTorch: getSchemaWithNameAndDefaults). `N`: as in an Argument. */
  parameterDefault(param: Param, type: Type, N: number | undefined, definition: SourceRange): Constant;
}

/** A parameter's type, with the length of a list that a single number may stand for. */
interface ParameterType {
  readonly type: Type;
  readonly N: number | undefined;
}

/** What is said of a generic type that does not tell what it holds. */
export function bareTypeMessage(name: string): string {
  const missing =
    name === 'Dict'
      ? 'contained types. Please add contained type, e.g. Dict[int, int]'
      : `a contained type. Please add a contained type, e.g. ${name}[int]`;
  return `Attempted to use ${name} without ${missing}`;
}

/** Turns annotations into types and definitions into schemas (PyTorch: ScriptTypeParser). */
export class ScriptTypeParser {
  readonly #resolver: Resolver | undefined;
  readonly #evaluate: ConstantEvaluator;

  constructor(resolver: Resolver | undefined, evaluate: ConstantEvaluator) {
    this.#resolver = resolver;
    this.#evaluate = evaluate;
  }

  /** The type that a text spells, as Python does. Throws an ErrorReport where it spells none. */
  parseType(text: string): Type {
    return this.parseTypeFromExpr(new Parser(new Source(text)).parseSingleExpression());
  }

  /** The type of an annotation; throws an ErrorReport where it means none. */
  parseTypeFromExpr(expr: Expr): Type {
    const whole = expr.kind === 'var' || expr.kind === 'none' ? undefined : dottedName(expr);
    const resolved = whole === undefined ? undefined : this.#resolver?.resolveType(whole, expr.range);
    return resolved ?? this.#parse(expr);
  }

  #parse(expr: Expr): Type {
    if (expr.kind === 'subscript') {
      return this.#parseSubscript(expr);
    }
    if (expr.kind === 'binary' && expr.op === '|') {
      return unionOf([this.#parse(expr.lhs), this.#parse(expr.rhs)]);
    }
    if (expr.kind === 'string') {
      return this.#parseForwardReference(expr.text, expr.range);
    }
    const name = dottedName(expr);
    if (name === undefined) {
      throw compileError(expr.range, `Expression of type ${kindToString(expr)} cannot be used in a type expression`);
    }
    return this.#namedType(name, expr.range);
  }

  #namedType(written: string, range: SourceRange): Type {
    const name = this.#fullName(written);
    const bare = name.replace(/^(typing|typing_extensions)\./, '');
    const type =
      NAMED_TYPES.get(bare) ??
      (TENSOR_CLASSES.test(name) ? TensorType.get() : undefined) ??
      TORCH_TYPES.get(name) ??
      this.#resolver?.resolveType(written, range);
    if (type !== undefined) {
      return type;
    }
    const generic = bare.replace(/^torch\.(jit|futures)\./, '');
    if (MISSING_CONTAINED.has(generic)) {
      throw compileError(range, bareTypeMessage(generic));
    }
    throw compileError(range, `Unknown type name '${written}'`);
  }

  /** A name as it is known, whatever the source imports it as. */
  #fullName(name: string): string {
    return this.#resolver?.fullName?.(name) ?? name;
  }

  /** A type written as a string, for names that are not there yet when Python reads the annotation. */
  #parseForwardReference(text: string, range: SourceRange): Type {
    const type = this.#resolver?.resolveType(text, range);
    if (type !== undefined) {
      return type;
    }
    const expr = new Parser(new Source(text)).parseSingleExpression();
    if (expr.kind === 'string') {
      throw compileError(range, `Unknown type name '${text}'`);
    }
    return this.#parse(expr);
  }

  #parseSubscript(expr: Subscript): Type {
    const name = dottedName(expr.value);
    if (name === undefined) {
      throw compileError(expr.value.range, 'Subscripted type must be a type identifier');
    }
    const bare = this.#fullName(name).replace(/^(typing|typing_extensions)\./, '');
    const constructor = Object.hasOwn(CONSTRUCTORS, bare) ? CONSTRUCTORS[bare] : undefined;
    const args = subscriptElements(expr);
    switch (constructor) {
      case 'Tuple':
        return this.#parseTuple(expr, args);
      case 'Union':
        return unionOf(args.map((arg) => this.#parse(arg)));
      case 'List':
        return new ListType(this.#onlyElement(expr, args));
      case 'Optional':
        return OptionalType.create(this.#onlyElement(expr, args));
      case 'Future':
        return new FutureType(this.#onlyElement(expr, args));
      case 'Await':
        return new AwaitType(this.#onlyElement(expr, args));
      case 'RRef':
        return new RRefType(this.#onlyElement(expr, args));
      case 'Dict':
        if (args.length !== 2) {
          throw compileError(expr.range, ` expected exactly 2 element types but found ${args.length}`);
        }
        return this.#dictType(expr, this.#parse(args[0]!), this.#parse(args[1]!));
      default:
        throw compileError(expr.range, `Unknown type constructor ${name}`);
    }
  }

  #dictType(expr: Subscript, key: Type, value: Type): Type {
    try {
      return new DictType(key, value);
    } catch (error) {
      throw compileError(expr.range, (error as Error).message);
    }
  }

  #onlyElement(expr: Subscript, args: readonly Expr[]): Type {
    if (args.length !== 1) {
      throw compileError(expr.range, ` expected exactly one element type but found ${args.length}`);
    }
    return this.#parse(args[0]!);
  }

  /** `Tuple[()]` is Python's spelling of the type of the empty tuple. */
  #parseTuple(expr: Subscript, args: readonly Expr[]): Type {
    const [only] = expr.subscripts;
    if (expr.subscripts.length === 1 && only!.kind === 'tuple') {
      if (only!.inputs.length > 0) {
        throw compileError(only!.range, 'Tuple literal in Tuple type annotation must not have any elements!');
      }
      return new TupleType([]);
    }
    return new TupleType(args.map((arg) => this.#parse(arg)));
  }

  /** `BroadcastingList2[int]`: a list of two ints, for which one int may stand. Optional ones too. */
  #parseBroadcastingList(expr: Expr): ParameterType | undefined {
    if (expr.kind === 'var') {
      const size = /^_size_(\d)_t$/.exec(expr.name.name);
      return size === null ? undefined : { type: new ListType(IntType.get()), N: Number(size[1]) };
    }
    if (expr.kind !== 'subscript' || expr.value.kind !== 'var') {
      return undefined;
    }
    const { name } = expr.value.name;
    if (name === 'Optional') {
      const inner = this.#parseBroadcastingList(expr.subscripts[0]!);
      return inner === undefined ? undefined : { type: OptionalType.create(inner.type), N: inner.N };
    }
    if (!name.startsWith('BroadcastingList')) {
      return undefined;
    }
    const [element] = expr.subscripts;
    if (expr.subscripts.length !== 1) {
      throw compileError(
        expr.subscriptsRange,
        'BroadcastingList/Optional[BroadcastingList] must be subscripted with a type',
      );
    }
    if (element!.kind !== 'var') {
      throw compileError(expr.value.range, 'Subscripted type must be a type identifier');
    }
    if (!['int', 'float', 'complex'].includes(element!.name.name)) {
      throw compileError(expr.value.range, 'Broadcastable lists only supported for int or float');
    }
    const length = name.slice('BroadcastingList'.length);
    if (!/^\d+$/.test(length)) {
      throw compileError(expr.subscriptsRange, 'subscript of Broadcastable list must be a positive integer');
    }
    return { type: new ListType(NAMED_TYPES.get(element!.name.name)!), N: Number(length) };
  }

  /** The schema of a definition without self, where `skipSelf`. No return stands in it where none is annotated. */
  parseSchemaFromDef(def: Def, skipSelf: boolean): FunctionSchema {
    const args = this.#parseArguments(def, skipSelf);
    return new FunctionSchema(def.name.name, '', args, this.#parseReturn(def.decl));
  }

  #parseArguments({ decl, range }: Def, skipSelf: boolean): readonly Argument[] {
    const params = decl.params.slice(skipSelf ? 1 : 0);
    const withDefault = params.filter((param) => param.defaultValue !== undefined);
    const constants = this.#resolver?.constants;
    const defaults =
      withDefault.length === 0 || constants !== undefined
        ? []
        : this.#evaluate(
            decl.range,
            withDefault.map((param) => param.type),
            withDefault.map((param) => param.defaultValue!),
            this.#resolver,
          );
    return params.map((param) => {
      const { type, N } = this.#parameterType(param);
      const isEvaluated = constants === undefined || param.defaultValue === undefined;
      const defaultValue = isEvaluated
        ? defaults[withDefault.indexOf(param)]
        : constants.parameterDefault(param, type, N, range);
      return new Argument(param.ident.name, type, { N, defaultValue, kwargOnly: param.kwargOnly });
    });
  }

  #parameterType(param: Param): ParameterType {
    if (param.type === undefined) {
      return { type: TensorType.getInferred(), N: undefined };
    }
    return this.#parseBroadcastingList(param.type) ?? { type: this.parseTypeFromExpr(param.type), N: undefined };
  }

  #parseReturn(decl: Decl): readonly Argument[] {
    if (decl.returnType === undefined) {
      return [];
    }
    if (this.#parseBroadcastingList(decl.returnType) !== undefined) {
      throw compileError(decl.returnType.range, 'Broadcastable lists cannot appear as a return type');
    }
    return [new Argument('', this.parseTypeFromExpr(decl.returnType))];
  }

  /** The value of an expression of constants, such as a field's default; throws an ErrorReport where it is none. */
  evaluateDefault(range: SourceRange, expr: Expr, type?: Expr, names?: ReadonlyMap<string, Constant>): Constant {
    const constants = this.#resolver?.constants;
    return constants === undefined
      ? this.#evaluate(range, [type], [expr], this.#resolver)[0]!
      : constants.evaluateAs(expr, type && this.parseTypeFromExpr(type), names);
  }

  /** The value of a class constant `name: Final[T] = value`; throws an ErrorReport for anything else. */
  parseClassConstant(assign: Assign): Constant {
    const { type, rhs } = assign;
    if (assign.lhsList[0]!.kind !== 'var' || rhs === undefined) {
      throw compileError(assign.range, 'Expected to a variable for class constant');
    }
    if (type?.kind !== 'subscript') {
      throw compileError(assign.range, 'Expected subscripted type for class constant');
    }
    if (!FINAL.test(dottedName(type.value) ?? '')) {
      throw compileError(type.range, 'Base type must be Final for class constant');
    }
    if (type.subscripts.length !== 1) {
      throw compileError(type.range, ` expected exactly one element type but found ${type.subscripts.length}`);
    }
    return this.evaluateDefault(rhs.range, rhs, type.subscripts[0]);
  }
}

/** `a.b.C` as text, or undefined for what is no name. */
export function dottedName(expr: Expr): string | undefined {
  let base = expr;
  let rest = '';
  for (; base.kind === 'select'; base = base.value) {
    rest = `.${base.selector.name}${rest}`;
  }
  const name = base.kind === 'var' ? base.name.name : base.kind === 'none' ? 'None' : undefined;
  return name === undefined ? undefined : name + rest;
}

/** A Union of all three kinds of numbers is the type of numbers (PyTorch: try_ann_to_type). */
function unionOf(types: readonly Type[]): Type {
  // To Python a Union of one type, however often it is named, is that type.
  if (types.every((type) => type.equals(types[0]!))) return types[0]!;
  const union = UnionType.create(types);
  const isNumber = union instanceof UnionType && union.members.length === 1 && union.members[0]!.kind === 'NumberType';
  return isNumber ? NumberType.get() : union;
}

/** `X[(a, b)]` is `X[a, b]` to Python. */
function subscriptElements(expr: Subscript): readonly Expr[] {
  const [only] = expr.subscripts;
  return expr.subscripts.length === 1 && only!.kind === 'tuple' && only!.inputs.length > 0
    ? only!.inputs
    : expr.subscripts;
}
