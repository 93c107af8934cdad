import { GraphFunction, type Node } from '@cresset/ir';
import { inline } from '@cresset/passes';
import { ScriptObject, Tensor, type IValue, type Storage } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { tapeCode } from '../autograd/tape-code.ts';
import { InterruptedError } from '../interpreter/script-error.ts';
import { forEachStorage } from '../memory/reachable-storages.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ScriptModule, type CallOptions } from '../script-module.ts';
import type { Callee, HostedModel } from '../worker/hosted-model.ts';
import { ValueCopier } from './value-copier.ts';
import {
  comparableParts,
  largestOf,
  tensorDifference,
  toleranceFor,
  type Difference,
  type Tolerance,
} from './value-difference.ts';

/** So often the same arguments are given: a device records the second call and replays the third. */
const CALLS = 3;
/** Programs with more nodes are not looked through for the first that is wrong. */
const MAX_NODES = 1000;

/** What was different in a run of the whole program. */
export interface RunDifference {
  /** Which call it was, from 1. */
  readonly run: number;
  readonly part: 'result' | 'arguments' | 'state';
  /** The first node of the inlined program that is not right where the program ends with it; of which output, and how. */
  readonly node: Node;
  readonly output: number;
  readonly found: Difference | string;
}

/** What came of the calls. */
export interface ComparedRuns {
  readonly runs: number;
  readonly difference: RunDifference | null;
}

interface Outcome {
  readonly results: readonly IValue[];
  readonly args: readonly IValue[];
}

type Mismatch = Pick<RunDifference, 'run' | 'part' | 'output' | 'found'>;

/**
 * Calls a program three times as it is called by its users: optimised, recorded and replayed, on `device`; then three times with other sizes,
 * where the program takes them. Holds results, arguments and the state that is left against those of a program that is run as it
 * was written, by the kernels in TypeScript. All runs are on copies of the module.
 */
export class RunComparison {
  constructor(
    private readonly model: HostedModel,
    private readonly callee: Callee,
    /** Without the receiver. */
    private readonly inputs: readonly IValue[],
    private readonly device: ComputeDevice,
    private readonly signal: AbortSignal,
    private readonly tolerance: Tolerance | null,
  ) {}

  async run(): Promise<ComparedRuns> {
    await this.model.wantKernels();
    await Promise.all([this.model.parts.want('plans', 'verify'), this.device.fetchRecorder?.()]);
    const smaller = await this.#smallerInputs();
    const rounds = [this.inputs, ...(smaller ? [smaller] : [])].flatMap((inputs) => new Array(CALLS).fill(inputs));
    const mismatch = await this.#mismatchOf(this.callee.fn, rounds);
    const difference = mismatch && (await this.#located(mismatch, rounds.slice(0, mismatch.run)));
    return { runs: rounds.length, difference };
  }

  /** The arguments with one row less, or one column, whichever the program takes; null where it takes neither. */
  async #smallerInputs(): Promise<readonly IValue[] | null> {
    for (const dimOf of [() => 0, ({ dim }: Tensor) => dim - 1]) {
      const smaller = this.inputs.map((value) => (value instanceof Tensor ? withOneLess(value, dimOf(value)) : value));
      if (smaller.every((value, at) => value === this.inputs[at])) continue;
      const side = await this.#side(null);
      try {
        await side.call(this.callee.fn, smaller);
        return smaller;
      } catch (error) {
        if (error instanceof InterruptedError) throw error;
      } finally {
        side.end();
      }
    }
    return null;
  }

  #side(device: ComputeDevice | null): Promise<Side> {
    return Side.open(this.model, this.callee.receiver, device, this.signal);
  }

  /** The first call that comes to something else than the plain one, and what. */
  async #mismatchOf(fn: Callee['fn'], rounds: readonly (readonly IValue[])[]): Promise<Mismatch | null> {
    const plain = await this.#side(null);
    const whole = await this.#side(this.device);
    try {
      for (const [at, inputs] of rounds.entries()) {
        const expected = await plain.call(fn, inputs);
        let actual: Outcome;
        try {
          actual = await whole.call(fn, inputs);
        } catch (error) {
          if (error instanceof InterruptedError) throw error;
          const text = error instanceof Error ? error.message : String(error);
          return { run: at + 1, part: 'result', output: 0, found: `an error: ${text}` };
        }
        const result = this.#differenceOf(expected.results, actual.results);
        if (result) return { run: at + 1, part: 'result', ...result };
        const args = this.#differenceOf(expected.args, actual.args);
        if (args) return { run: at + 1, part: 'arguments', ...args };
      }
      const state = this.#differenceOf(await plain.state(), await whole.state());
      return state && { run: rounds.length, part: 'state', ...state };
    } finally {
      plain.end();
      whole.end();
    }
  }

  #differenceOf(
    expected: readonly IValue[],
    actual: readonly IValue[],
  ): { readonly output: number; readonly found: Difference | string } | null {
    for (const [output, value] of expected.entries()) {
      for (const part of comparableParts(value, actual[output] ?? null)) {
        const found =
          typeof part === 'string' ? part : tensorDifference(...part, this.tolerance ?? toleranceAfterMany(part[0]));
        if (found) return { output, found };
      }
    }
    return null;
  }

  /** Lets the program end with one node after the other, until one comes out wrong. */
  async #located(whole: Mismatch, rounds: readonly (readonly IValue[])[]): Promise<RunDifference> {
    const { fn } = this.callee;
    if (!(fn instanceof GraphFunction)) throw new Error(`${fn.qualifiedName} has no graph`);
    const graph = fn.graph.copy();
    inline(graph);
    const nodes = [...graph.nodes()];
    for (const [at, node] of nodes.entries()) {
      if (nodes.length > MAX_NODES || !isJudged(node)) continue;
      const mismatch = await this.#mismatchOf(endingWith(graph, at, fn.qualifiedName), rounds);
      if (mismatch) return { ...whole, output: mismatch.output, found: mismatch.found, node };
    }
    return { ...whole, node: graph.block.returnNode.inputs[0]?.node ?? graph.block.returnNode };
  }
}

