import { declareFunctions, parsePythonFile, UnitResolver, provideLibrary } from '@cresset/frontend';
import {
  CompilationUnit,
  CressetError,
  FunctionSchema,
  ignoredFunctionKind,
  IntType,
  ListType,
  parseSchema,
  registerOperators,
  Source,
  type GraphFunction,
  type Symbol,
  type Type,
} from '@cresset/ir';
import { copyInto, type OperatorRow, type PointwiseArguments, type RowBackward } from '@cresset/operators';
import { List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import type { ExprType } from '@cresset/tensorexpr';
import { gradientName, resultNames } from '../autograd/nodes/formula-names.ts';
import { Execution } from '../run/execution.ts';
import { ExecutorCache } from '../executor/graph-executor.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { fromWireError } from '../worker/script-failure.ts';
import type { OperatorOutcome, OperatorRegistration, OperatorRun, WireValue } from '../worker/wire/protocol.ts';
import { ArgumentTypeError, toWire, WireReader } from '../worker/wire/wire-value.ts';
import type { WorkerHost } from '../worker/worker-host.ts';
import { argumentsOf, parseScalarExpression, scalarExpr, type ScalarForm } from './scalar-expression.ts';

/** Namespaces of PyTorch's own operators. */
const RESERVED = /^(?:aten|prim|prims|quantized|profiler|onnx|cuda|python)$/;

/** Runs the function of a custom operator: here, or in the page. */
export type OperatorRunner = (call: OperatorRun) => Promise<OperatorOutcome>;

/**
 * Makes an operator known to what is compiled from now on, as `ops.my_ns.my_op` and `torch.ops.my_ns.my_op` (torch.library.custom_op).
 * One of the same name and overload takes the place of the one before.
 *
 * Throws `IR_PARSE` for a malformed schema, `OPERATOR_NAME` for one of PyTorch's namespaces, `OPERATOR_EXPRESSION` or an ErrorReport
 * for what it is said to come to.
 */
export function registerCustomOperator(registration: OperatorRegistration, run: OperatorRunner): void {
  const schema = parseSchema(registration.schema);
  const [namespace, name] = schema.name.split('::');
  if (!name || RESERVED.test(namespace)) {
    throw new CressetError(
      'OPERATOR_NAME',
      `a custom operator has a name such as 'my_ns::my_op', in a namespace that is not PyTorch's; '${schema.name}' is none`,
    );
  }
  const { lowering, hasHost, shape, backward } = registration;
  if (!lowering && !hasHost) {
    throw new CressetError('OPERATOR_NAME', `${schema.operatorName} needs a host function, or a lowering`);
  }
  const row: OperatorRow = {
    schema: registration.schema,
    ...(lowering && 'script' in lowering && decomposedRow(schema, lowering.script)),
    ...(lowering && 'expression' in lowering && pointwiseRow(schema, lowering.expression)),
    ...(backward !== null && { backward: backwardOf(schema, backward) }),
    ...(hasHost && { remote: remoteOf(schema, shape === null ? null : new ShapeFunction(schema, shape), run) }),
  };
  // One that neither returns nor writes anything is called for what it does besides.
  const isForEffect = schema.returns.length === 0 && !schema.arguments.some(({ isWrite }) => isWrite);
  registerOperators([
    { schema: registration.schema, row, aliasAnalysis: isForEffect ? 'conservative' : 'from-schema' },
  ]);
}

// ---- in terms of others

function compileFor(schema: FunctionSchema, text: string, what: string): GraphFunction {
  const main = compileText(schema, text, what);
  const { length } = main.schema.arguments;
  if (length !== schema.arguments.length) {
    throw new CressetError(
      'OPERATOR_SCRIPT',
      `the ${what} of ${schema.operatorName} takes ${length} arguments, and the operator ${schema.arguments.length}`,
    );
  }
  return main;
}

function compileText(schema: FunctionSchema, text: string, what: string): GraphFunction {
  provideLibrary();
  const unit = new CompilationUnit();
  const { definitions } = parsePythonFile(new Source(text, `<${what} of ${schema.operatorName}>`));
  const functions = declareFunctions(unit, definitions, { resolver: new UnitResolver([unit], '') });
  functions.forEach((fn) => fn.ensureDefined());
  const [main] = functions;
  if (!main) throw new CressetError('OPERATOR_SCRIPT', `the ${what} of ${schema.operatorName} defines no function`);
  return main;
}

function resultCount({ schema: { returns } }: GraphFunction): number {
  const returned = returns[0]?.type;
  return returned?.kind === 'TupleType' ? returned.containedTypes().length : returns.length;
}

function decomposedRow(schema: FunctionSchema, script: string): Partial<OperatorRow> {
  const fn = compileFor(schema, script, 'lowering');
  const count = resultCount(fn);
  if (count !== schema.returns.length) {
    throw new CressetError(
      'OPERATOR_SCRIPT',
      `the lowering of ${schema.operatorName} returns ${count} values, and the operator ${schema.returns.length}`,
    );
  }
  return { decomposition: script, decomposed: fn.graph };
}

/** Its gradients as a program. What that takes is found by name, as for the formulas of other operators. */
function backwardOf(schema: FunctionSchema, script: string): RowBackward {
  const fn = compileText(schema, script, 'backward');
  const { arguments: args, returns } = schema;
  const known = new Set([
    ...args.map(({ name }) => name),
    ...returns.map((_, at) => gradientName(at)),
    ...resultNames(returns),
  ]);
  const parameters = fn.schema.arguments.map(({ name }) => name);
  const unknown = parameters.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new CressetError(
      'OPERATOR_SCRIPT',
      `the backward of ${schema.operatorName} takes '${unknown}', which is none of ${[...known].join(', ')}`,
    );
  }
  const inputs = args.filter(({ type }) => /^Tensor\??(?:\[\])?$/.test(String(type))).map(({ name }) => name);
  const count = resultCount(fn);
  if (count !== inputs.length) {
    throw new CressetError(
      'OPERATOR_SCRIPT',
      `the backward of ${schema.operatorName} returned an incorrect number of gradients (expected ${inputs.length}, got ${count})`,
    );
  }
  return { graph: fn.graph, parameters, inputs };
}

