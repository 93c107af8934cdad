import {
  Argument,
  baseName,
  ClassType,
  constantValue,
  FunctionSchema,
  RecursiveCallError,
  StringType,
  type EnumType,
  type Graph,
  type TupleType,
  type Constant,
  type GraphFunction,
  type ScriptFunction,
  type SourceRange,
  type Value,
} from '@cresset/ir';
import { EnumValue } from '@cresset/tensor';
import { emitBuiltinCall } from '../emission/builtin-call.ts';
import { compileError } from '../compilation-error.ts';
import { NamedValue, toValues } from './named-value.ts';
import { matchSchema, matchSchemas } from '../emission/schema-matching.ts';
import { MethodValue, SimpleValue } from './simple-value.ts';
import { SpecialFormValue } from './special-form-value.ts';
import { SugaredValue, type SugaredCall } from './sugared-value.ts';

/** A function of the program, or several overloads of one. */
export class FunctionValue extends SugaredValue {
  readonly callees: readonly ScriptFunction[];

  constructor(...callees: readonly ScriptFunction[]) {
    super();
    this.callees = callees;
  }

  override kind(): string {
    return 'function';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    const schemas = this.callees.map((callee) => schemaOf(callee, range));
    const [index, matched] = matchSchemas(schemas, { range, graph, args, kwargs });
    const output = graph.insertFunctionCall(this.callees[index]!, matched.inputs, matched.returnTypes[0]!);
    output.node.sourceRange = range;
    return new SimpleValue(output);
  }
}

function schemaOf(callee: ScriptFunction, range: SourceRange): FunctionSchema {
  try {
    return callee.schema;
  } catch (error) {
    if (error instanceof RecursiveCallError) {
      throw compileError(range, ` function '${callee.name}' is called recursively. Recursive calls are not supported`);
    }
    throw error;
  }
}

/** A body compiled into the graph it stands in: a nested function, or what `fork` is to run. */
export class ClosureValue extends SugaredValue {
  readonly value: Value;

  constructor(value: Value) {
    super();
    this.value = value;
  }

  override kind(): string {
    return 'closure';
  }

  override asValue(): Value {
    return this.value;
  }
}

/** `print` */
export class PrintValue extends SugaredValue {
  override kind(): string {
    return 'print';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    if (kwargs.length > 0) {
      throw compileError(range, "print doesn't accept any keyword arguments");
    }
    const graph = fn.graphBeingDefined;
    graph.insertNode(graph.create('prim::Print', toValues(graph, args), 0).setSourceRange(range));
    return new NoneValue();
  }
}

/** What `print` gives. */
class NoneValue extends SugaredValue {
  override kind(): string {
    return 'None';
  }
}

/** A builtin such as `len` or `+` that calls a method of that meaning where the value is an object. */
export class MagicMethod extends SugaredValue {
  readonly #methodName: string;
  readonly #base: SugaredValue;

  constructor(methodName: string, base: SugaredValue) {
    super();
    this.#methodName = methodName;
    this.#base = base;
  }

  override kind(): string {
    return this.#methodName;
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const self = args[0]?.value(fn.graphBeingDefined);
    return self?.type instanceof ClassType
      ? new SimpleValue(self).attr(range, fn, this.#methodName).call({ range, fn, args: args.slice(1), kwargs })
      : this.#base.call({ range, fn, args, kwargs });
  }
}

/** A class: calling it makes an object. */
export class ClassValue extends SugaredValue {
  readonly type: ClassType;

  constructor(type: ClassType) {
    super();
    this.type = type;
  }

  override kind(): string {
    return this.type.str();
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    const self = graph.insertNode(graph.createObject(this.type).setSourceRange(range)).output();
    if (this.type.findMethod('__init__') === undefined) {
      throw compileError(range, `Class ${this.type.name} does not have an __init__ function defined`);
    }
    new MethodValue(self, '__init__').call({ range, fn, args, kwargs });
    return new SimpleValue(self);
  }

  /** Of a class itself: attributes belong to its objects. */
  override hasAttr(_range: SourceRange, _fn: GraphFunction, field: string): boolean {
    return (
      this.type.findMethod(field) !== undefined ||
      this.type.findStaticMethod(field) !== undefined ||
      this.type.hasConstant(field) ||
      this.type.unresolvedClassAttributes.includes(field)
    );
  }

