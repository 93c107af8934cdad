import { TensorType, type Graph, type Node } from '@cresset/ir';
import { callRefusal, OperatorCall, OperatorError, type OperatorRow } from '@cresset/operators';
import { List, Tensor, type IValue } from '@cresset/tensor';
import { remembered } from '@cresset/tensorexpr';
import { constantValue } from '../interpreter/code/constant-value.ts';
import { DeviceLowering } from './device-lowering.ts';
import {
  bringToHost,
  callPrepared,
  deviceShortage,
  dispatch,
  isSmall,
  missingStorages,
  own,
  type Invocation,
} from './dispatch.ts';
import type { StorageLedger } from '../memory/storage-ledger.ts';
import type { Execution } from '../run/execution.ts';
import type { LoweredWork } from '../run/planner.ts';
import { runWithEpilogue } from './epilogue.ts';
import { runFused, type Concatenation, type PointwiseMember } from './fused-kernel.ts';
import { bindOperator, type OperatorBinding } from '../interpreter/code/operator-binding.ts';
import type { ProgramPlace } from '../interpreter/program-place.ts';
import { MemberError } from '../interpreter/script-error.ts';
import { tensorsIn } from './tensors-in.ts';

/** An operator of a group; operands are positions in a list of values: the group's inputs, constants, results so far. */
interface Member extends PointwiseMember {
  readonly binding: OperatorBinding;
  readonly node: Node;
}

/** Operators that FuseGraph put together, as the interpreter runs them: one kernel on a device, one by one elsewhere. */
export class FusionGroup {
  readonly label: string;
  readonly #members: readonly Member[];
  readonly #pointwise: readonly Member[];
  /** The one member that is no pointwise operator, where there is one; it uses no result of the others. */
  readonly #anchor: Member | null;
  /** What the group ends with, where it is a concatenation. */
  readonly #concatenation: Concatenation | null;
  /** Positions of given tensors that members read. */
  readonly #expected: readonly number[];
  readonly #constants: readonly (readonly [position: number, value: IValue])[];
  /** Positions of inputs and constants. */
  readonly #given: readonly number[];
  readonly #outputs: readonly number[];
  readonly #valueCount: number;
  /** What it is to who has work done again. */
  #work: LoweredWork | null = null;
  /** Arguments of the anchor that were little to work with: sizes of tensors, and what else decides how large its result is. */
  #small: readonly (IValue | readonly number[])[] | null = null;

