import {
  DeviceObjType,
  ListType,
  operatorsFor,
  OptionalType,
  TensorType,
  type Argument,
  type FunctionSchema,
  type Operator,
  type Symbol,
  type Type,
  type Value,
} from '@cresset/ir';
import { DeviceValue, Dict, List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { ArgumentReader, type FittingArgument, type TracedArgument } from './traced-arguments.ts';
import { traceError, isTensorList, type TracingState } from './tracing-state.ts';

/** Computes what an operator gives for arguments in the order of its schema; one result for each that the schema returns. */
export type OperatorExecutor = (operator: Operator, args: readonly IValue[]) => readonly IValue[];

/** A call of an operator as a program writes it. */
export interface TracedCall {
  readonly name: Symbol;
  readonly args: readonly TracedArgument[];
  readonly kwargs?: Readonly<Record<string, TracedArgument>> | undefined;
}

/** Overloads that PyTorch's Python bindings leave out: a number becomes a tensor there (PyTorch: SKIP_PYTHON_BINDINGS_SIGNATURES). */
const NOT_IN_PYTHON = /^aten::(add|sub|mul|div)_?\.Scalar$/;

/** Runs operators and records what was run (PyTorch: torch/csrc/autograd/generated/TraceType). */
export class OperatorRecorder {
  readonly #state: TracingState;
  readonly #execute: OperatorExecutor;

  constructor(state: TracingState, execute: OperatorExecutor) {
    this.#state = state;
    this.#execute = execute;
  }

  /** Calls the overload that the arguments fit. Throws `TRACE` where none does, and what the operator itself throws. */
  call(call: TracedCall): readonly IValue[] {
    const { operator, args } = this.#choose(call);
    return isRecorded(operator) ? this.#record(operator, args) : this.#execute(operator, valuesOf(args));
  }

  /** As {@link call}, and records nothing. */
  run(call: TracedCall): readonly IValue[] {
    const { operator, args } = this.#choose(call);
    return this.#execute(operator, valuesOf(args));
  }

  #choose(call: TracedCall): { readonly operator: Operator; readonly args: readonly FittingArgument[] } {
    const operators = operatorsFor(call.name);
    if (operators.length === 0) {
      throw traceError(`there is no operator ${call.name}`);
    }
    const isOut = call.kwargs !== undefined && 'out' in call.kwargs;
    const candidates = operators.filter((operator) => isForPrograms(operator) && isOut === hasOut(operator.schema));
    const ordered = inOrder(candidates, call);
    // A tensor without dimensions is a number only where no overload takes the tensor.
    for (const tensorsAsNumbers of [false, true]) {
      for (const operator of ordered) {
        const args = this.#fit(operator, call, tensorsAsNumbers);
        if (args !== undefined) {
          return { operator, args };
        }
      }
    }
    const variants = candidates.map((operator) => ` * ${operator.schema}`).join('\n');
    const given = [...call.args, ...Object.values(call.kwargs ?? {})].map(describe).join(', ');
    throw traceError(
      `${call.name.slice(call.name.indexOf('::') + 2)}() received an invalid combination of arguments - got (${given}), but expected one of:\n${variants}`,
    );
  }

  #fit(
    operator: Operator,
    { name, args, kwargs = {} }: TracedCall,
    tensorsAsNumbers: boolean,
  ): readonly FittingArgument[] | undefined {
    const { schema } = operator;
    const reader = new ArgumentReader(this.#state, name, tensorsAsNumbers);
    const fitting: FittingArgument[] = [];
    const unused = new Set(Object.keys(kwargs).filter((key) => kwargs[key] !== undefined));
    let next = 0;
    for (const [index, formal] of schema.arguments.entries()) {
      let read: FittingArgument | undefined;
      const keyword = kwargs[formal.name] === undefined && formal.name === 'self' ? 'input' : formal.name;
      if (!formal.kwargOnly && next < args.length) {
        read = reader.read(args[next], formal);
        if (read === undefined && takesRest(schema, index)) {
          read = reader.read(args.slice(next), formal);
          next = args.length;
        } else {
          next++;
        }
      } else if (unused.delete(keyword)) {
        read = reader.read(kwargs[keyword], formal);
      } else {
        read = this.#missing(reader, schema, formal);
      }
      if (read === undefined) {
        return undefined;
      }
      fitting.push(read);
    }
    return next === args.length && unused.size === 0 ? fitting : undefined;
  }

  /** What PyTorch's bindings give for a parameter that was left out. */
  #missing(reader: ArgumentReader, schema: FunctionSchema, formal: Argument): FittingArgument | undefined {
    if (formal.name === 'pin_memory') {
      return reader.constant(false);
    }
    if (formal.name === 'device' && isFactory(schema)) {
      return reader.constant(DeviceValue.parse('cpu'));
    }
    const { defaultValue } = formal;
    return defaultValue === undefined ? undefined : reader.read(defaultValue as TracedArgument, formal);
  }

  #record(operator: Operator, args: readonly FittingArgument[]): readonly IValue[] {
    const { schema } = operator;
    const values = valuesOf(args);
    const { graph } = this.#state;
    const written = this.#state.forceOutplace ? values[writtenIndex(schema)] : undefined;
    const [kind, inputs] =
      written instanceof Tensor ? this.#outOfPlace(operator, args) : [operator.name, this.#inputs(operator, args)];
    if (written instanceof Tensor) this.#warnOfReferences(operator, written);
    const results = this.#execute(operator, values).map(
      (result, index) => writtenArgument(schema, index, values) ?? result,
    );
    if (!operator.name.startsWith('aten::detach') && values.some(requiresGrad)) {
      results.forEach(markRequiresGrad);
    }
    const node = graph.insertNode(graph.create(kind, inputs, 0));
    results.forEach((result, index) => this.#addOutput(node.addOutput(), result, schema.returns[index]!.type));
    if (kind === operator.name && inputs.length === args.length) node.setOperator(operator);
    return results;
  }

  /** What a node takes; where nothing is to be written, not what `out=` names. */
  #inputs({ schema }: Operator, args: readonly FittingArgument[]): readonly Value[] {
    const { forceOutplace } = this.#state;
    return args.filter((_, index) => !(forceOutplace && schema.arguments[index]!.isOut)).map((arg) => arg.emit());
  }

  /** What is recorded of an operator that writes, so that it makes another tensor (PyTorch: `force_outplace` in TraceType). */
  #outOfPlace({ name }: Operator, args: readonly FittingArgument[]): readonly [kind: Symbol, inputs: readonly Value[]] {
    const { graph } = this.#state;
    const [self, source] = args;
    if (name === 'aten::copy_') {
      // Where nothing else has the memory, what is written is all there is.
      const isAlone = this.#state.referencesTo(self!.value as Tensor) <= 1;
      if (isAlone) return ['aten::expand_as', [source!.emit(), self!.emit()]];
      return [name, args.map((arg) => arg.emit())];
    }
    const inputs = args.map((arg) => arg.emit());
    const like = FILLED_LIKE[name];
    if (like === undefined) return [name.replace(/_$/, ''), inputs];
    // dtype, layout, device, pin_memory and memory_format, as PyTorch fills them in.
    const options = [null, 0n, DeviceValue.parse('cpu'), false, 1n].map((value) => graph.insertConstant(value));
    return [like, [...inputs, ...options]];
  }

  #warnOfReferences({ name }: Operator, written: Tensor): void {
    const references = this.#state.referencesTo(written);
    if (references <= 1) return;
    const what = name === 'aten::copy_' ? 'copy_ (possibly due to an assignment)' : name.slice('aten::'.length);
    this.#state.warn(
      `There are ${references} live references to the data region being modified when tracing in-place operator ${what}. This might cause the ` +
        'trace to be incorrect, because all other views that also reference this data will not reflect this change in the trace! On the other ' +
        'hand, if all other views use the same memory chunk, but are disjoint (e.g. are outputs of torch.split), this might still be safe.',
    );
  }

  #addOutput(output: Value, result: IValue, type: Type): void {
    const { graph } = this.#state;
    if (result instanceof Tensor) {
      this.#state.setOutput(result, output);
    } else if (result instanceof List && result.items.every((item) => item instanceof Tensor)) {
      output.setType(new ListType(TensorType.get()));
      const unpacked = graph.insertNode(graph.createListUnpack(output, result.items.length)).outputs;
      result.items.forEach((item, index) => this.#state.setOutput(item as Tensor, unpacked[index]!));
    } else {
      output.setType(type);
    }
  }
}

