/** Losses of `torch.nn.functional`. The two oldest arguments, which `reduction` has replaced, still count where they are given. */
const REDUCTION = 'size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean"';

const PICK_REDUCTION = `    if size_average is not None or reduce is not None:
        reduction_enum = torch.nn._reduction.legacy_get_enum(size_average, reduce)
    else:
        reduction_enum = torch.nn._reduction.get_enum(reduction)
`;

const PICK_NAME = `    if size_average is not None or reduce is not None:
        reduction = torch.nn._reduction.legacy_get_string(size_average, reduce)
`;

const WARN_OF_SIZES = `    if target.size() != input.size():
        warnings.warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=2)
`;

/** Two tensors, expanded to one shape. `rest` are statements over the two. */
const elementwise = (name: string, extra: string, rest: string): string => `
def ${name}(input: Tensor, target: Tensor, ${REDUCTION}${extra}) -> Tensor:
${WARN_OF_SIZES}${PICK_NAME}    expanded_input, expanded_target = torch.broadcast_tensors([input, target])
${rest}`;

/** What a loss with a weight for each element makes of `errors`: `mean` is what divides the sum. */
const weighted = (errors: string, mean: string): string => `        if weight.size() != input.size():
            raise ValueError("Weights and input must have the same size.")
        weighted_errors = ${errors} * weight
        if reduction == "none":
            return weighted_errors
        elif reduction == "sum":
            return torch.sum(weighted_errors)
        elif reduction == "mean":
            return ${mean}
        else:
            raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
`;

const WEIGHTED_MEAN = 'torch.sum(weighted_errors) / torch.sum(weight)';

/** Operators that take everything as it is. */
/** A call of the operator of that name, after `checks`. */
const direct = (name: string, params: string, call: string, checks = ''): string => `
def ${name}(${params}, ${REDUCTION}) -> Tensor:
${PICK_REDUCTION}${checks}    return ${call}
`;

/** Names of reductions as numbers (PyTorch: torch/nn/_reduction.py). */
export const REDUCTIONS = `
def get_enum(reduction: str) -> int:
    if reduction == "none":
        ret = 0
    elif reduction == "mean":
        ret = 1
    elif reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        ret = 1
    elif reduction == "sum":
        ret = 2
    else:
        ret = -1
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ret

def legacy_get_string(size_average: Optional[bool], reduce: Optional[bool], emit_warning: bool = True) -> str:
    warning = "size_average and reduce args will be deprecated, please use reduction='{}' instead."
    if size_average is None:
        size_average = True
    if reduce is None:
        reduce = True
    if size_average and reduce:
        ret = "mean"
    elif reduce:
        ret = "sum"
    else:
        ret = "none"
    if emit_warning:
        warnings.warn(warning.format(ret), stacklevel=2)
    return ret

def legacy_get_enum(size_average: Optional[bool], reduce: Optional[bool], emit_warning: bool = True) -> int:
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
`;

