import type { OperatorRow } from './row.ts';

/**
 * Operators of the extra families that stand in training branches of saved models. The core edition knows their schemas, so
 * that such programs compile; running one says where it is to be had.
 */
export const extraDeclarations: readonly OperatorRow[] = [
  'aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor',
  'aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor',
  'aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor',
  'aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor',
  'aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor',
  'aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor',
  'aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor',
  'aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor',
  'aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor',
  'aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor',
  'aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor',
  'aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor',
].map((schema) => ({ schema, inFullEdition: true }));