/** What operators that fill a tensor are without writing to it (PyTorch: RENAME_TRACE). */
const FILLED_LIKE: Readonly<Record<Symbol, Symbol>> = {
  'aten::zero_': 'aten::zeros_like',
  'aten::fill_': 'aten::full_like',
};

/** The argument that an operator such as `add_` writes to; -1 for others, and for those of `out=`. */
function writtenIndex({ name, arguments: args }: FunctionSchema): number {
  return name.endsWith('_') ? args.findIndex(({ isWrite, kwargOnly }) => isWrite && !kwargOnly) : -1;
}

function valuesOf(args: readonly FittingArgument[]): readonly IValue[] {
  return args.map((arg) => arg.value);
}

/** Overloads for named dimensions and for the compiler's own use are none of the program's. */
function isForPrograms({ overloadName, schema }: Operator): boolean {
  return (
    !NOT_IN_PYTHON.test(schema.operatorName) &&
    !overloadName.startsWith('prim_') &&
    !schema.arguments.some((argument) => argument.type.kind === 'VarType' || argument.type.kind === 'AnyType')
  );
}

/** What is recorded before what is not; `std` and its kin without further arguments are the form with a correction. */
function inOrder(operators: readonly Operator[], { args, kwargs }: TracedCall): readonly Operator[] {
  const isBare = args.length === 1 && kwargs === undefined;
  const rank = (operator: Operator): number =>
    !isRecorded(operator) ? 2 : isBare && operator.overloadName === 'correction' ? 0 : 1;
  return [...operators].sort((left, right) => rank(left) - rank(right));
}

