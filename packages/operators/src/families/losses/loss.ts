import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** Losses of elements against elements (ATen/native/Loss.cpp), in terms of pointwise operators. */

/**
 * Appended to each text. `reduce`: 0 keeps every element's loss, 1 averages, 2 sums. `within`: a loss that PyTorch works out in memory made for one of its arguments has
 * that one's dtype and sizes, or is refused as an operator in place is. `distance_of`: the kernels of losses take truths for numbers, which a
 * subtraction does not.
 */
const shared = `
def reduce(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return loss.mean()
    if reduction == 2:
        return loss.sum()
    return loss

def distance_of(self: Tensor, target: Tensor) -> Tensor:
    if self.dtype == 11:
        return self.to(target.dtype) - target
    if target.dtype == 11:
        return self - target.to(self.dtype)
    return self - target

def within(loss: Tensor, memory: Tensor) -> Tensor:
    if loss.dtype == memory.dtype and loss.size() == memory.size():
        return loss
    return torch.zeros_like(memory).add_(loss)
`;

/** A line that refuses what a kernel for floating-point numbers refuses. */
const floating = (kernel: string): string =>
  `assert (self.is_floating_point() or target.is_floating_point()) and not (self.is_complex() or target.is_complex()), f"\\"${kernel}\\" not implemented for '{ops.prim.dtype_name(self, target)}'"`;

const TWO_BOOLS =
  'Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.';

const loss = (schema: string, text: string, out = false): OperatorRow => decomposed(schema, text + shared, { out });

export const lossRows: readonly OperatorRow[] = [
  loss(
    'aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor',
    `
def mse_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    ${floating('mse_cpu')}
    difference = distance_of(self, target)
    return reduce(difference * difference, reduction)
`,
    true,
  ),
  loss(
    'aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor',
    `
def l1_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return reduce(torch.abs(self - target), reduction)
`,
  ),
  loss(
    'aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor',
    `
def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    assert beta >= 0, "smooth_l1_loss does not support negative values for beta."
    if beta == 0:
        return reduce(torch.abs(self - target), reduction)
    ${floating('smooth_l1_cpu')}
    distance = torch.abs(distance_of(self, target))
    return reduce(torch.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta), reduction)
`,
    true,
  ),
  loss(
    'aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor',
    `
def huber_loss(self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    assert delta > 0, "huber_loss does not support non-positive values for delta."
    ${floating('huber_cpu')}
    distance = torch.abs(distance_of(self, target))
    loss = torch.where(distance < delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))
    if loss.dtype != self.dtype:
        loss = torch.zeros_like(loss, dtype=self.dtype).add_(loss)
    return reduce(loss, reduction)
`,
    true,
  ),
  loss(
    'aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor',
    `
def kl_div(self: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    assert not (self.is_complex() or target.is_complex()), "kl_div: Complex inputs not supported."
    assert self.is_floating_point() and target.is_floating_point(), "kl_div: Integral inputs not supported."
    if log_target:
        return reduce(torch.exp(target) * (target - self), reduction)
    return reduce(torch.xlogy(target, target) - target * self, reduction)
`,
  ),
  loss(
    'aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor',
    `
def binary_cross_entropy(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int) -> Tensor:
    assert self.dtype == target.dtype, f"Found dtype {ops.prim.dtype_name(target, target)} but expected {ops.prim.dtype_name(self, self)}"
    ${floating('binary_cross_entropy')}
    fits = (self >= 0) & (self <= 1)
    aims = (target >= 0) & (target <= 1)
    if not bool(torch.all(fits & aims)):
        first = int(torch.argmin((fits & aims) * 1))
        assert bool(fits.flatten()[first]), "all elements of input should be between 0 and 1"
        assert False, "all elements of target should be between 0 and 1"
    loss = (target - 1) * torch.clamp_min(torch.log1p(-self), -100) - target * torch.clamp_min(torch.log(self), -100)
    if weight is not None:
        loss = within(loss * weight, self)
    return reduce(loss, reduction)
`,
    true,
  ),
  loss(
    'aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor',
    `
def binary_cross_entropy_with_logits(self: Tensor, target: Tensor, weight: Optional[Tensor],
                                     pos_weight: Optional[Tensor], reduction: int) -> Tensor:
    log_sigmoid = torch.log_sigmoid(self)
    if pos_weight is not None:
        log_sigmoid = log_sigmoid * ((pos_weight - 1) * target + 1)
    assert target.dtype != 11, "${TWO_BOOLS}"
    loss = (1 - target) * self - log_sigmoid
    if weight is not None:
        loss = loss * weight
    return reduce(within(loss, target), reduction)
`,
    true,
  ),
  loss(
    'aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor',
    `
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    if log_input:
        loss = torch.exp(input) - target * input
    else:
        loss = input - target * torch.log(input + eps)
    if full:
        stirling = target * torch.log(target) - target + 0.5 * torch.log(6.283185307179586 * target)
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce(loss, reduction)
`,
  ),
  loss(
    'aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor',
    `
def soft_margin_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return reduce(within(torch.log1p(torch.exp(-self * target)), self), reduction)
`,
    true,
  ),
  loss(
    'aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor',
    `
def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    assert self.dtype != 11, "${TWO_BOOLS}"
    zeros = torch.zeros_like(self)
    least = torch.full_like(self, margin)
    beyond = torch.where(target != 1, torch.clamp_min(least - self, 0), zeros)
    return reduce(beyond + torch.where(target != -1, self, zeros), reduction)
`,
  ),
  loss(
    'aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor',
    `
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    assert input1.dim() == input2.dim() and input1.dim() == target.dim(), f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
    difference = input1 - input2
    return reduce(torch.clamp_min(-target * difference + margin, 0), reduction)
`,
  ),
  loss(
    'aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor',
    `
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    assert target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported"
    if target.dim() == 1:
        assert input1.dim() == 2 and input2.dim() == 2, f"1D target tensor expects 2D input tensors, but found inputs with sizes {input1.size()} and {input2.size()}."
    else:
        assert input1.dim() == 1 and input2.dim() == 1, f"0D target tensor expects 1D input tensors, but found inputs with sizes {input1.size()} and {input2.size()}."
    dim = target.dim()
    product = (input1 * input2).sum([dim])
    lengths = ((input1 * input1).sum([dim]) + 1e-12) * ((input2 * input2).sum([dim]) + 1e-12)
    cosine = product / torch.sqrt(lengths)
    zeros = torch.zeros_like(cosine)
    alike = torch.where(target == 1, 1 - cosine, zeros)
    return reduce(alike + torch.where(target == -1, torch.clamp_min(cosine - margin, 0), zeros), reduction)
`,
  ),
  loss(
    'aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor',
    `
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float,
                        swap: bool, reduction: int) -> Tensor:
    assert anchor.dim() == positive.dim() and anchor.dim() == negative.dim(), f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
    near = torch.pairwise_distance(anchor, positive, p, eps)
    far = torch.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, torch.pairwise_distance(positive, negative, p, eps))
    return reduce(torch.clamp_min(margin + near - far, 0), reduction)
`,
  ),
];
