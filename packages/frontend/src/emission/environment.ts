import {
  BoolType,
  ComplexType,
  ClassType,
  FloatType,
  IntType,
  ListType,
  StringType,
  TensorType,
  TupleType,
  unshapedType,
  type Block,
  type GraphFunction,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import {
  AssertionErrorValue,
  ClassValue,
  MagicMethod,
  NamedTupleConstructor,
  PrintValue,
} from '../values/callable-value.ts';
import { compileError } from '../compilation-error.ts';
import { tryConvertToType } from './implicit-conversion.ts';
import type { Resolver } from '../resolver.ts';
import { BuiltinFunction, CastValue, SimpleValue } from '../values/simple-value.ts';
import { SpecialFormValue } from '../values/special-form-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';

const EMPTY_LIST_HINT =
  '\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty list of ' +
  'another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)';

/**
 * Whether a name says something to a reader. `_12` and names made by the compiler do not, and no value is named by them, so that
 * printing and reading back gives the same names again.
 */
export function isMeaningfulName(name: string): boolean {
  return name !== '' && !name.startsWith('$') && !/^_\d*$/.test(name);
}

/**
 * The variables of one block (PyTorch: Environment). Every assignment of a value becomes a `prim::Store` and every use a
 * `prim::Load`, which conversion to SSA resolves; what is no value is kept here by name.
 */
export class Environment {
  readonly fn: GraphFunction;
  readonly resolver: Resolver;
  readonly block: Block;
  readonly next: Environment | undefined;
  readonly #types = new Map<string, Type>();
  readonly #sugared = new Map<string, SugaredValue>();
  /** Why a variable that only some paths set cannot be used; kept in the outermost frame. */
  readonly #typeErrors = new Map<string, () => string>();

  constructor(fn: GraphFunction, resolver: Resolver, block: Block, next?: Environment) {
    this.fn = fn;
    this.resolver = resolver;
    this.block = block;
    this.next = next;
  }

  get #outermost(): Environment {
    return this.next === undefined ? this : this.next.#outermost;
  }

  setVariableTypeError(name: string, message: () => string): void {
    this.#outermost.#typeErrors.set(name, message);
  }

  setType(name: string, type: Type): void {
    this.#types.set(name, type);
  }

  /** Names of variables assigned in this block, sorted, for output that does not depend on chance. */
  definedVariables(): readonly string[] {
    return [...this.#types.keys()].sort();
  }

  findInThisFrame(name: string): SugaredValue | undefined {
    const sugared = this.#sugared.get(name);
    if (sugared !== undefined) {
      return sugared;
    }
    const type = this.#types.get(name);
    return type === undefined ? undefined : this.#insertLoad(name, type);
  }

  findInParentFrame(name: string): SugaredValue | undefined {
    return this.next?.findInAnyFrame(name);
  }

  findInAnyFrame(name: string): SugaredValue | undefined {
    return this.findInThisFrame(name) ?? this.next?.findInAnyFrame(name);
  }

  #insertLoad(name: string, type: Type): SimpleValue {
    const graph = this.block.owningGraph;
    const output = graph.insertNode(graph.createLoad(name, type)).output();
    return new SimpleValue(isMeaningfulName(name) ? output.setDebugName(name) : output);
  }

  setVar(range: SourceRange, name: string, value: Value): void {
    this.setSugaredVar(range, name, new SimpleValue(value));
  }

  /** Assigns to a variable; throws an ErrorReport where it is of another type in an outer block, or no value. */
  setSugaredVar(range: SourceRange, name: string, value: SugaredValue, annotatedType?: Type): void {
    if (!(value instanceof SimpleValue)) {
      this.#checkSugaredAssignment(range, name, value, annotatedType);
      this.#sugared.set(name, value);
      return;
    }
    let simple = value.value;
    // A value of another block may be used outside of this one, where the name would mislead.
    if (!simple.hasDebugName() && isMeaningfulName(name) && simple.node.owningBlock === this.block) {
      simple.setDebugName(name);
    }
    const parent = this.findInParentFrame(name);
    if (parent !== undefined) {
      simple = this.#convertToParentType(range, name, simple, parent, annotatedType);
    }
    if (annotatedType !== undefined && !simple.type.isSubtypeOf(annotatedType)) {
      throw compileError(
        range,
        `Variable '${name}' is annotated with type ${annotatedType.reprStr()} but is being assigned to a value of type ${simple.type.reprStr()}`,
      );
    }
    const graph = this.block.owningGraph;
    graph.insertNode(graph.createStore(name, simple).setSourceRange(range));
    // What was no value of the graph under this name is found before this one, as it is in PyTorch.
    this.#types.set(name, annotatedType ?? simple.type);
  }

  #checkSugaredAssignment(range: SourceRange, name: string, value: SugaredValue, annotatedType?: Type): void {
    if (this.findInParentFrame(name) === undefined) {
      return;
    }
    if (annotatedType !== undefined) {
      throw compileError(range, redeclarationMessage(name));
    }
    throw compileError(
      range,
      `Cannot re-assign '${name}' to a value of type ${value.kind()} because ${name} is not a first-class value.  ` +
        'Only reassignments to first-class values are allowed',
    );
  }

  /** A variable of an outer block keeps its type there, since what it holds depends on control flow. */
  #convertToParentType(
    range: SourceRange,
    name: string,
    value: Value,
    parent: SugaredValue,
    annotatedType: Type | undefined,
  ): Value {
    if (annotatedType !== undefined) {
      throw compileError(range, redeclarationMessage(name));
    }
    if (!(parent instanceof SimpleValue)) {
      throw compileError(
        range,
        `Cannot re-assign '${name}' because it has type value of type '${value.type.annotationStr()}' and ${name} ` +
          'is not a first-class value.  Only reassignments to first-class values are allowed',
      );
    }
    const parentType = unshapedType(parent.value.type);
    const converted = tryConvertToType(range, this.block.owningGraph, parentType, value, true);
    const whyNot: string[] = [];
    if (!converted.type.isSubtypeOf(parentType, whyNot)) {
      const hint = parent.value.type instanceof ListType && converted.type instanceof ListType ? EMPTY_LIST_HINT : '';
      throw compileError(
        range,
        `Variable '${name}' previously had type ${parent.value.type.reprStr()} but is now being assigned to a value ` +
          `of type ${converted.type.reprStr()}${hint}\n${whyNot.join('')}`,
      );
    }
    return converted;
  }

  getVar(name: string, range: SourceRange): Value {
    return this.getSugaredVar(name, range).asValue(range, this.fn);
  }

  /** The meaning of a name: a variable, a builtin, or what the resolver knows; throws an ErrorReport for an unknown one. */
  getSugaredVar(name: string, range: SourceRange): SugaredValue {
    const found = this.findInAnyFrame(name) ?? globalValues().get(name) ?? this.#resolve(name, range);
    if (found === undefined) {
      throw this.#notFound(name, range);
    }
    return found;
  }

  #resolve(name: string, range: SourceRange): SugaredValue | undefined {
    const type = this.resolver.resolveType(name, range);
    if (type instanceof TupleType && type.named !== undefined) {
      return new NamedTupleConstructor(type);
    }
    return (
      this.resolver.resolveValue(name, this.fn, range) ?? (type instanceof ClassType ? new ClassValue(type) : undefined)
    );
  }

  #notFound(name: string, range: SourceRange): Error {
    const reason = this.#outermost.#typeErrors.get(name)?.();
    return compileError(range, reason === undefined ? `undefined value ${name}` : `${reason}and was used here`);
  }

  /** `del name`; throws an ErrorReport where there is no such variable. */
  removeVar(name: string, range: SourceRange): void {
    let removed = false;
    for (let frame: Environment | undefined = this; frame !== undefined; frame = frame.next) {
      const sugared = frame.#sugared.delete(name);
      const simple = frame.#types.delete(name);
      removed ||= sugared || simple;
    }
    if (!removed) {
      throw this.#notFound(name, range);
    }
  }
}

