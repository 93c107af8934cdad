import type { SentInput } from '@cresset/archive';
import type { AutocastDtype } from '../autograd/recording/autocast.ts';
import type { RunProfile } from '../run/run-profile.ts';
import type { WireTensor, WireValue } from '../worker/wire/wire-format.ts';
import type { Hyperparameters, OptimizerName } from './optimizers.ts';

/** What is differentiated: a method, and the loss of what it gives. */
export interface DifferentiatedMethod {
  /** Path of the submodule whose method it is, `''` for the module itself. */
  readonly module: string;
  readonly method: string;
  /** A function of torch.nn.functional by its name, or TorchScript source of one; null where the method gives the loss. */
  readonly loss: string | null;
  /** Paths of submodules from the module on, of whose calls nothing is kept but their arguments. */
  readonly checkpoint: readonly string[];
  /** What operators of products compute in, as within `torch.autocast('cpu', dtype=…)`; null where nothing is cast. */
  readonly autocast: AutocastDtype | null;
}

/** One call of it. */
export interface CallToDifferentiate {
  readonly args: readonly WireValue[];
  readonly kwargs: readonly (readonly [string, WireValue])[];
  /** What the loss takes beside the result. */
  readonly target?: WireValue;
}

/** Starts to train a module; answered with `trainer`. */
interface OpenTrainer extends DifferentiatedMethod {
  readonly what: 'open';
  readonly optimizer: OptimizerName;
  /** Names of parameters, those of modules below the module with dots; null for all that require a gradient. */
  readonly groups: readonly (readonly string[] | null)[];
  /** Of each group. */
  readonly hyperparameters: readonly Hyperparameters[];
}

/** What is done with gradients before they are used (torch.nn.utils.clip_grad_norm_ and clip_grad_value_). */
export interface Clipping {
  readonly norm: { readonly maxNorm: number; readonly normType: number } | null;
  readonly value: number | null;
}

/** One step of training; answered with `trained`. */
interface TrainingStep extends CallToDifferentiate {
  readonly what: 'step';
  readonly trainer: number;
  readonly hyperparameters: readonly Hyperparameters[];
  readonly clipping: Clipping;
  /** Whether gradients are added up and kept, and parameters stay as they are. */
  readonly accumulate: boolean;
  /** Whether the answer has what the method gave. */
  readonly wantsOutput: boolean;
}

/** Takes gradients of one call; answered with `gradients`. */
interface TakeGradients extends DifferentiatedMethod, CallToDifferentiate {
  readonly what: 'gradients';
  /** The gradient of what the method gives, where that is not one number. */
  readonly gradient: WireTensor | null;
}

/** State of an optimiser, tensors by parameter; what groups have is known to the page. */
export interface OptimizerState {
  /** By the index that PyTorch gives a parameter: in the order of the groups. */
  readonly state: readonly {
    readonly index: number;
    readonly step: number;
    readonly tensors: readonly (readonly [name: string, tensor: WireTensor])[];
  }[];
}

/** Requests about training a model. */
export type TrainRequest = { readonly type: 'train'; readonly id: number; readonly model: number } & (
  | OpenTrainer
  | TrainingStep
  | TakeGradients
  | { readonly what: 'state'; readonly trainer: number }
  | ({ readonly what: 'load-state'; readonly trainer: number } & OptimizerState)
  /** Takes the state from a file of `torch.save(optimizer.state_dict())`; answered with `optimizer-groups`. */
  | { readonly what: 'load'; readonly trainer: number; readonly input: SentInput }
  /** Writes the state as `torch.save` writes `optimizer.state_dict()`; answered with `saved`. */
  | { readonly what: 'save'; readonly trainer: number; readonly hyperparameters: readonly Hyperparameters[] }
  /** Has a function see the gradients of a parameter, by a number of the page's; answered with `done`, as is its end. */
  | {
      readonly what: 'hook';
      readonly trainer: number;
      readonly hook: number;
      readonly parameter: string;
      readonly source: string;
    }
  | { readonly what: 'remove-hook'; readonly trainer: number; readonly hook: number }
  | { readonly what: 'close'; readonly trainer: number }
  /** Says of the parameters of a module whether they are trained; answered with `loaded`. */
  | { readonly what: 'require-grad'; readonly module: string; readonly requiresGrad: boolean }
);

/** Gradients of one call, with what it gave. */
export interface WireGradients {
  readonly output: WireValue;
  /** Null where no loss was named. */
  readonly loss: WireTensor | null;
  /** Of parameters, by name; those that the loss does not depend on are left out. */
  readonly parameters: readonly (readonly [name: string, gradient: WireTensor])[];
  /** Of the arguments by position; null for those that have none. */
  readonly inputs: readonly (WireTensor | null)[];
  readonly profile: RunProfile;
}

export type TrainAnswer =
  | {
      readonly type: 'trainer';
      readonly id: number;
      readonly trainer: number;
      /** Names of the parameters of each group. */
      readonly groups: readonly (readonly string[])[];
    }
  | {
      readonly type: 'trained';
      readonly id: number;
      readonly loss: number;
      /** The norm of all gradients, where they were clipped by it. */
      readonly gradNorm: number | null;
      readonly output: WireValue;
      readonly profile: RunProfile;
    }
  | {
      readonly type: 'gradients';
      readonly id: number;
      readonly gradients: WireGradients;
    }
  | ({ readonly type: 'optimizer-state'; readonly id: number } & OptimizerState)
  | { readonly type: 'optimizer-groups'; readonly id: number; readonly groups: readonly Hyperparameters[] };
