import {
  compilerServices,
  evalTypeVariables,
  FloatType,
  type FunctionSchema,
  IntType,
  ListType,
  Argument,
  matchTypeVariables,
  TensorType,
  VarType,
  type Constant,
  type Graph,
  type SourceRange,
  type Type,
  type TypeEnv,
  type Value,
} from '@cresset/ir';
import { List, type IValue } from '@cresset/tensor';
import { compileError } from '../compilation-error.ts';
import type { LibraryServices } from '../functional/library.ts';
import { convertibleToList, tryConvertToType, unwrapOptional } from './implicit-conversion.ts';
import { NamedValue } from '../values/named-value.ts';

/** A call that fits a schema: all inputs in the schema's order, and the types of the results. */
export interface MatchedSchema {
  readonly schema: FunctionSchema;
  readonly inputs: readonly Value[];
  readonly returnTypes: readonly Type[];
  /** Names of the results, where the schema names them all. */
  readonly returnFieldNames: readonly string[] | undefined;
}

/** A call to be matched. */
export interface Call {
  readonly range: SourceRange;
  readonly graph: Graph;
  readonly args: readonly NamedValue[];
  readonly kwargs: readonly NamedValue[];
  /** What a method is called on: goes to the argument `self`. */
  readonly self?: NamedValue | undefined;
}

const EMPTY_LIST_HINT =
  'Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty list ' +
  'of another type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)\n';

/** Overloads that TorchScript cannot tell from others, since dtypes are ints to it (PyTorch: isBlockListedSchema). */
const BLOCK_LISTED: ReadonlySet<string> = new Set(['aten::view.dtype', 'aten::max.unary_out', 'aten::min.unary_out']);

/** Matches a call to a schema, with conversions; throws an ErrorReport with the reason where it does not fit. */
export function matchSchema(schema: FunctionSchema, call: Call): MatchedSchema {
  const failures: string[] = [];
  const matched = tryMatchSchema(schema, call, true, failures);
  if (matched === undefined) {
    throw compileError(call.range, failures.join(''));
  }
  return matched;
}

/**
 * The first schema that a call fits: all are tried without conversions first, then with (PyTorch: matchSchemas). Throws an
 * ErrorReport that lists the variants and why none fits.
 */
export function matchSchemas(schemas: readonly FunctionSchema[], call: Call): readonly [index: number, MatchedSchema] {
  if (schemas.length === 1) {
    return [0, matchSchema(schemas[0]!, call)];
  }
  for (const allowConversions of [false, true]) {
    for (const [index, schema] of schemas.entries()) {
      const matched = tryMatchSchema(schema, call, allowConversions);
      if (matched !== undefined) {
        return [index, matched];
      }
    }
  }
  // Reasons are only collected when they are needed, in a second round.
  const failures: string[] = [];
  const { library } = compilerServices<LibraryServices>();
  for (const schema of library?.inListedOrder(schemas) ?? schemas) {
    tryMatchSchema(schema, call, true, failures);
  }
  const variants = failures.join('').replace(/^(?=.)/gms, '  ');
  throw compileError(
    call.range,
    `Arguments for call are not valid.\nThe following variants are available:\n${variants}\nThe original call is`,
  );
}

/**
 * Matches a call to a schema; undefined where it does not fit, with the reasons added to `failures`. Nodes for conversions and
 * constants stay in the graph even then, where cleaning up removes them.
 */
export function tryMatchSchema(
  schema: FunctionSchema,
  call: Call,
  allowConversions: boolean,
  failures?: string[],
): MatchedSchema | undefined {
  return BLOCK_LISTED.has(schema.operatorName)
    ? undefined
    : new SchemaMatcher(schema, call, allowConversions, failures).match();
}

class SchemaMatcher {
  readonly #schema: FunctionSchema;
  readonly #call: Call;
  readonly #allowConversions: boolean;
  readonly #failures: string[] | undefined;
  readonly #env: TypeEnv = new Map();
  readonly #inputs: Value[] = [];
  readonly #usedKwargs = new Set<number>();
  #self: NamedValue | undefined;
  #usedArgs = 0;