function pointwiseRow(schema: FunctionSchema, expression: unknown): Partial<OperatorRow> {
  const form = typeof expression === 'string' ? parseScalarExpression(expression) : (expression as ScalarForm);
  const known = new Set(schema.arguments.map(({ name }) => name));
  for (const name of argumentsOf(form)) {
    if (known.has(name)) continue;
    throw new CressetError('OPERATOR_EXPRESSION', `${schema.operatorName} has no argument '${name}'`);
  }
  if (schema.returns.length !== 1 || schema.returns[0].type.kind !== 'TensorType') {
    throw new CressetError('OPERATOR_EXPRESSION', `${schema.operatorName} does not return one Tensor`);
  }
  const isFloat = containsDivision(form);
  return {
    pointwise: {
      dtype: isFloat ? 'promote-to-float' : 'promote',
      body: (args: PointwiseArguments, type: ExprType) => scalarExpr(form, args, type),
    },
  };
}

/** Functions whose results are no integers, whatever they are given. */
const FLOATING =
  /^(?:div|exp2?|expm1|log(?:2|10|1p)?|r?sqrt|a?(?:sin|cos|tan)h?|erf(?:c|inv)?|lgamma|digamma|sigmoid|reciprocal|atan2|hypot)$/;

function containsDivision(form: ScalarForm): boolean {
  if (typeof form === 'number') return !Number.isInteger(form);
  if (typeof form !== 'object') return false;
  const [fn, ...operands] = form;
  return FLOATING.test(fn) || operands.some(containsDivision);
}

/** A rule for sizes in TorchScript, as PyTorch's shape functions: a tensor is the list of its sizes. */
class ShapeFunction {
  readonly #schema: FunctionSchema;
  readonly #fn: GraphFunction;
  readonly #context = new RuntimeContext();
  readonly #executors = new ExecutorCache(() => ({ maxFusedTensors: 0, gradEnabled: false }));

  constructor(schema: FunctionSchema, text: string) {
    this.#schema = schema;
    this.#fn = compileFor(schema, text, 'shape rule');
  }