  constructor(readonly graph: Graph) {
    const positions = new Map(graph.inputs.map((input, index) => [input, index]));
    const constants: [number, IValue][] = [];
    const members: Member[] = [];
    for (const node of graph.nodes()) {
      const output = positions.size;
      positions.set(node.output(), output);
      // The list of a concatenation is made where the concatenation is.
      if (node.kind === 'prim::ListConstruct') continue;
      if (node.kind === 'prim::Constant') {
        constants.push([output, constantValue(node)]);
      } else {
        const given = endsGroup(node) ? [...node.input(0).node.inputs, node.input(1)] : node.inputs;
        const inputs = given.map((input) => positions.get(input)!);
        const binding = bindOperator(node);
        members.push({ binding, row: binding.row!, node, inputs, output });
      }
    }
    this.#constants = constants;
    this.#given = [...graph.inputs.keys(), ...constants.map(([position]) => position)];
    this.#members = members;
    this.#pointwise = members.filter(({ row }) => row.pointwise);
    const tail = members.find(({ node }) => endsGroup(node));
    this.#anchor = members.find((member) => !member.row.pointwise && member !== tail) ?? null;
    this.#concatenation = tail
      ? {
          parts: tail.inputs.slice(0, -1),
          dim: Number(constantValue(tail.node.input(1).node)),
          output: tail.output,
        }
      : null;
    const expected = new Set(members.flatMap(({ binding, inputs }) => binding.tensors.map((at) => inputs[at])));
    for (const part of this.#concatenation?.parts ?? []) expected.add(part);
    for (const { output } of members) expected.delete(output);
    this.#expected = [...expected];
    this.#outputs = graph.outputs.map((output) => positions.get(output)!);
    this.#valueCount = positions.size;
    this.label = members.map(({ binding }) => binding.name.replaceAll(/^aten::|\..*$/g, '')).join('+');
  }

  run(args: readonly IValue[], execution: Execution): Invocation {
    const { device } = execution.context;
    const place = execution.place(this.#anchor?.node);
    const missing = device && missingStorages([...args, ...this.#constants.map(([, value]) => value)], device);
    return missing
      ? bringToHost(missing, execution).then(() => this.#runNow(args, execution, place))
      : this.#runNow(args, execution, place);
  }

  #runNow(args: readonly IValue[], execution: Execution, place: ProgramPlace): Invocation {
    const values = this.#valuesOf(args);
    for (const [position, value] of this.#constants) values[position] = value;
    return this.#runFused(args, values, execution, place) ?? this.#runOneByOne(values, execution, 0);
  }

  /** Values of the group, with these at the positions of inputs and constants. */
  #valuesOf(given: readonly IValue[]): IValue[] {
    const values = new Array<IValue>(this.#valueCount).fill(null);
    for (let at = 0; at < given.length; at++) values[this.#given[at]] = given[at];
    return values;
  }

  #runFused(args: readonly IValue[], values: IValue[], execution: Execution, place: ProgramPlace): Invocation | null {
    // Where a tensor is undefined, the error comes up at its operator.
    if (!execution.context.device || this.#expected.some((position) => values[position] === null)) return null;
    const tensors = tensorsIn(args);
    const isOnHost = tensors.every(({ storage }) => storage.isOnHost);
    const repeated = isOnHost ? null : this.#repeat(values, execution);
    if (repeated) return own(execution, tensors, repeated);
    const launches = new DeviceLowering(execution, this.label, place, true);
    try {
      if (isOnHost && this.#isSmall(tensors, values, execution.context.limits.smallWork)) return null;
      const results = this.#lower(values, launches, execution.ledger);
      return results && own(execution, tensors, results);
    } catch (error) {
      // Arguments that do not fit are found before anything is launched: one by one, the error comes up at its operator. So are
      // results that no buffer holds, and more tensors than can be bound: the operators that it comes from then run on the host.
      if (error instanceof OperatorError || deviceShortage(error) !== null) return null;
      throw error;
    } finally {
      launches.end();
    }
  }

  /** @param ledger is told of what is made on the way, where that is memory of the run */
  #lower(values: IValue[], launches: DeviceLowering, ledger: StorageLedger | null): readonly IValue[] | null {
    return this.#anchor
      ? this.#runFromAnchor(this.#anchor, values, launches, ledger)
      : this.#launchPointwise(values, launches);
  }

  #repeat(values: readonly IValue[], execution: Execution): readonly IValue[] | null {
    const { planner } = execution;
    if (!planner) return null;
    const given = this.#given.map((position) => values[position]);
    return planner.repeat((this.#work ??= this.#asWork()), given, execution);
  }

  #asWork(): LoweredWork {
    const members = this.#members.map(({ row, inputs, output }) => `${numberOf(row)}(${inputs.join()})${output}`);
    return {
      structure: [...members, this.#given.join(), this.#outputs.join(), this.#concatenation?.dim].join(' '),
      name: this.label,
      keepsKernels: true,
      lower: (given, launches) => this.#lower(this.#valuesOf(given), launches, null),
    };
  }

  /** Whether the group is little to do: pointwise operators do no more than their arguments have, an anchor may. */
  #isSmall(tensors: readonly Tensor[], values: readonly IValue[], smallWork: number): boolean {
    if (tensors.some(({ isSymbolic }) => isSymbolic)) return false;
    if (!this.#anchor) return tensors.every(({ numel }) => numel <= smallWork);
    const { row, inputs } = this.#anchor;
    const args = argumentsOf(inputs, values);
    const kinds = args.map((value) => (value instanceof Tensor ? value.sizes : value));
    const known = this.#small;
    if (known?.every((kind, at) => kind === kinds[at] || areSameSizes(kind, kinds[at]))) return true;
    const small = isSmall(new OperatorCall(row, args), tensorsIn(args), smallWork);
    this.#small = small ? kinds : null;
    return small;
  }

  #launchPointwise(values: readonly IValue[], launches: DeviceLowering): Tensor[] | null {
    const members = this.#pointwise;
    return runFused(members, this.#outputs, values, this.label, launches, this.#concatenation);
  }

  #runFromAnchor(
    anchor: Member,
    values: IValue[],
    launches: DeviceLowering,
    ledger: StorageLedger | null,
  ): readonly IValue[] | null {
    const { row, inputs, output } = anchor;
    const call = new OperatorCall(row, argumentsOf(inputs, values));
    if (callRefusal(call, launches.device.capabilities) !== null) return null;
    const done = runWithEpilogue(call, output, this.#pointwise, this.#outputs, values, this.label, launches);
    if (!done) return null;
    if ('results' in done) return done.results;
    values[output] = done.anchor;
    ledger?.own(done.anchor.storage);
    const results = this.#launchPointwise(values, launches);
    if (results && !results.includes(done.anchor)) {
      ledger?.retain(done.anchor, false);
      ledger?.release(done.anchor, false);
    }
    return results;
  }

  #runOneByOne(values: IValue[], execution: Execution, from: number): Invocation {
    for (let at = from; at < this.#members.length; at++) {
      const member = this.#members[at];
      const { node, output } = member;
      try {
        const known = this.#runPrepared(member, values, execution);
        if (known !== undefined) {
          values[output] = known;
          continue;
        }
        execution.member = node;
        const results = this.#callMember(member, values, execution);
        if (results instanceof Promise) {
          return results.then(
            (done) => {
              [values[output]] = done;
              return this.#runOneByOne(values, execution, at + 1);
            },
            (error: unknown) => {
              throw new MemberError(node, error);
            },
          );
        }
        [values[output]] = results;
      } catch (error) {
        throw new MemberError(node, error);
      } finally {
        execution.member = execution.memberInputs = null;
      }
    }
    const results = this.#outputs.map((output) => values[output]);
    if (execution.ledger) this.#settle(values, results, execution.ledger);
    return results;
  }

  #runPrepared(
    { binding, inputs, output }: Member,
    values: readonly IValue[],
    execution: Execution,
  ): IValue | undefined {
    if (!binding.prepared || output === this.#concatenation?.output) return undefined;
    execution.memberInputs = inputs;
    return callPrepared(binding, argumentsOf(inputs, values), execution);
  }

  #callMember({ binding, node, inputs, output }: Member, values: readonly IValue[], execution: Execution): Invocation {
    const args = argumentsOf(inputs, values);
    const isTail = output === this.#concatenation?.output;
    const given = isTail ? [new List(TensorType.get(), args.slice(0, -1)), args[args.length - 1]] : args;
    execution.memberInputs = isTail ? null : inputs;
    return execution.observer?.run(binding, given, node, execution) ?? dispatch(binding, given, execution);
  }

  /** Tells the ledger of results, and has it free what was only needed on the way. */
  #settle(values: readonly IValue[], results: readonly IValue[], ledger: StorageLedger): void {
    const isGiven = ({ storage }: Tensor): boolean =>
      this.#given.some((position) => (values[position] as Partial<Tensor> | null)?.storage === storage);
    for (const { output } of this.#members) {
      const value = values[output];
      if (!(value instanceof Tensor)) continue;
      const { storage } = value;
      const isResult = results.includes(value);
      // What was made ready, and never went to the device, is none of the ledger's business before it is a result.
      if ((isResult || storage.isOnDevice) && !isGiven(value)) ledger.own(storage);
      if (isResult) continue;
      // No register holds it: held and given up once, it is freed.
      ledger.retain(value, false);
      ledger.release(value, false);
    }
  }
}

let rows = 0;

/** A number that another row has another one of. */
const numberOf = remembered<OperatorRow, number>(() => rows++);

function areSameSizes(a: unknown, b: unknown): boolean {
  return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((size, at) => size === b[at]);
}

function argumentsOf(inputs: readonly number[], values: readonly IValue[]): IValue[] {
  const args = new Array<IValue>(inputs.length);
  for (let at = 0; at < inputs.length; at++) args[at] = values[inputs[at]];
  return args;
}

/** Whether a node is the concatenation a group ends with: the list of its parts is made in the group. */
function endsGroup(node: Node): boolean {
  return node.kind === 'aten::cat' && node.input(0).node.kind === 'prim::ListConstruct';
}