  constructor(schema: FunctionSchema, call: Call, allowConversions: boolean, failures: string[] | undefined) {
    this.#schema = schema;
    this.#call = call;
    this.#allowConversions = allowConversions;
    this.#failures = failures;
    this.#self = call.self;
  }

  match(): MatchedSchema | undefined {
    const schema = this.#schema;
    for (const [index, argument] of schema.arguments.entries()) {
      if (!this.#matchArgumentAt(index, argument)) {
        return undefined;
      }
    }
    if (this.#self !== undefined) {
      return this.#fail('Provided self argument not used in schema.\n');
    }
    const { args, graph } = this.#call;
    if (schema.isVararg) {
      for (; this.#usedArgs < args.length; this.#usedArgs++) {
        this.#inputs.push(args[this.#usedArgs]!.value(graph));
      }
    }
    if (this.#usedArgs < args.length) {
      return this.#fail(
        `Expected at most ${this.#usedArgs} arguments but found ${args.length} positional arguments.\n`,
      );
    }
    return this.#unusedKwargs() ? undefined : this.#matched();
  }

  #matched(): MatchedSchema {
    const { returns } = this.#schema;
    return {
      schema: this.#schema,
      inputs: this.#inputs,
      // A variable that nothing bound stands for a list or optional without a known element.
      returnTypes: returns.map((result) => evalTypeVariables(result.type, this.#env) ?? result.type),
      returnFieldNames:
        returns.length > 0 && returns.every((result) => result.name !== '')
          ? returns.map((result) => result.name)
          : undefined,
    };
  }

  #unusedKwargs(): boolean {
    const index = this.#call.kwargs.findIndex((_, position) => !this.#usedKwargs.has(position));
    if (index === -1) {
      return false;
    }
    const { name } = this.#call.kwargs[index]!;
    const known = this.#schema.argumentIndexWithName(name) !== undefined;
    this.#fail(`Keyword argument ${name} ${known ? 'specified twice' : 'unknown'}.\n`);
    return true;
  }

  #matchArgumentAt(index: number, argument: Argument): boolean {
    const { args } = this.#call;
    let actual: NamedValue | undefined;
    const kwarg = this.#kwargIndex(argument.name);
    if (argument.name === 'self' && this.#self !== undefined) {
      actual = this.#self;
      this.#self = undefined;
    } else if (!argument.kwargOnly && this.#usedArgs < args.length) {
      if (this.#takesVarargs(index, argument)) {
        return this.#matchVarargs(argument);
      }
      actual = args[this.#usedArgs++];
    } else if (kwarg !== -1) {
      if (this.#usedKwargs.has(kwarg)) {
        this.#fail(`Argument ${argument.name} specified twice in schema, submit a bug report!\n`);
        return false;
      }
      this.#usedKwargs.add(kwarg);
      actual = this.#call.kwargs[kwarg];
    } else if (argument.defaultValue !== undefined) {
      actual = NamedValue.ofConstant(defaultConstant(argument), this.#call.range);
    } else {
      this.#fail(`Argument ${argument.name} not provided.\n`);
      return false;
    }
    const value = this.#matchArgument(argument, actual!);
    if (value === undefined) {
      return false;
    }
    this.#inputs.push(value);
    return true;
  }

  /** Functions call their first argument `input` where the operator's schema has `self`. */
  #kwargIndex(name: string): number {
    const isAten = this.#schema.name.startsWith('aten::');
    return this.#call.kwargs.findIndex(
      (kwarg) => kwarg.name === name || (isAten && name === 'self' && kwarg.name === 'input'),
    );
  }

  /** Whether all arguments that are left make up this list, as in `torch.zeros(2, 3)`. */
  #takesVarargs(index: number, argument: Argument): boolean {
    const { arguments: formals } = this.#schema;
    const isLast = index + 1 === formals.length || formals[index + 1]!.kwargOnly;
    if (
      !this.#allowConversions ||
      !isLast ||
      argument.N !== undefined ||
      !(argument.type instanceof ListType) ||
      argument.type.elementType instanceof VarType
    ) {
      return false;
    }
    const { type } = this.#call.args[this.#usedArgs]!.value(this.#call.graph);
    return !(type instanceof ListType) && !convertibleToList(type, argument.type);
  }

  #matchVarargs(argument: Argument): boolean {
    const { args, graph } = this.#call;
    const { elementType } = argument.type as ListType;
    const element = new Argument('<varargs>', elementType);
    const elements: Value[] = [];
    for (; this.#usedArgs < args.length; this.#usedArgs++) {
      const value = this.#matchArgument(element, args[this.#usedArgs]!);
      if (value === undefined) {
        return false;
      }
      elements.push(value);
    }
    this.#inputs.push(graph.insertNode(graph.createList(elementType, elements)).output());
    return true;
  }

  #matchArgument(argument: Argument, actual: NamedValue): Value | undefined {
    const { graph, range } = this.#call;
    let value = actual.value(graph);
    if (isBroadcast(value, argument)) {
      const repeated = new Array<Value>(argument.N!).fill(value);
      value = graph.insertNode(graph.createList(value.type, repeated)).output();
    }
    const mismatch = matchTypeVariables(argument.type, value.type, this.#env);
    if (mismatch !== undefined) {
      return this.#fail(
        `Could not match type ${value.type.reprStr()} to ${argument.type.reprStr()} in argument ` +
          `'${argument.name}': ${mismatch}.\n`,
      );
    }
    const type = evalTypeVariables(argument.type, this.#env);
    if (type === undefined) {
      return this.#fail(
        `Type variables in type ${argument.type.reprStr()} could not be inferred from actual type ${value.type.reprStr()}`,
      );
    }
    value = tryConvertToType(range, graph, type, value, this.#allowConversions);
    const whyNot: string[] = [];
    return value.type.isSubtypeOf(type, whyNot) ? value : this.#fail(typeMismatch(argument, value.type, whyNot));
  }

  #fail(reason: string): undefined {
    if (this.#failures && this.#schema.arguments.some(isUnprintable))
      throw compileError(this.#call.range, compilerServices<LibraryServices>().library!.unprintable);
    this.#failures?.push(`\n${this.#schema}:\n${reason}`);
    return undefined;
  }
}

