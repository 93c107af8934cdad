import { formatStackTrace, printNode, type Node } from '@cresset/ir';
import { deviceRefusal, type OperatorRow } from '@cresset/operators';
import type { IValue, ScriptObject } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { dispatch } from '../dispatch/dispatch.ts';
import { Execution, type OperatorObserver } from '../run/execution.ts';
import type { FusionGroup } from '../dispatch/fusion-group.ts';
import { stackEntriesOf } from '../interpreter/program-place.ts';
import type { OperatorBinding } from '../interpreter/code/operator-binding.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { tensorsIn } from '../dispatch/tensors-in.ts';
import { ScriptModule } from '../script-module.ts';
import { bindArguments } from '../worker/argument-binding.ts';
import type { HostedModel } from '../worker/hosted-model.ts';
import type { VerificationDifference, VerificationReport, VerifyRequest } from '../worker/wire/protocol.ts';
import type { WorkerHost } from '../worker/worker-host.ts';
import { RunComparison, type ComparedRuns, type RunDifference } from './compared-runs.ts';
import { ValueCopier } from './value-copier.ts';
import { comparableParts, tensorDifference, type Difference, type Tolerance } from './value-difference.ts';

/** So many differences are told; the first is the one that matters. */
const MAX_DIFFERENCES = 20;

/**
 * Runs a method or function on the host and hands the inputs of every operator to the device too, so that what differs is that
 * operator's doing and nothing that came before. A group of operators that runs as one kernel is compared as such first; where it
 * differs, its operators are compared one by one.
 *
 * Where all of them are right, the program is run as a whole too, as it is optimised, recorded and replayed where the model is, and held
 * against one that is run as it was written. The model is left as it was.
 *
 * Rejects where there is no device but the host's kernels in TypeScript, and with the program's error where it fails on the host.
 */
export async function verifyCall(
  model: HostedModel,
  request: VerifyRequest,
  host: WorkerHost,
  signal: AbortSignal,
): Promise<VerificationReport> {
  const { runner } = model;
  await model.loadDebugTables();
  const own = runner.context.device;
  const device = own && !own.capabilities.host ? own : await gpuOr(own, host);
  const callee = model.callee(request.module, request.method);
  const { fn, receiver } = callee;
  const { schema } = fn;
  const reader = model.reader();
  const bound = bindArguments(fn, receiver ?? undefined, request.args, request.kwargs, (value, argument) =>
    reader.argument(value, argument, schema.name),
  );
  const inputs = receiver ? bound.slice(1) : bound;
  const { tolerance } = request;
  const context = new RuntimeContext({ print: () => undefined });
  const observer = new Verifier(context, device, fn.name, signal, tolerance);
  // What a program does to its module, it does to a copy.
  const copier = new ValueCopier();
  const [object, self, ...args] = await copier.copiesOf([runner.object, receiver, ...inputs]);
  const plans = new RuntimeContext({ device: own });
  const copy = new ScriptModule(object as ScriptObject, runner.unit, plans);
  await model.run({ fn, receiver: self as ScriptObject | null }, args, { signal, context, observer }, copy);
  if (observer.differences.length > 0) return observer.report({ runs: 0, difference: null });
  return observer.report(await new RunComparison(model, callee, inputs, own ?? device, signal, tolerance).run());
}

/** The GPU; where there is none, the host's own device. */
async function gpuOr(own: ComputeDevice | null, host: WorkerHost): Promise<ComputeDevice> {
  try {
    return (await host.chooseDevice('webgpu')).device!;
  } catch (error) {
    if (!own) throw error;
    return own;
  }
}

/** Where an operator stands and what of it is said. */
interface Place {
  readonly operator: string;
  readonly node: Node;
  readonly fusedWith: readonly string[];
}

class Verifier implements OperatorObserver {
  readonly #onHost: Execution;
  readonly #deviceContext: RuntimeContext;
  readonly differences: VerificationDifference[] = [];
  #compared = 0;
  #notOnDevice = 0;

  constructor(
    hostContext: RuntimeContext,
    private readonly device: ComputeDevice,
    private readonly functionName: string,
    private readonly signal: AbortSignal,
    private readonly tolerance: Tolerance | null,
  ) {
    this.#onHost = new Execution(hostContext, signal);
    this.#deviceContext = new RuntimeContext({ device, limits: { smallWork: -1 }, print: () => undefined });
  }

  report({ runs, difference }: ComparedRuns): VerificationReport {
    if (difference) this.#add([this.#differenceOfRun(difference)]);
    return {
      passed: this.differences.length === 0,
      compared: this.#compared,
      notOnDevice: this.#notOnDevice,
      runs,
      differences: this.differences,
    };
  }

  #differenceOfRun({ run, part, node, output, found }: RunDifference): VerificationDifference {
    const place = { operator: node.kind, node, fusedWith: [] };
    return { ...this.#difference(place, output, detailsOf(found)), run, part };
  }

