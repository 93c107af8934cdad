import { CressetError, jitOptions, GraphFunction, type ScriptFunction } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';
import { inline } from '@cresset/passes';
import { Tensor, type IValue, type ScriptObject } from '@cresset/tensor';
import type { AutocastDtype } from '../autograd/recording/autocast.ts';
import { CheckpointedCode } from '../autograd/checkpoint/checkpointed-code.ts';
import { needForGradients } from '../autograd/recording/gradient-parts.ts';
import { functionsOf } from '../autograd/recording/gradients-within.ts';
import { splitCallsOf } from '../autograd/splitting/split-calls.ts';
import { tapeCode } from '../autograd/tape-code.ts';
import type { CodeProvider } from '../interpreter/code/code-compiler.ts';
import { bindArguments } from '../worker/argument-binding.ts';
import type { Callee, HostedModel } from '../worker/hosted-model.ts';
import type { WireValue } from '../worker/wire/wire-format.ts';
import { compileLoss } from './loss.ts';
import type { RecordedRun } from './recorded-run.ts';
import type { CallToDifferentiate, DifferentiatedMethod } from './training-requests.ts';

/** A method whose results are differentiated, and what makes a loss of them. */
export class DifferentiableCall {
  private constructor(
    private readonly model: HostedModel,
    private readonly callee: Callee,
    private readonly loss: GraphFunction | null,
    private readonly codes: CodeProvider,
    private readonly autocast: AutocastDtype | null,
  ) {}

  /** Compiles what is to be differentiated, and fetches the parts of the library that this takes. */
  static async of(
    model: HostedModel,
    { module, method, loss, checkpoint, autocast }: DifferentiatedMethod,
  ): Promise<DifferentiableCall> {
    const callee = model.callee(module, method);
    const compiled = loss === null ? null : await compileLoss(loss, model.parts);
    await needForGradients(model.parts, compiled ? [callee.fn, compiled] : [callee.fn]);
    const { device } = model.runner.context;
    if (device) await model.wantPlans('training');
    if (!device || device.capabilities.host) await model.parts.want('host', 'a call on the host');
    const codes = checkpoint.length === 0 ? tapeCode : new CheckpointedCode(modulesAt(model, module, checkpoint));
    return new DifferentiableCall(model, callee, compiled, codes, autocast);
  }

  /** The arguments of one call, without `self`, and what the loss takes beside the result. */
  async argumentsOf({ args, kwargs, target }: CallToDifferentiate): Promise<CallArguments> {
    const { model, loss } = this;
    const { fn, receiver } = this.callee;
    await model.parts.needForValues([...args, ...kwargs.map(([, value]) => value), target ?? null]);
    const reader = model.reader();
    const bound = bindArguments(fn, receiver ?? undefined, args, kwargs, (value, argument) =>
      reader.argument(value, argument, fn.schema.name),
    );
    const inputs = receiver ? bound.slice(1) : bound;
    if (!loss) {
      if (target !== undefined) throw new CressetError('ARGUMENT', 'there is a target, but no loss that would take it');
      return { inputs, targets: [] };
    }
    const given: readonly WireValue[] = target === undefined ? [] : [target];
    const [, ...targets] = bindArguments(loss, null, given, [], (value, argument) =>
      reader.argument(value, argument, loss.schema.name),
    );
    return { inputs, targets };
  }

  /** Whether parts of it are run twice, which no graph of the whole would keep apart. */
  get hasCheckpoints(): boolean {
    return this.codes !== tapeCode;
  }

  /** What it calls, hooks around the method among it. */
  get functions(): readonly ScriptFunction[] {
    return [...functionsOf(this.callee), ...(this.loss ? [this.loss] : [])];
  }

  /** Whether it calls operators that say themselves what their gradients are: those look up what nobody did on the way to the loss. */
  get hasOwnDerivatives(): boolean {
    return this.functions.some((fn) => {
      const graph = fn instanceof GraphFunction ? fn.graph.copy() : null;
      if (graph) inline(graph);
      return [...(graph?.allNodes() ?? [])].some(
        (node) => (node.maybeOperator()?.row as OperatorRow | undefined)?.backward,
      );
    });
  }

  /** Whether a call may be traced, to be a graph from then on. */
  get isTraceable(): boolean {
    const { gradients = 'graph' } = jitOptions();
    return this.model.runner.context.device !== null && !this.hasCheckpoints && gradients === 'graph';
  }

  /**
   * Makes a call that nobody traces, with the code that it is to run: the tape's, or that of plans with groups of operators. What is cast, or run again, is
   * recorded operator by operator.
   */
  untraced<Result>(call: (codes: CodeProvider) => Promise<Result>): Promise<Result> {
    const { model, functions } = this;
    if (this.hasCheckpoints || this.autocast) return call(this.codes);
    return splitCallsOf(model.runner).call(functions, model, call);
  }

  /** Runs the method, and the loss of its result. @param codes whose code runs */
  async run(run: RecordedRun, { inputs, targets }: CallArguments, codes = this.codes): Promise<CallResults> {
    const { fn, receiver } = this.callee;
    const ofLoss = this.hasCheckpoints ? tapeCode : codes;
    return run.autocast(this.autocast, async () => {
      const output = await run.call(fn, receiver, inputs, codes);
      const loss = this.loss ? await run.call(this.loss, null, [output, ...targets], ofLoss) : output;
      return { output, loss };
    });
  }
}

export interface CallArguments {
  readonly inputs: readonly IValue[];
  readonly targets: readonly IValue[];
}

export interface CallResults {
  readonly output: IValue;
  /** What the method gave, where there is no loss. */
  readonly loss: IValue;
}

/** Submodules by their paths from `module` on. Throws `NO_MODULE` where there is none, and `METHOD_NOT_FOUND` for one that is not called by itself. */
function modulesAt({ modules }: HostedModel, module: string, paths: readonly string[]): ReadonlySet<ScriptObject> {
  return new Set(
    paths.map((path) => {
      const found = path === '' ? undefined : modules.get(module === '' ? path : `${module}.${path}`);
      if (!found) throw new CressetError('NO_MODULE', `there is no module '${path}'`);
      if (found.type.findMethod('forward')) return found;
      throw new CressetError('METHOD_NOT_FOUND', `'${path}' has no method 'forward'`);
    }),
  );
}

/** The one number that gradients are taken of. */
export function lossOf({ loss }: CallResults): Tensor {
  if (loss instanceof Tensor) return loss;
  throw new CressetError(
    'ARGUMENT',
    'what is to be made small has to be a tensor: name a loss of what the method gives',
  );
}