/** The default of an argument, a list as a list of the argument's element type. */
function defaultConstant(argument: Argument): Constant {
  const value = argument.defaultValue!;
  const type = unwrapOptional(argument.type);
  return Array.isArray(value) && type instanceof ListType
    ? (new List(type.elementType, [...(value as IValue[])]) as unknown as Constant)
    : value;
}

/** Whether PyTorch fails to print an argument, of the library's functions alone: a list whose default is one number, as `padding` of `max_pool2d`. */
const isUnprintable = ({ type, defaultValue }: Argument): boolean =>
  type instanceof ListType && typeof defaultValue === 'bigint';

/** Whether a single number stands for a list of a fixed length, as in `stride=2`. */
function isBroadcast(value: Value, argument: Argument): boolean {
  if (value.type !== FloatType.get() && value.type !== IntType.get()) {
    return false;
  }
  const type = unwrapOptional(argument.type);
  return type instanceof ListType && type.elementType === value.type && argument.N !== undefined;
}

function typeMismatch(argument: Argument, actual: Type, whyNot: readonly string[]): string {
  let text = `Expected a value of type '${argument.type.reprStr()}' for argument '${argument.name}' but instead found type '${actual.reprStr()}'.\n`;
  if (argument.isInferredType) {
    text += `Inferred '${argument.name}' to be of type 'Tensor' because it was not annotated with an explicit type.\n`;
  }
  if (actual instanceof TensorType && actual.isInferred) {
    text += `Inferred the value for argument '${argument.name}' to be of type 'Tensor' because it was not annotated with an explicit type.\n`;
  }
  if (actual instanceof ListType && actual.elementType.isSubtypeOf(TensorType.get())) {
    text += EMPTY_LIST_HINT;
  }
  return text + whyNot.join('');
}