export const LOSSES = [
  elementwise(
    'l1_loss',
    ', weight: Optional[Tensor] = None',
    `    if weight is not None:
${weighted('torch.abs(expanded_input - expanded_target)', WEIGHTED_MEAN)}    else:
        return torch.l1_loss(expanded_input, expanded_target, torch.nn._reduction.get_enum(reduction))
`,
  ),
  elementwise(
    'mse_loss',
    ', weight: Optional[Tensor] = None',
    `    if weight is not None:
${weighted('torch.pow(expanded_input - expanded_target, 2)', WEIGHTED_MEAN)}    else:
        return torch.mse_loss(expanded_input, expanded_target, torch.nn._reduction.get_enum(reduction))
`,
  ),
  elementwise(
    'smooth_l1_loss',
    ', beta: float = 1.0',
    `    if beta == 0.0:
        return torch.l1_loss(expanded_input, expanded_target, torch.nn._reduction.get_enum(reduction))
    else:
        return torch.smooth_l1_loss(expanded_input, expanded_target, torch.nn._reduction.get_enum(reduction), beta)
`,
  ),
  `
def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
${PICK_NAME}    return torch.nll_loss_nd(input, target, weight, torch.nn._reduction.get_enum(reduction), ignore_index)

def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
${PICK_NAME}    return torch.cross_entropy_loss(input, target, weight, torch.nn._reduction.get_enum(reduction), ignore_index, label_smoothing)

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, ${REDUCTION}) -> Tensor:
${PICK_REDUCTION}    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand(torch._infer_size(target.size(), weight.size()))
    return torch.binary_cross_entropy(input, target, weight, reduction_enum)

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, ${REDUCTION}, pos_weight: Optional[Tensor] = None) -> Tensor:
${PICK_REDUCTION}    if not (target.size() == input.size()):
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction_enum)

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    return torch._VF.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, torch.nn._reduction.get_enum(reduction), zero_infinity)

def kl_div(input: Tensor, target: Tensor, ${REDUCTION}, log_target: bool = False) -> Tensor:
    if size_average is not None or reduce is not None:
        reduction_enum = torch.nn._reduction.legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the next major release.", stacklevel=2)
        if reduction == "batchmean":
            reduction_enum = torch.nn._reduction.get_enum("sum")
        else:
            reduction_enum = torch.nn._reduction.get_enum(reduction)
    reduced = torch.kl_div(input, target, reduction_enum, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        reduced = reduced / input.size()[0]
    return reduced

def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Optional[Tensor] = None) -> Tensor:
${WARN_OF_SIZES}    expanded_input, expanded_target = torch.broadcast_tensors([input, target])
    if weight is None:
        return torch.huber_loss(expanded_input, expanded_target, torch.nn._reduction.get_enum(reduction), delta)
    else:
${weighted('torch.huber_loss(expanded_input, expanded_target, torch.nn._reduction.get_enum("none"), delta)', 'weighted_errors.mean()')}
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Optional[bool] = None, eps: float = 1e-08, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
${PICK_NAME}    if reduction != "none" and reduction != "mean" and reduction != "sum":
        ret = input
        raise ValueError(reduction + " is not a valid value for reduction")
    ret = torch.poisson_nll_loss(input, target, log_input, full, eps, torch.nn._reduction.get_enum(reduction))
    return ret

def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Optional[Tensor] = None, ${REDUCTION}) -> Tensor:
${PICK_REDUCTION}    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None:
        if weight.dim() != 1:
            raise ValueError("weight must be one-dimensional")
    return torch.multi_margin_loss(input, target, p, margin, weight, reduction_enum)

def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, ${REDUCTION}) -> Tensor:
${PICK_NAME}    loss = -(target * torch.log_sigmoid(input) + (1 - target) * torch.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    loss = loss.sum(dim=class_dim) / input.size(class_dim)
    if reduction == "none":
        ret = loss
    elif reduction == "mean":
        ret = loss.mean()
    elif reduction == "sum":
        ret = loss.sum()
    else:
        ret = input
        raise ValueError(reduction + " is not valid")
    return ret
`,
  direct(
    'margin_ranking_loss',
    'input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0',
    'torch.margin_ranking_loss(input1, input2, target, margin, reduction_enum)',
    `    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} ")
`,
  ),
  direct(
    'hinge_embedding_loss',
    'input: Tensor, target: Tensor, margin: float = 1.0',
    'torch.hinge_embedding_loss(input, target, margin, reduction_enum)',
  ),
  direct(
    'multilabel_margin_loss',
    'input: Tensor, target: Tensor',
    'torch.multilabel_margin_loss(input, target, reduction_enum)',
  ),
  direct('soft_margin_loss', 'input: Tensor, target: Tensor', 'torch.soft_margin_loss(input, target, reduction_enum)'),
  direct(
    'cosine_embedding_loss',
    'input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0',
    'torch.cosine_embedding_loss(input1, input2, target, margin, reduction_enum)',
  ),
  direct(
    'triplet_margin_loss',
    'anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False',
    'torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction_enum)',
    `    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
`,
  ),
].join('');
