import { checkOptions, CressetError } from '@cresset/ir';
import type {
  CallToDifferentiate,
  DifferentiatedMethod,
  OptimizerName,
  OptimizerState,
  WireTensor,
} from '@cresset/runtime';
import { ARGUMENT_RULES, type ArgumentOptions, type LoadedFile } from '../page/loaded-file.ts';
import { wireInput, type ModelInput } from '../page/values/model-input.ts';
import { Tensor } from '../page/values/tensor.ts';
import { fromWire, WireArguments, type Input, type Output } from '../page/values/value.ts';
import { openScheduler, type LRScheduler } from './lr-scheduler.ts';
import type { Optimizer, Schedule } from './optim.ts';
import { hyperparametersOf, openOptimizer, takeHyperparameters, type ParamGroup } from './optimizer-groups.ts';

/** What is differentiated: a method of a module, and what makes one number of its result. */
export interface DifferentiateOptions {
  /** `forward` by default. */
  readonly method?: string;
  /**
   * A function of torch.nn.functional by its name (`'cross_entropy'`), or TorchScript source of a function of the result and the target. Without one
   * the method gives the loss itself.
   */
  readonly loss?: string;
  /**
   * Submodules, by their paths from the module on (`['encoder.layers.0']`), of which nothing is kept for the gradients but what they are called with: their
   * `forward` runs once more when its gradients are worked out, with the same random numbers, and buffers change once (torch.utils.checkpoint). Takes less memory
   * and more time.
   */
  readonly checkpoint?: readonly string[];
  /**
   * Has products, convolutions and attention compute in that dtype, and losses in float32, as within `torch.autocast('cpu', dtype=…)`; gradients are those of that.
   * Parameters and their gradients stay as they are. Memory is that of float32, which such numbers are kept in on a GPU.
   */
  readonly autocast?: 'float16' | 'bfloat16';
}

export interface TrainerOptions extends DifferentiateOptions {
  readonly optimizer: Optimizer;
  /** Changes the learning rate when `trainer.scheduler.step()` is called. */
  readonly scheduler?: Schedule;
  /** The norm that all gradients together have at most (torch.nn.utils.clip_grad_norm_), or with another norm than the second, `{ maxNorm, normType }`. */
  readonly clipGradNorm?: number | { readonly maxNorm: number; readonly normType: number };
  /** What each element of a gradient is at most, either way (clip_grad_value_). */
  readonly clipGradValue?: number;
}

export interface StepOptions extends ArgumentOptions {
  /** Adds the gradients to those of earlier steps and changes nothing yet; the next step without it uses their sum. */
  readonly accumulate?: boolean;
  /** Whether the result has what the method gave. */
  readonly output?: boolean;
}

/** What a step came to. */
export interface StepResult {
  /** Before the step. */
  readonly loss: number;
  /** The norm of all gradients together before clipping, where they were clipped by it. */
  readonly gradNorm: number | null;
  /** What the method gave, where that was asked for. */
  readonly output: Output;
}

/** As `optimizer.state_dict()`: the state of each parameter by its number, in the order of the groups. */
export interface OptimizerStateDict {
  readonly state: Readonly<Record<number, Readonly<Record<string, Tensor>>>>;
  readonly paramGroups: readonly ParamGroup[];
}

export interface GradOptions extends DifferentiateOptions, ArgumentOptions {
  /** What the loss takes beside the result. */
  readonly target?: Input;
  /** The gradient of the result, of its shape, where that is more than one number. */
  readonly gradient?: Tensor;
}

/** Gradients of one call. */
export interface Gradients {
  /** What the method gave. */
  readonly output: Output;
  /** Null where no loss was named. */
  readonly loss: number | null;
  /** Of parameters that require a gradient, by name, those aside that the result does not depend on. */
  readonly grads: ReadonlyMap<string, Tensor>;
  /** Of the arguments, by position; null for what is no tensor of floating point, or has no part in the result. */
  readonly inputGrads: readonly (Tensor | null)[];
}

/** A hook that was registered (torch.utils.hooks.RemovableHandle). */
export interface HookHandle {
  /** Has gradients pass by it again. */
  remove(): Promise<void>;
}

const METHOD_RULES = {
  method: 'string',
  loss: 'string',
  checkpoint: 'array',
  autocast: ['float16', 'bfloat16'],
} as const;

/**
 * Trains a module where it runs: parameters, gradients and what the optimiser keeps stay there, and a step is one message. Steps and calls of the model wait for
 * each other, in the order in which they were made.
 */
export class Trainer {
  /** The optimiser's groups; their numbers can be changed between two steps. */
  readonly paramGroups: readonly ParamGroup[];
  /** Null without a schedule. */
  readonly scheduler: LRScheduler | null;
  readonly #file: LoadedFile;
  readonly #id: number;
  readonly #optimizer: OptimizerName;
  readonly #options: TrainerOptions;
  #hooks = 0;

