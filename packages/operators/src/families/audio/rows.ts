import { declared } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';
import { forcedAlignRows } from './forced-align.ts';
import { recursiveFilterRows } from './recursive-filters.ts';

/** The operators that torchaudio registers, in its own namespace. That of training is known to the compiler only. */
export const audioRows: readonly OperatorRow[] = [
  ...recursiveFilterRows,
  ...forcedAlignRows,
  declared(
    'torchaudio::rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, bool fused_log_softmax) -> (Tensor, Tensor)',
  ),
];