function redeclarationMessage(name: string): string {
  return `Attempting to declare and annotate the type of variable '${name}' but it is already defined in an outer block`;
}

let globals: ReadonlyMap<string, SugaredValue> | undefined;

/** Python's builtins, as far as TorchScript has them. */
function globalValues(): ReadonlyMap<string, SugaredValue> {
  globals ??= new Map<string, SugaredValue>([
    ['print', new PrintValue()],
    ['float', new MagicMethod('__float__', new CastValue(FloatType.get(), 'aten::Float'))],
    ['complex', new MagicMethod('__complex__', new CastValue(ComplexType.get(), 'aten::Complex'))],
    ['int', new MagicMethod('__int__', new CastValue(IntType.get(), 'aten::Int'))],
    ['bool', new MagicMethod('__bool__', new CastValue(BoolType.get(), 'aten::Bool'))],
    ['str', new MagicMethod('__str__', new CastValue(StringType.get(), 'aten::str'))],
    ['_to_tensor', new CastValue(TensorType.get(), 'prim::NumToTensor')],
    ...['len', 'hex', 'oct', 'round'].map(
      (name) => [name, new MagicMethod(`__${name}__`, new BuiltinFunction(`aten::${name}`))] as const,
    ),
    ...['hash', 'all', 'any', 'divmod', 'sum', 'ord', 'chr', 'bin', 'pow', 'sorted'].map(
      (name) => [name, new BuiltinFunction(`aten::${name}`)] as const,
    ),
    ...['id', 'min', 'max', 'abs', 'rangelist'].map((name) => [name, new BuiltinFunction(`prim::${name}`)] as const),
    ...['isinstance', 'list', 'dict', 'range', 'zip', 'enumerate', 'slice'].map(
      (name) => [name, new SpecialFormValue(`prim::${name}`)] as const,
    ),
    ['tuple', new SpecialFormValue('prim::TupleConstruct')],
    ['getattr', new SpecialFormValue('prim::GetAttr')],
    ['hasattr', new SpecialFormValue('prim::HasAttr')],
    ['AssertionError', new AssertionErrorValue()],
  ]);
  return globals;
}
