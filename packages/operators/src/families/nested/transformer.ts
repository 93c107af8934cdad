import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** Whole attention blocks of the transformer fast path (ATen/native/transformers), by what they are made of. */

const projections = 'Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias';

const multiHeadAttention = decomposed(
  `aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, ${projections}, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)`,
  `
def _native_multi_head_attention(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int,
                                 qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor,
                                 mask: Optional[Tensor], need_weights: bool, average_attn_weights: bool,
                                 mask_type: Optional[int]) -> Tuple[Tensor, Tensor]:
    batch = query.size(0)
    head_size = embed_dim // num_head
    weights = torch.chunk(qkv_weight, 3, 0)
    biases = torch.chunk(qkv_bias, 3, 0)
    q = torch.linear(query, weights[0], biases[0]).view([batch, query.size(1), num_head, head_size]).transpose(1, 2)
    k = torch.linear(key, weights[1], biases[1]).view([batch, key.size(1), num_head, head_size]).transpose(1, 2)
    v = torch.linear(value, weights[2], biases[2]).view([batch, key.size(1), num_head, head_size]).transpose(1, 2)
    bias: Optional[Tensor] = None
    if mask is not None:
        hidden = mask != 0
        if mask_type is not None:
            if mask_type == 1:
                hidden = hidden.view([batch, 1, 1, key.size(1)])
        bias = torch.zeros(hidden.size(), dtype=query.dtype).masked_fill(hidden, float("-inf"))
    if need_weights:
        output, probabilities = torch._scaled_dot_product_attention_math(q, k, v, bias)
        if average_attn_weights:
            probabilities = probabilities.mean([1])
    else:
        output = torch.scaled_dot_product_attention(q, k, v, bias)
        probabilities = torch.empty([0])
    joined = output.transpose(1, 2).reshape([batch, query.size(1), embed_dim])
    return torch.linear(joined, proj_weight, proj_bias), probabilities
`,
);

const encoderLayer = decomposed(
  `aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, ${projections}, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor`,
  `
def _transformer_encoder_layer_fwd(src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor,
                                   proj_weight: Tensor, proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float,
                                   norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor,
                                   ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor, ffn_bias_2: Tensor,
                                   mask: Optional[Tensor], mask_type: Optional[int]) -> Tensor:
    given = src
    hidden = mask
    kind = mask_type
    if src.is_nested:
        assert mask is None, "NestedTensor with mask is not supported yet"
        src = ops.cresset.nested_rows(given)
        hidden = ops.cresset.nested_counts(given) == 0
        kind = 1
    x = src
    if norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)
    x = torch._native_multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias,
                                           hidden, False, True, kind)[0]
    x = x + src
    if not norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)
    attended = x
    if norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)
    x = torch.linear(x, ffn_weight_1, ffn_bias_1)
    if use_gelu:
        x = torch.gelu(x)
    else:
        x = torch.relu(x)
    x = torch.linear(x, ffn_weight_2, ffn_bias_2) + attended
    if not norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)
    if given.is_nested:
        x = torch._nested_from_padded_and_nested_example(x, given)
    return x
`,
);

export const transformerRows: readonly OperatorRow[] = [multiHeadAttention, encoderLayer];