  run(binding: OperatorBinding, args: readonly IValue[], node: Node): Promise<readonly IValue[]> {
    return this.#runOperator(binding, args, { operator: binding.name, node, fusedWith: [] });
  }

  async #runOperator(binding: OperatorBinding, args: readonly IValue[], place: Place): Promise<readonly IValue[]> {
    const { row } = binding;
    const copies = row && (await this.#copiesFor(row, args));
    const results = await dispatch(binding, args, this.#onHost);
    if (copies) {
      // What an operator writes to is a result of it too.
      const writes = /\(\w+!\)/.test(row!.schema);
      const found = await this.#differencesOf(place, writes ? [...results, ...args] : results, async (onDevice) => {
        const actual = await dispatch(binding, copies, onDevice);
        return writes ? [...actual, ...copies] : actual;
      });
      this.#add(found);
    }
    return results;
  }

  /** Arguments for the device, as they are before the host may write to them; null where it is not to be asked. */
  async #copiesFor(row: OperatorRow, args: readonly IValue[]): Promise<IValue[] | null> {
    if (tensorsIn(args).length === 0 || row.nondeterministic || row.hasSideEffects || row.readsNoData) return null;
    if (row.view && !row.shape && !row.derived) return null;
    const copies = await copiesOf(args);
    let refusal: string | null;
    try {
      refusal = deviceRefusal(row, copies, this.device.capabilities);
    } catch {
      // Arguments that do not fit: the host says so.
      return null;
    }
    if (refusal === null) return copies;
    this.#notOnDevice++;
    return null;
  }

  async runGroup(group: FusionGroup, args: readonly IValue[], node: Node): Promise<readonly IValue[]> {
    const copies = await copiesOf(args);
    const results = await group.run(args, this.#onHost);
    const operators = group.label.split('+');
    const place = { operator: group.label, node, fusedWith: operators };
    const found = await this.#differencesOf(place, results, async (onDevice) => group.run(copies, onDevice));
    if (found.length === 0) return results;
    const before = this.differences.length;
    await group.run(args, new Execution(this.#onHost.context, this.signal, this.#memberObserver(operators)));
    if (this.differences.length === before) this.#add(found);
    return results;
  }

  #memberObserver(fusedWith: readonly string[]): OperatorObserver {
    return {
      run: (binding, args, node) => this.#runOperator(binding, args, { operator: binding.name, node, fusedWith }),
      runGroup: (group, args, node) => this.runGroup(group, args, node),
    };
  }

  #add(differences: readonly VerificationDifference[]): void {
    this.differences.push(...differences.slice(0, MAX_DIFFERENCES - this.differences.length));
  }

  async #differencesOf(
    place: Place,
    expected: readonly IValue[],
    compute: (onDevice: Execution) => Promise<readonly IValue[]>,
  ): Promise<VerificationDifference[]> {
    this.#compared++;
    const onDevice = new Execution(this.#deviceContext, this.signal);
    let actual: readonly IValue[] = [];
    try {
      actual = await compute(onDevice);
      await Promise.all([...tensorsIn(actual).map(({ storage }) => storage.toHost()), this.device.flush()]);
      await this.#deviceContext.faults.check();
      return this.#differencesBetween(place, expected, actual);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return [this.#difference(place, 0, { mismatch: `an error on the device: ${text}` })];
    } finally {
      for (const tensor of tensorsIn(actual)) tensor.dispose();
    }
  }

  #differencesBetween(place: Place, expected: readonly IValue[], actual: readonly IValue[]): VerificationDifference[] {
    return expected.flatMap((value, output) => {
      const found: VerificationDifference[] = [];
      for (const part of comparableParts(value, actual[output] ?? null)) {
        const difference = typeof part === 'string' ? part : tensorDifference(part[0], part[1], this.tolerance);
        if (difference) found.push(this.#difference(place, output, detailsOf(difference)));
      }
      return found;
    });
  }

  #difference({ operator, node, fusedWith }: Place, output: number, found: Details): VerificationDifference {
    const entries = stackEntriesOf(node, this.functionName);
    return {
      operator,
      node: printNode(node).trim(),
      python: entries.length > 0 ? formatStackTrace(entries) : '',
      output,
      maxDifference: found.maxDifference ?? NaN,
      at: found.at ?? null,
      mismatch: found.mismatch ?? null,
      fusedWith,
      run: null,
      part: null,
    };
  }
}

type Details = Partial<Pick<VerificationDifference, 'maxDifference' | 'at' | 'mismatch'>>;

function detailsOf(found: Difference | string): Details {
  if (typeof found === 'string') return { mismatch: found };
  const { maxDifference, index, expected: host, actual: device } = found;
  return { maxDifference, at: { index, host, device } };
}

/** Copies of all of them; tensors over one memory stay that. */
const copiesOf = (values: readonly IValue[]): Promise<IValue[]> => new ValueCopier().copiesOf(values);