function hasOut(schema: FunctionSchema): boolean {
  return schema.arguments.some((argument) => argument.kwargOnly && argument.aliasInfo?.isWrite === true);
}

/** Only what gives tensors is recorded; everything else a program learns of tensors is its own business (PyTorch: should_trace). */
function isRecorded({ schema }: Operator): boolean {
  return schema.returns.some(({ type }) => type instanceof TensorType || isTensorList(type));
}

/** Whether the parameter takes all positional arguments that are left, as `x.view(2, 3)`. */
function takesRest(schema: FunctionSchema, index: number): boolean {
  const formal = schema.arguments[index]!;
  const { type, N } = formal;
  const isLast = schema.arguments
    .slice(index + 1)
    .every((argument) => argument.kwargOnly || argument.defaultValue !== undefined);
  return type instanceof ListType && type.elementType.kind === 'IntType' && N === undefined && isLast;
}

function isFactory(schema: FunctionSchema): boolean {
  return (
    schema.arguments.every(({ type }) => !(type instanceof TensorType)) &&
    schema.arguments.some(({ type }) => type instanceof OptionalType && type.elementType === DeviceObjType.get())
  );
}

/** The argument that a result is, for operators that write: `add_(Tensor(a!) self, …) -> Tensor(a!)`. */
function writtenArgument(schema: FunctionSchema, index: number, args: readonly IValue[]): IValue | undefined {
  const { aliasInfo } = schema.returns[index]!;
  if (aliasInfo?.isWrite !== true) {
    return undefined;
  }
  const at = schema.arguments.findIndex(
    (argument) => argument.aliasInfo?.isWrite === true && `${argument.aliasInfo}` === `${aliasInfo}`,
  );
  return at === -1 ? undefined : args[at];
}

/** Whether there is a parameter in a value, or something that was made of one. */
export function requiresGrad(value: IValue): boolean {
  return value instanceof Tensor ? value.requiresGrad : value instanceof List && value.items.some(requiresGrad);
}

export function markRequiresGrad(value: IValue): void {
  if (value instanceof Tensor) {
    value.requiresGrad ||= /^(b?float|complex)/.test(value.dtype);
  } else if (value instanceof List || value instanceof Tuple) {
    value.items.forEach(markRequiresGrad);
  } else if (value instanceof Dict) {
    for (const item of value.entries.values()) markRequiresGrad(item);
  }
}

function describe(argument: TracedArgument): string {
  if (argument === null || argument === undefined) {
    return 'None';
  }
  if (Array.isArray(argument) || argument instanceof List) {
    return 'list';
  }
  const names = { bigint: 'int', number: 'float', boolean: 'bool', string: 'str' } as const;
  return names[typeof argument as keyof typeof names] ?? argument.constructor.name;
}
