import { forOverloads, type DerivativeTable } from './derivative.ts';

const attention = `
width = float(query.size(-1))
factor = width ** -0.5
if scale is not None:
    factor = scale
keys = key
values = value
if enable_gqa:
    keys = torch.repeat_interleave(key, query.size(-3) // key.size(-3), -3)
    values = torch.repeat_interleave(value, query.size(-3) // value.size(-3), -3)
scores = torch.matmul(query, torch.transpose(keys, -2, -1)) * factor
if is_causal:
    later = torch.triu(torch.ones([query.size(-2), key.size(-2)], dtype=11), 1)
    scores = torch.masked_fill(scores, later, -float("inf"))
if attn_mask is not None:
    if attn_mask.dtype == 11:
        scores = torch.masked_fill(scores, torch.logical_not(attn_mask), -float("inf"))
    else:
        scores = scores + attn_mask
weights = torch.softmax(scores, -1)
if attn_mask is not None:
    weights = torch.masked_fill(weights, scores == -float("inf"), 0)
`;

const step = (name: string): string => `
rows = torch.linear(input, w_ih, b_ih)
return ${name}_step(rows, torch.linear(hx, w_hh, b_hh), hx)`;

const layers = (cell: string): DerivativeTable => ({
  [`${cell}.input`]: {
    '=': `
steps = torch.transpose(input, 0, 1) if batch_first else input
states: List[Tensor] = []
sizes = [steps.size(1)] * steps.size(0)
flat = steps.reshape([-1, steps.size(2)])
result, hidden, cells = recurrent_layers(flat, sizes, ${cell === 'lstm' ? 'hx[0], hx[1]' : 'hx, hx'}, params, has_biases, num_layers, dropout, train, bidirectional, "${cell}")
result = result.reshape([steps.size(0), steps.size(1), -1])
if batch_first:
    result = torch.transpose(result, 0, 1)
return result, hidden${cell === 'lstm' ? ', cells' : ''}`,
  },
  [`${cell}.data`]: {
    '=': `
sizes: List[int] = []
for at in range(batch_sizes.size(0)):
    sizes.append(int(batch_sizes[at]))
result, hidden, cells = recurrent_layers(data, sizes, ${cell === 'lstm' ? 'hx[0], hx[1]' : 'hx, hx'}, params, has_biases, num_layers, dropout, train, bidirectional, "${cell}")
return result, hidden${cell === 'lstm' ? ', cells' : ''}`,
  },
});

/** Sequences: products by index names, attention, recurrences. */
export const sequenceDerivatives: DerivativeTable = {
  einsum: { tensors: 'product_slopes(grad, equation, tensors)' },
  scaled_dot_product_attention: {
    '=': `${attention}
if dropout_p > 0.:
    weights = torch.dropout(weights, dropout_p, True)
return torch.matmul(weights, values)`,
  },
  _scaled_dot_product_attention_math: {
    '=': `${attention}
if dropout_mask is not None:
    weights = torch.masked_fill(weights, dropout_mask, 0) * (1. / (1. - dropout_p))
elif dropout_p > 0.:
    weights = torch.dropout(weights, dropout_p, True)
return torch.matmul(weights, values), weights`,
  },
  gru_cell: { '=': step('gru') },
  rnn_tanh_cell: { '=': 'torch.tanh(torch.linear(input, w_ih, b_ih) + torch.linear(hx, w_hh, b_hh))' },
  rnn_relu_cell: { '=': 'torch.relu(torch.linear(input, w_ih, b_ih) + torch.linear(hx, w_hh, b_hh))' },
  lstm_cell: { '=': 'lstm_step(torch.linear(input, w_ih, b_ih) + torch.linear(hx[0], w_hh, b_hh), hx[1])' },
  ...layers('gru'),
  ...layers('lstm'),
  ...layers('rnn_tanh'),
  ...layers('rnn_relu'),
  ...forOverloads('special_softmax _safe_softmax', { self: 'softmax_slope(grad, result, dim)' }),
  special_log_softmax: { self: 'grad - torch.exp(result) * torch.sum(grad, [dim], True)' },
};