/** Constants, attributes and containers say nothing new. */
const isJudged = ({ kind }: Node): boolean =>
  !/^prim::(?:Constant|GetAttr|\w+(?:Construct|Unpack)|TupleIndex)$/.test(kind);

/** The function up to a node of its inlined graph; what that gives is what it returns. */
function endingWith(graph: GraphFunction['graph'], at: number, name: string): GraphFunction {
  const copy = graph.copy();
  copy.block.removeAllOutputs();
  const nodes = [...copy.nodes()];
  for (const later of nodes.slice(at + 1).reverse()) later.destroy();
  for (const output of nodes[at].outputs) copy.registerOutput(output);
  return new GraphFunction(name, copy);
}

/** One of the two that are compared: the program on a copy of its module. */
class Side {
  readonly #results = new Set<Storage>();

  private constructor(
    private readonly model: HostedModel,
    private readonly runner: ScriptModule,
    private readonly copier: ValueCopier,
    private readonly receiver: ScriptObject | null,
    private readonly signal: AbortSignal,
  ) {}

  static async open(
    model: HostedModel,
    receiver: ScriptObject | null,
    device: ComputeDevice | null,
    signal: AbortSignal,
  ): Promise<Side> {
    const copier = new ValueCopier();
    const [object, own] = await copier.copiesOf([model.runner.object, receiver]);
    // Both draw the same random numbers, and none of the model's.
    const context = new RuntimeContext({ device, print: () => undefined, warn: () => undefined });
    const runner = new ScriptModule(object as ScriptObject, model.runner.unit, context);
    return new Side(model, runner, copier, own as ScriptObject | null, signal);
  }

  /** @param fn the method or function, or one that begins as it does */
  async call(fn: Callee['fn'], inputs: readonly IValue[]): Promise<Outcome> {
    const args = await new ValueCopier(this.copier).copiesOf(inputs);
    const options: CallOptions = {
      signal: this.signal,
      resultToHost: true,
      ...(this.runner.context.device ? {} : { codes: tapeCode }),
    };
    const isMethod = this.receiver?.type.findMethod(fn.name) === fn;
    const result = await this.model.run(
      { fn, receiver: isMethod ? this.receiver : null },
      isMethod || !this.receiver ? args : [this.receiver, ...args],
      options,
      this.runner,
    );
    const outcome = { results: [result], args };
    await this.#bringToHost([result, ...args]);
    return outcome;
  }

  /** What the tensors of the module hold, in their order. */
  async state(): Promise<readonly IValue[]> {
    const { object } = this.runner;
    await this.#bringToHost([object]);
    return statesOf(object, new Set());
  }

  async #bringToHost(values: readonly IValue[]): Promise<void> {
    const reads: Promise<void>[] = [];
    forEachStorage(values, (storage) => {
      this.#results.add(storage);
      if (!storage.isDisposed) reads.push(storage.toHost());
    });
    await Promise.all(reads);
  }

  /** Gives up what it has on the device; constants may be the model's too. */
  end(): void {
    const { context } = this.runner;
    context.planner?.clear();
    context.faults.dispose();
    const ofModel = this.model.runner.storages();
    for (const storage of [...this.runner.storages(), ...this.#results]) {
      if (storage.isDisposed || ofModel.has(storage)) continue;
      if (storage.isOnHost) storage.hostBytesForWriting();
      else storage.dispose();
    }
  }
}

/** The attributes of an object and of those within. */
function statesOf(object: ScriptObject, seen: Set<ScriptObject>): IValue[] {
  seen.add(object);
  return object.slots.flatMap((slot) => {
    if (!(slot instanceof ScriptObject)) return [slot];
    return seen.has(slot) ? [] : statesOf(slot, seen);
  });
}

/** A tensor of its own without the last row of a dimension; the same where that would leave none. */
function withOneLess(tensor: Tensor, dim: number): Tensor {
  if (tensor.dim === 0 || tensor.sizes[dim] < 2) return tensor;
  const sizes = tensor.sizes.map((size, at) => (at === dim ? size - 1 : size));
  return tensor.asStrided(sizes, tensor.strides);
}

/** What a tensor's numbers may be apart after a whole program: what is left of a difference of large numbers is as imprecise as they are. */
function toleranceAfterMany(tensor: Tensor): Tolerance {
  const { relative, absolute } = toleranceFor(tensor.dtype);
  const largest = largestOf(tensor);
  return { relative: 10 * relative, absolute: 10 * (absolute + relative * largest) };
}
