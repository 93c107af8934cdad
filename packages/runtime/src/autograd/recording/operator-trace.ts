import {
  Graph,
  operatorRegistry,
  OptionalType,
  TensorType,
  tryInsertConstant,
  type Node,
  type Value,
} from '@cresset/ir';
import { boxingOf, outputShapes, type OperatorRow } from '@cresset/operators';
import { isIntegral, List, Tensor, type IValue } from '@cresset/tensor';
import { outputsOf, tensorsOf } from './record.ts';

/**
 * Writes down the operators that a recorded run calls, those of its derivatives among them, as a graph without control flow. It holds for
 * whatever has the same layouts, numbers and flags; what looks at elements to decide something is refused.
 */
export class OperatorTrace {
  readonly graph = new Graph();
  /** Tensors that it did not make, in the order of the graph's inputs. */
  readonly given: Tensor[] = [];
  /** Why the run is no such graph; null where it is. */
  refusal: string | null = null;
  /** What nodes give that take integers and are no function of elements: kernels that go by positions note what is out of range. */
  readonly looking: Value[] = [];
  readonly #values = new Map<IValue, Value>();

  /** @param isGiven whether a tensor can be found again when the graph is run */
  constructor(private readonly isGiven: (tensor: Tensor) => boolean) {}

  /** An operator was called. */
  note(row: OperatorRow | null, args: readonly IValue[], node: Node, results: readonly IValue[]): void {
    if (this.refusal !== null) return;
    const refusal = row ? refusalOf(row, args, results) : 'an operator that is not implemented';
    if (refusal !== null) this.refuse(`${node.kind}: ${refusal}`);
    else if (isTraced(row!, args, results) && !this.#isSame(row!, args, results)) this.#add(row!, args, node, results);
  }

  /** Whether a call gave an argument as it was: there is nothing to be done again. */
  #isSame(row: OperatorRow, [arg]: readonly IValue[], results: readonly IValue[]): boolean {
    const [result] = results;
    if (results.length !== 1 || !(arg instanceof Tensor) || !(result instanceof Tensor)) return false;
    const isSame = row === sumToSize() ? arg.sizes.join() === result.sizes.join() : isAlike(result, arg);
    if (!isSame || writes(row)) return false;
    const value = this.valueOf(arg);
    if (value) this.#values.set(result, value);
    return value !== null;
  }

  refuse(reason: string): void {
    this.refusal ??= reason;
  }

  /** What stands for a tensor that the graph is to give. */
  valueOf(tensor: Tensor): Value | null {
    return this.#values.get(tensor) ?? this.#input(tensor);
  }

  #add(row: OperatorRow, args: readonly IValue[], node: Node, results: readonly IValue[]): void {
    const inputs = new Map<Value, Value>();
    for (const [at, input] of node.inputs.entries()) {
      const value = this.#argument(args[at] ?? null, input);
      if (!value) return this.refuse(`${node.kind}: a value that comes from elsewhere`);
      inputs.set(input, value);
    }
    const copy = this.graph.createClone(node, (value) => inputs.get(value)!);
    if (copy.maybeOperator()?.row !== row) return this.refuse(`${node.kind}: another overload for constants`);
    this.graph.appendNode(copy);
    if (mayLook(row, args)) this.looking.push(...copy.outputs.filter(({ type }) => type.kind === 'TensorType'));
    results.forEach((result, at) => this.#define(result, copy.output(at)));
  }

  #define(result: IValue, value: Value): void {
    if (result instanceof Tensor) this.#values.set(result, value.setType(TensorType.get()));
    else if (result instanceof List && result.items.some((item) => item instanceof Tensor)) {
      const unpacked = this.graph.appendNode(this.graph.createListUnpack(value, result.items.length));
      result.items.forEach((item, at) => this.#define(item, unpacked.output(at)));
    }
  }

  #argument(value: IValue, input: Value): Value | null {
    if (value instanceof Tensor) {
      const known = this.valueOf(value);
      if (known || input.node.kind !== 'prim::Constant') return known;
      return this.#constant(value);
    }
    if (value instanceof List && value.items.some((item) => item instanceof Tensor)) return this.#list(value);
    return this.#constant(value);
  }

  #list({ items }: List): Value | null {
    const tensor = TensorType.get();
    const type = items.includes(null) ? OptionalType.create(tensor) : tensor;
    const values: Value[] = [];
    for (const item of items) {
      const value = item instanceof Tensor ? this.valueOf(item) : item === null ? this.#constant(null) : null;
      if (!value) return null;
      values.push(value);
    }
    return this.graph.appendNode(this.graph.createList(type, values)).output();
  }

  #constant(value: IValue): Value | null {
    // 0 and -0 are one key of a map.
    const known = Object.is(value, -0) ? undefined : this.#values.get(value);
    const constant = known ?? tryInsertConstant(this.graph, value);
    if (constant) this.#values.set(value, constant);
    return constant ?? null;
  }

  #input(tensor: Tensor): Value | null {
    if (!this.isGiven(tensor)) return null;
    const value = this.graph.addInput().setType(TensorType.get());
    this.given.push(tensor);
    this.#values.set(tensor, value);
    return value;
  }
}

/** Whether kernels may go by positions: by integers among the arguments. */
function mayLook(row: OperatorRow, args: readonly IValue[]): boolean {
  const { pointwise, reduction, view } = row.derived?.from ?? row;
  if (pointwise || reduction || view) return false;
  return args.some((value) => tensorsOf(value).some((tensor) => tensor !== null && isIntegral(tensor.dtype, true)));
}

const isAlike = (a: Tensor, b: Tensor): boolean =>
  a.storage === b.storage &&
  a.dtype === b.dtype &&
  a.storageOffset === b.storageOffset &&
  a.sizes.join() === b.sizes.join() &&
  a.strides.join() === b.strides.join();

const holdsTensors = (values: readonly IValue[]): boolean => values.some((value) => tensorsOf(value).length > 0);

/** Whether an operator has to be called again: what gives numbers or containers of what is known has given the same. */
function isTraced(row: OperatorRow, args: readonly IValue[], results: readonly IValue[]): boolean {
  if (row.scalar) return outputsOf(results).some((result) => result instanceof Tensor && !holds(args, result));
  return holdsTensors(results) || writes(row);
}

const writes = ({ schema }: OperatorRow): boolean => /\(\w+!\)/.test(schema);

/** Where the sizes are those already it sums nothing. */
const sumToSize = (): unknown => operatorRegistry.operatorsFor('aten::sum_to_size')[0]?.row;

const holds = (args: readonly IValue[], tensor: Tensor): boolean =>
  args.some((value) => tensorsOf(value).includes(tensor));

/** Why a call decides something that the layouts of its arguments do not; null where it does not. */
function refusalOf(row: OperatorRow, args: readonly IValue[], results: readonly IValue[]): string | null {
  const source = row.derived?.from ?? row;
  if (row.remote) return 'a function of the page';
  if (source.hasSideEffects || row.hasSideEffects) return 'an effect of its own';
  if (row.readsElements) return 'elements that the host looks at';
  if (row.scalar || row.view || row.readsNoData) {
    return row.scalar && source.nondeterministic ? 'something else each time' : null;
  }
  if (!holdsTensors(results)) return holdsTensors(args) ? 'elements that the host looks at' : null;
  if (row.derived || source.pointwise || source.reduction || outputShapes(row, boxingOf(row).unbox(args))) return null;
  return 'sizes that depend on data';
}
