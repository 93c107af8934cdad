import { forOverloads, type DerivativeTable } from './derivative.ts';

/** A loss of elements, reduced as losses are: 1 averages, 2 adds up. */
const reduced = (lines: string): string => `${lines}
if reduction == 1:
    return torch.mean(loss)
return torch.sum(loss) if reduction == 2 else loss`;

const classes = {
  self: 'class_loss_slope(grad, self, target, weight, reduction, ignore_index)',
  '~': 'self',
};

/** The negative logarithm of the sum over all alignments, for each sequence of a batch. */
const alignment = (lengths: string, labelLengths: string): string => `
steps = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
lengths = ${lengths}
label_lengths = ${labelLengths}
losses: List[Tensor] = []
begin = 0
for at in range(steps.size(1)):
    count = label_lengths[at]
    if targets.dim() == 1:
        labels = torch.narrow(targets, 0, begin, count)
        begin += count
    else:
        labels = torch.narrow(targets[at], 0, 0, count)
    loss = alignment_loss(torch.narrow(steps[:, at], 0, 0, lengths[at]), labels, blank)
    if zero_infinity:
        loss = torch.where(torch.isinf(loss), torch.zeros_like(loss), loss)
    if reduction == 1:
        loss = loss / max(count, 1)
    losses.append(loss)
all = torch.stack(losses, 0)
if reduction == 1:
    return torch.mean(all)
if reduction == 2:
    return torch.sum(all)
return all if log_probs.dim() == 3 else all.reshape([])`;

/** Losses that are computed in one go; those said in terms of others have the derivatives of these. */
export const lossDerivatives: DerivativeTable = {
  ...forOverloads('nll_loss nll_loss2d nll_loss_nd nll_loss_forward nll_loss2d_forward', classes),
  mse_loss: {
    self: 'torch.mse_loss_backward(grad, self, target, reduction)',
    target: '-torch.mse_loss_backward(grad, self, target, reduction)',
  },
  smooth_l1_loss: {
    self: 'torch.smooth_l1_loss_backward(grad, self, target, reduction, beta)',
    target: 'torch.smooth_l1_loss_backward(grad, target, self, reduction, beta)',
  },
  huber_loss: {
    self: 'torch.huber_loss_backward(grad, self, target, reduction, delta)',
    target: 'torch.huber_loss_backward(grad, target, self, reduction, delta)',
  },
  soft_margin_loss: { self: 'torch.soft_margin_loss_backward(grad, self, target, reduction)' },
  binary_cross_entropy: {
    self: 'torch.binary_cross_entropy_backward(grad, self, target, weight, reduction)',
    target: `
slope = grad * (torch.log(1. - self) - torch.log(self))
if weight is not None:
    slope = slope * weight
return slope / self.numel() if reduction == 1 else slope`,
  },
  multi_margin_loss: {
    '=': reduced(`
given = self.reshape([1, -1]) if self.dim() < 2 else self
labels = target.reshape([-1, 1])
margins = torch.clamp_min(given - torch.gather(given, 1, labels) + margin, 0)
margins = torch.pow(margins, p) if p != 1 else margins
if weight is not None:
    margins = margins * torch.index_select(weight, 0, labels.reshape([-1])).unsqueeze(1)
loss = torch.sum(torch.scatter(margins, 1, labels, 0), [1]) / given.size(1)
if self.dim() < 2:
    loss = loss.reshape([])`),
  },
  ...forOverloads('multilabel_margin_loss', {
    '=': reduced(`
loss = multilabel_margins(self, target)`),
  }),
  multilabel_margin_loss_forward: {
    '=': `
loss = multilabel_margins(self, target)
hits = torch.zeros_like(self)
if reduction == 1:
    loss = torch.mean(loss)
elif reduction == 2:
    loss = torch.sum(loss)
return loss, hits`,
  },
  'ctc_loss.IntList': { '=': alignment('input_lengths', 'target_lengths') },
  'ctc_loss.Tensor': { '=': alignment('lengths_in(input_lengths)', 'lengths_in(target_lengths)') },
};