  /** Sizes of each result. Throws what the rule raises. */
  async sizes(args: readonly IValue[]): Promise<readonly (readonly number[])[]> {
    const state = new InterpreterState(new Execution(this.#context), (fn) => this.#executors.ofFunction(fn));
    const [result] = await state.run(this.#executors.ofFunction(this.#fn).code(), args.map(sizesOf));
    const lists = result instanceof Tuple ? result.items : [result];
    return lists.map((list) => {
      if (list instanceof List) return list.items.map(Number);
      throw new CressetError('OPERATOR_SCRIPT', `the shape rule of ${this.#schema.operatorName} gave no list of sizes`);
    });
  }
}

function sizesOf(value: IValue): IValue {
  if (value instanceof Tensor) return new List(IntType.get(), value.sizes.map(BigInt));
  if (value instanceof List && value.items.some((item) => item instanceof Tensor)) {
    return new List(new ListType(IntType.get()), value.items.map(sizesOf));
  }
  return value;
}

// ---- by a function

/**
 * Makes an operator of a function that a program calls and the page runs (torch.jit.ignore). Nothing is known of what it does: no call is left out, or
 * put elsewhere.
 *
 * @param operator what the page knows it by
 */
export function registerOutsideFunction(schema: FunctionSchema, operator: string, run: OperatorRunner): Symbol {
  const kind = ignoredFunctionKind(schema.name, ++outsideFunctions);
  const { arguments: args, returns } = schema;
  const parsed = new FunctionSchema(kind, '', args, returns);
  const remote = remoteOf(parsed, null, (call) => run({ ...call, operator }), wrongReturn);
  const row: OperatorRow = { schema: `${kind}()`, remote };
  registerOperators([{ schema: kind, parsed, row, aliasAnalysis: 'conservative' }]);
  return kind;
}

let outsideFunctions = 0;

/** What PyTorch says of a function of Python's that returns something of another type than it is annotated with. */
function wrongReturn(type: Type, found: string): CressetError {
  const message = `expected value of type ${type.annotationStr()} for return value but instead got value of type ${found}.`;
  return new CressetError('OPERATOR_RESULT', message);
}

function remoteOf(
  schema: FunctionSchema,
  shape: ShapeFunction | null,
  run: OperatorRunner,
  wrongResult: (type: Type, found: string) => CressetError = (type) =>
    resultError(schema.operatorName, `gave something that is no ${type.reprStr()}, as its schema says`),
): NonNullable<OperatorRow['remote']> {
  const writes = schema.arguments.flatMap(({ isWrite }, index) => (isWrite ? [index] : []));
  return async (args) => {
    const sizes = shape && (await shape.sizes(args));
    const outcome = await run({
      operator: schema.operatorName,
      args: args.map((value, index) => toWire(value, schema.arguments[index]?.type ?? null)),
      writes,
      results: schema.returns.length,
    });
    if ('error' in outcome) throw fromWireError(outcome.error);
    const { values, written } = outcome;
    const { returns, operatorName } = schema;
    if (values.length !== returns.length) {
      throw resultError(operatorName, `gave ${values.length} results, and its schema has ${returns.length}`);
    }
    const reader = new WireReader();
    for (const [index, wire] of written) {
      const target = args[index];
      if (target instanceof Tensor) copyInto(target, reader.inferred(wire) as Tensor);
    }
    return values.map((value, index) => {
      const result = readResult(reader, value, returns[index].type, operatorName, wrongResult);
      const wanted = sizes?.[index];
      if (wanted && result instanceof Tensor && !equal(result.sizes, wanted)) {
        const shapes = `[${result.sizes.join(', ')}] where its shape rule says [${wanted.join(', ')}]`;
        throw resultError(operatorName, `gave a tensor of shape ${shapes}`);
      }
      return aliasOf(schema, index, args) ?? result;
    });
  };
}

function readResult(
  reader: WireReader,
  value: WireValue,
  type: Type,
  operatorName: string,
  wrongResult: (type: Type, found: string) => CressetError,
): IValue {
  try {
    return reader.value(value, type, operatorName, 'result');
  } catch (error) {
    if (!(error instanceof CressetError) || error.code !== 'ARGUMENT_TYPE') throw error;
    throw wrongResult(type, error instanceof ArgumentTypeError ? error.found : 'object');
  }
}

/** A result that is one of the arguments: `my_ns::scale_(Tensor(a!) x) -> Tensor(a!)`. */
function aliasOf(schema: FunctionSchema, index: number, args: readonly IValue[]): IValue | undefined {
  const { aliasInfo } = schema.returns[index];
  if (!aliasInfo?.isWrite) return undefined;
  const { beforeSet } = aliasInfo;
  const position = schema.arguments.findIndex((argument) => argument.aliasInfo?.beforeSet === beforeSet);
  return position === -1 ? undefined : args[position];
}

type Resolve = (outcome: OperatorOutcome) => void;

/** Runs that a host waits for, by their numbers. */
const waitingRuns = new WeakMap<WorkerHost, Map<number, Resolve>>();
let runs = 0;

/** Asks the page of a host to run a custom operator's function. */
export function runInPage(call: OperatorRun, host: WorkerHost): Promise<OperatorOutcome> {
  let waiting = waitingRuns.get(host);
  if (!waiting) waitingRuns.set(host, (waiting = new Map()));
  const run = ++runs;
  return new Promise((resolve) => {
    waiting.set(run, resolve);
    host.send({ type: 'run-operator', run, ...call });
  });
}

/** Hands what a function of the page gave to the run that waits for it. */
export function settleOperatorRun(run: number, outcome: OperatorOutcome, host: WorkerHost): void {
  const waiting = waitingRuns.get(host);
  waiting?.get(run)?.(outcome);
  waiting?.delete(run);
}

function resultError(operator: string, what: string): CressetError {
  return new CressetError('OPERATOR_RESULT', `${operator}: its function ${what}`);
}

const equal = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, index) => size === b[index]);
