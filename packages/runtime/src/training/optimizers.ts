import type { CompilationUnit } from '@cresset/ir';
import { compileTexts } from './texts.ts';

/** The classes of torch.optim that there are. */
export const OPTIMIZERS = ['SGD', 'Adam', 'AdamW', 'RMSprop'] as const;

export type OptimizerName = (typeof OPTIMIZERS)[number];

/** What an optimiser takes for a group of parameters, by PyTorch's names: `lr`, `weight_decay`, `betas`. */
export type Hyperparameters = Readonly<Record<string, number | boolean | readonly number[]>>;

/** How an optimiser changes one parameter. */
export interface UpdateRule {
  /** Its function in the texts below. What that takes is found by name: state, hyperparameters, or `param`, `grad` and `step`. */
  readonly update: string;
  /** Tensors of the parameter's shape that it keeps from step to step, zeros before the first. */
  state(group: Hyperparameters): readonly string[];
  /** Whether it changes real and imaginary parts of a complex parameter as elements of their own. */
  readonly takesParts: boolean;
  /** Whether a checkpoint of PyTorch's has the number of steps among the state. */
  readonly countsSteps: boolean;
  /** What the groups of a checkpoint of PyTorch's have beside the hyperparameters. */
  readonly others: Readonly<Record<string, null | boolean>>;
}

const adam: UpdateRule = {
  update: 'adam',
  state: ({ amsgrad }) => ['exp_avg', 'exp_avg_sq', ...(amsgrad ? ['max_exp_avg_sq'] : [])],
  takesParts: true,
  countsSteps: true,
  others: { foreach: null, capturable: false, differentiable: false, fused: null },
};

export const UPDATE_RULES: Readonly<Record<OptimizerName, UpdateRule>> = {
  SGD: {
    update: 'sgd',
    state: ({ momentum }) => (momentum ? ['momentum_buffer'] : []),
    takesParts: false,
    countsSteps: false,
    others: { foreach: null, differentiable: false, fused: null },
  },
  Adam: adam,
  AdamW: adam,
  RMSprop: {
    update: 'rmsprop',
    state: ({ centered, momentum }) => [
      'square_avg',
      ...(momentum ? ['momentum_buffer'] : []),
      ...(centered ? ['grad_avg'] : []),
    ],
    takesParts: true,
    countsSteps: true,
    others: { capturable: false, foreach: null, differentiable: false },
  },
};

/**
 * PyTorch's arithmetic, operation by operation (`_single_tensor_sgd` and its kin), as values: a function gives the parameter anew, and then what it was given of
 * the optimiser's own, in the order in which it took that. `is_first` says that a parameter is changed for the first time, when `step` is 1. What a function
 * has no use for is None.
 */
const TEXTS = `
def sgd(param, grad, momentum_buffer: Optional[Tensor], is_first: bool, lr: float, momentum: float, dampening: float,
        weight_decay: Optional[float], nesterov: bool, maximize: bool):
    if maximize:
        grad = -grad
    if weight_decay is not None:
        grad = grad.add(param, alpha=weight_decay)
    if momentum_buffer is not None:
        if is_first:
            momentum_buffer = grad.to(momentum_buffer.dtype)
        else:
            momentum_buffer = (momentum_buffer * momentum).add(grad, alpha=1.0 - dampening)
        if nesterov:
            grad = grad.add(momentum_buffer, alpha=momentum)
        else:
            grad = momentum_buffer
    return param.add(grad, alpha=-lr), momentum_buffer

def adam(param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq: Optional[Tensor], step: int, lr: float, beta1: float,
         beta2: float, eps: float, weight_decay: Optional[float], decoupled_weight_decay: bool, maximize: bool):
    if maximize:
        grad = -grad
    if weight_decay is not None:
        if decoupled_weight_decay:
            param = param * (1.0 - lr * weight_decay)
        else:
            grad = grad.add(param, alpha=weight_decay)
    exp_avg = torch.lerp(exp_avg, grad, 1.0 - beta1)
    exp_avg_sq = (exp_avg_sq * beta2).addcmul(grad, grad, value=1.0 - beta2)
    step_size = lr / (1.0 - beta1 ** float(step))
    bias_correction2_sqrt = (1.0 - beta2 ** float(step)) ** 0.5
    second = exp_avg_sq
    if max_exp_avg_sq is not None:
        max_exp_avg_sq = torch.maximum(max_exp_avg_sq, exp_avg_sq)
        second = max_exp_avg_sq
    denom = second.sqrt() / bias_correction2_sqrt + eps
    return param.addcdiv(exp_avg, denom, value=-step_size), exp_avg, exp_avg_sq, max_exp_avg_sq

def rmsprop(param, grad, square_avg, grad_avg: Optional[Tensor], momentum_buffer: Optional[Tensor], lr: float,
            alpha: float, eps: float, weight_decay: Optional[float], momentum: float, maximize: bool):
    if maximize:
        grad = -grad
    if weight_decay is not None:
        grad = grad.add(param, alpha=weight_decay)
    square_avg = (square_avg * alpha).addcmul(grad, grad, value=1.0 - alpha)
    avg = square_avg
    if grad_avg is not None:
        grad_avg = torch.lerp(grad_avg, grad, 1.0 - alpha)
        avg = square_avg.addcmul(grad_avg, grad_avg, value=-1.0)
    avg = avg.sqrt() + eps
    if momentum_buffer is not None:
        momentum_buffer = (momentum_buffer * momentum).addcdiv(grad, avg)
        param = param.add(momentum_buffer, alpha=-lr)
    else:
        param = param.addcdiv(grad, avg, value=-lr)
    return param, square_avg, grad_avg, momentum_buffer

def added(total, grad):
    return total + grad

def clip_grad_value(grad, clip_value: float):
    return grad.clamp(min=-clip_value, max=clip_value)

def norm(grad, norm_type: float):
    return torch.linalg_vector_norm(grad, norm_type)

def total_norm(norms: List[Tensor], norm_type: float):
    return torch.linalg_vector_norm(torch.stack(norms), norm_type)

def clip_coefficient(total_norm, max_norm: float):
    return torch.clamp(max_norm / (total_norm + 1e-6), max=1.0)

def scaled(grad, coefficient):
    return grad * coefficient

def with_norm(loss, norm):
    return torch.stack([loss.detach().view([]), norm.to(loss.dtype)])
`;

let compiled: CompilationUnit | undefined;

/** The functions of optimisers and of what is done with gradients before them. */
export const optimizerUnit = (): CompilationUnit => (compiled ??= compileTexts(TEXTS, '<torch.optim>'));