  override attr(range: SourceRange, _fn: GraphFunction, field: string): SugaredValue {
    const hook = [...this.type.forwardHooks, ...this.type.forwardPreHooks].find(
      (candidate) => candidate.name === field,
    );
    const fn = hook ?? this.type.findStaticMethod(field);
    if (fn !== undefined) {
      return new FunctionValue(fn);
    }
    if (field !== '__new__') {
      throw compileError(range, `Tried to lookup unknown attribute on class ${this.type.annotationStr()}`);
    }
    return new SpecialFormValue('prim::CreateObject');
  }
}

/** The class of a named tuple. */
export class NamedTupleConstructor extends SugaredValue {
  readonly type: TupleType;

  constructor(type: TupleType) {
    super();
    this.type = type;
  }

  override kind(): string {
    return this.type.str();
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    const matched = matchSchema(this.#schema(), { range, graph, args, kwargs });
    const node = graph.createTuple(matched.inputs, this.type).setSourceRange(range);
    return new SimpleValue(graph.insertNode(node).output());
  }

  #schema(): FunctionSchema {
    const { elements, named } = this.type;
    const fields = elements.map((type, index) => {
      const name = named!.fieldNames[index]!;
      const defaultValue = named!.fieldDefaults?.get(name) as Constant | undefined;
      // PyTorch takes the position for the size of a list: lists read `int[2]`, and one number stands for as many.
      return new Argument(name, type, { N: index, defaultValue });
    });
    return new FunctionSchema(baseName(this.type.name!), '', fields, []);
  }
}

/** An exception class of Python. */
export class ExceptionValue extends SugaredValue {
  readonly qualifiedName: string;

  /** `qualifiedName`: as Python names it, `builtins.ValueError`. */
  constructor(qualifiedName: string) {
    super();
    this.qualifiedName = qualifiedName;
  }

  override kind(): string {
    return 'Python exception';
  }

  override call({ range, fn, args }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    const values = toValues(graph, args);
    const message =
      values.length === 0
        ? graph.insertConstant('', range)
        : values.length === 1
          ? values[0]!
          : graph.insertNode(graph.createTuple(values).setSourceRange(range)).output();
    return new ExceptionMessageValue(message, graph.insertConstant(this.qualifiedName, range));
  }
}

/** `AssertionError`, which `assert` raises too: it stands in the message, and no class is named (PyTorch: ExceptionValue). */
export class AssertionErrorValue extends SugaredValue {
  override kind(): string {
    return 'exception';
  }

  override call({ range, fn, args }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    let message = graph.insertConstant('AssertionError: ', range);
    for (const arg of args) {
      let text = arg.value(graph);
      if (!text.type.isSubtypeOf(StringType.get())) {
        text = emitBuiltinCall(range, graph, 'aten::str', [NamedValue.of(text, range)]);
      }
      message = concatenate(range, graph, message, text);
    }
    return new ExceptionMessageValue(message);
  }
}

function concatenate(range: SourceRange, graph: Graph, left: Value, right: Value): Value {
  const texts = [constantValue(left), constantValue(right)];
  return texts.every((text) => typeof text === 'string')
    ? graph.insertConstant(texts.join(''), range)
    : emitBuiltinCall(range, graph, 'aten::add', [NamedValue.of(left, range), NamedValue.of(right, range)]);
}

/** An exception about to be raised. */
export class ExceptionMessageValue extends SugaredValue {
  readonly message: Value;
  readonly qualifiedName: Value | undefined;

  constructor(message: Value, qualifiedName?: Value) {
    super();
    this.message = message;
    this.qualifiedName = qualifiedName;
  }

  override kind(): string {
    return 'exception message';
  }
}

/** An enum class. */
export class SugaredEnumClass extends SugaredValue {
  readonly type: EnumType;

  constructor(type: EnumType) {
    super();
    this.type = type;
  }

  override kind(): string {
    return 'EnumClass';
  }

  override attr(range: SourceRange, fn: GraphFunction, field: string): SugaredValue {
    const member = EnumValue.of(this.type, field);
    if (member === undefined) {
      throw compileError(range, `${this.type.reprStr()}' has no attribute '${field}'`);
    }
    return new SimpleValue(fn.graphBeingDefined.insertConstant(member, range));
  }

  override iter(range: SourceRange, fn: GraphFunction): SugaredValue {
    const items = this.type.members.map(([name]) => EnumValue.of(this.type, name));
    return new SimpleValue(fn.graphBeingDefined.insertConstant({ elementType: this.type, items }, range));
  }
}

/** `slice(…)`, to be used as a subscript. */
export class SliceValue extends SugaredValue {
  readonly start: Value | undefined;
  readonly stop: Value | undefined;
  readonly step: Value | undefined;

  constructor(start: Value | undefined, stop: Value | undefined, step: Value | undefined) {
    super();
    this.start = start;
    this.stop = stop;
    this.step = step;
  }

  override kind(): string {
    return 'Python slice value';
  }
}