  /** Used by `model.trainer`. */
  constructor(
    file: LoadedFile,
    id: number,
    optimizer: OptimizerName,
    paramGroups: readonly ParamGroup[],
    options: TrainerOptions,
  ) {
    this.#file = file;
    this.#id = id;
    this.#optimizer = optimizer;
    this.#options = options;
    this.paramGroups = paramGroups;
    this.scheduler = options.scheduler ? openScheduler(options.scheduler, paramGroups) : null;
  }

  /** The learning rate of the first group. */
  get lr(): number {
    return this.paramGroups[0].lr;
  }

  /**
   * One step of training: runs the method on `inputs`, takes the loss of what it gives and of `target`, and changes the parameters by the gradients. One
   * tensor can stand for the list of inputs. A step that fails leaves parameters and the optimiser as they
   * were. So does one that is aborted (`signal`), unless it had begun to change them: what is changed then is all of them, and what is asked of the model next
   * waits for that. It rejects at once in either case.
   *
   * Rejects as calls do, and with PyTorch's errors of autograd.
   */
  async step(inputs: Tensor | readonly Input[], target?: Input, options: StepOptions = {}): Promise<StepResult> {
    checkOptions('step', options, { ...ARGUMENT_RULES, accumulate: 'boolean', output: 'boolean' });
    const { clipGradNorm: norm, clipGradValue } = this.#options;
    const { kwargs, signal, accumulate = false, output: wantsOutput = false } = options;
    const clipping = {
      norm: norm === undefined ? null : typeof norm === 'number' ? { maxNorm: norm, normType: 2 } : norm,
      value: clipGradValue ?? null,
    };
    const request = { accumulate, wantsOutput, clipping, hyperparameters: this.#hyperparameters() };
    const given = wireCall(inputs, target, kwargs);
    const message = { ...this.#message('step'), ...given, ...request } as const;
    const answer = await this.#client.request('trained', message, signal ? { signal } : {});
    this.#file.lastProfile = answer.profile;
    return { loss: answer.loss, gradNorm: answer.gradNorm, output: fromWire(answer.output) };
  }

  /**
   * Has a function see the gradient of a parameter in each step, before it is added to that of earlier steps, clipped or used (Tensor.register_hook). What it
   * gives takes the place of the gradient, None leaves that as it is. Hooks of a parameter are called in the order in which they were registered.
   *
   * @param hook TorchScript source of a function of the gradient: `def hook(grad): return grad * 0.5`
   *
   * Rejects with `NO_PARAMETER`, with PyTorch's error for a parameter that requires no gradient, and with the compiler's. Steps reject where it gives a tensor of
   * another shape or dtype.
   */
  async registerHook(parameter: string, hook: string): Promise<HookHandle> {
    const number = ++this.#hooks;
    await this.#client.request('done', { ...this.#message('hook'), hook: number, parameter, source: hook });
    return {
      remove: async () => {
        await this.#client.request('done', { ...this.#message('remove-hook'), hook: number });
      },
    };
  }

  /** What the optimiser keeps of each parameter, and its groups. */
  async stateDict(): Promise<OptimizerStateDict> {
    const { state } = await this.#client.request('optimizer-state', this.#message('state'));
    const own = state.map(({ index, step, tensors }) => {
      const named = tensors.map(([name, tensor]) => [name, fromWire(tensor)] as [string, Tensor]);
      const counted =
        this.#optimizer === 'SGD' ? [] : [['step', new Tensor(Float32Array.of(step).buffer, [], 'float32')]];
      return [index, Object.fromEntries([...counted, ...named])] as const;
    });
    return {
      state: Object.fromEntries(own) as OptimizerStateDict['state'],
      paramGroups: this.paramGroups.map((group) => ({ ...group })),
    };
  }

  /** Takes what {@link stateDict} gave. Rejects with `STATE_DICT` where that does not fit. */
  async loadStateDict({ state, paramGroups }: OptimizerStateDict): Promise<void> {
    const own = Object.entries(state).map(([index, { step, ...tensors }]) => ({
      index: Number(index),
      step: step ? Number(step.item()) : 1,
      tensors: Object.entries(tensors).map(([name, tensor]) => [name, wireTensor(tensor)] as const),
    }));
    if (paramGroups.length !== this.paramGroups.length) {
      throw new CressetError('STATE_DICT', 'loaded state dict has a different number of parameter groups');
    }
    const wire: OptimizerState = { state: own };
    await this.#client.request('done', { ...this.#message('load-state'), ...wire });
    this.paramGroups.forEach((group, at) => Object.assign(group, { ...paramGroups[at], params: group.params }));
  }

  /**
   * Takes the state and the groups of a file of `torch.save(optimizer.state_dict())`, of {@link save} or of PyTorch. Rejects as `loadCheckpoint` does, and
   * with `STATE_DICT` where it does not fit.
   */
  async load(input: ModelInput, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const message = { ...this.#message('load'), input: wireInput(input) } as const;
    const { groups } = await this.#client.request('optimizer-groups', message, signal ? { signal } : {});
    groups.forEach((group, at) => takeHyperparameters(this.paramGroups[at], group));
  }

  /** The optimiser's state as the file that `torch.save(optimizer.state_dict())` gives: `torch.load` reads it, and an optimiser there goes on with it. */
  async save(): Promise<Uint8Array<ArrayBuffer>> {
    const message = { ...this.#message('save'), hyperparameters: this.#hyperparameters() } as const;
    return new Uint8Array((await this.#client.request('saved', message)).bytes);
  }

  /** Frees what the optimiser keeps. The model stays, trained as it is. */
  async dispose(): Promise<void> {
    if (!this.#file.disposed) await this.#client.request('done', this.#message('close'));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  get #client(): LoadedFile['placement']['client'] {
    return this.#file.placement.client;
  }

  #message<What extends string>(what: What): { type: 'train'; model: number; trainer: number; what: What } {
    return { type: 'train', model: this.#file.id, trainer: this.#id, what };
  }

  #hyperparameters(): ReturnType<typeof hyperparametersOf>[] {
    return this.paramGroups.map((group) => hyperparametersOf(this.#optimizer, group));
  }
}

/** Starts to train a module. */
export async function openTrainer(file: LoadedFile, module: string, options: TrainerOptions): Promise<Trainer> {
  const own = { optimizer: 'object', scheduler: 'object', clipGradNorm: 'any', clipGradValue: 'positive' } as const;
  checkOptions('trainer', options, { ...METHOD_RULES, ...own });
  if (!options.optimizer) throw new CressetError('ARGUMENT', 'a trainer needs an optimizer: optim.SGD({ lr: 0.1 })');
  const { name, groups } = openOptimizer(options.optimizer);
  const placeholder = groups.map(({ names, settings }) => ({ params: names ?? [], ...settings }));
  const answer = await file.placement.client.request('trainer', {
    type: 'train',
    what: 'open',
    model: file.id,
    ...methodOf(module, options),
    optimizer: name,
    groups: groups.map(({ names }) => names),
    hyperparameters: placeholder.map((group) => hyperparametersOf(name, group)),
  });
  const paramGroups = placeholder.map((group, at) => ({ ...group, params: answer.groups[at] }));
  return new Trainer(file, answer.trainer, name, paramGroups, options);
}

/** Takes the gradients of one call. */
export async function takeGradients(
  file: LoadedFile,
  module: string,
  inputs: Tensor | readonly Input[],
  options: GradOptions,
): Promise<Gradients> {
  checkOptions('grad', options, { ...METHOD_RULES, ...ARGUMENT_RULES, target: 'any', gradient: 'object' });
  const { kwargs, target, gradient, signal } = options;
  const request = {
    type: 'train',
    what: 'gradients',
    model: file.id,
    ...methodOf(module, options),
    ...wireCall(inputs, target, kwargs),
    gradient: gradient ? wireTensor(gradient) : null,
  } as const;
  const { gradients } = await file.placement.client.request('gradients', request, signal ? { signal } : {});
  file.lastProfile = gradients.profile;
  return {
    output: fromWire(gradients.output),
    loss: gradients.loss && Number((fromWire(gradients.loss) as Tensor).item()),
    grads: new Map(gradients.parameters.map(([name, each]) => [name, fromWire(each) as Tensor])),
    inputGrads: gradients.inputs.map((each) => each && (fromWire(each) as Tensor)),
  };
}

/** Says of all parameters of a module whether they require a gradient. */
export async function requireGrad(file: LoadedFile, module: string, requiresGrad: boolean): Promise<void> {
  await file.placement.client.request('done', {
    type: 'train',
    what: 'require-grad',
    model: file.id,
    module,
    requiresGrad,
  });
  const inside = (name: string): boolean => module === '' || name.startsWith(`${module}.`);
  const tensors = file.summary.tensors.map((each) =>
    each.kind === 'parameter' && inside(each.name) ? { ...each, requiresGrad } : each,
  );
  file.summary = { ...file.summary, tensors };
}

function methodOf(
  module: string,
  { method = 'forward', loss, checkpoint = [], autocast }: DifferentiateOptions,
): DifferentiatedMethod {
  return { module, method, loss: loss ?? null, checkpoint, autocast: autocast ?? null };
}

function wireCall(
  inputs: Tensor | readonly Input[],
  target: Input,
  kwargs: ArgumentOptions['kwargs'],
): CallToDifferentiate {
  const values = new WireArguments();
  const args = inputs instanceof Tensor ? [inputs] : inputs;
  return {
    args: args.map((input) => values.value(input)),
    kwargs: values.named(kwargs),
    ...(target !== undefined && { target: values.value(target) }),
  };
}

const wireTensor = (tensor: Tensor): WireTensor => new WireArguments().tensor(tensor);
