/** Attention with several heads of `torch.nn.functional`. */
export const ATTENTION = `
def _none_or_dtype(input: Optional[Tensor]) -> Optional[int]:
    if input is None:
        return None
    return input.dtype

def _canonical_mask(mask: Optional[Tensor], mask_name: str, other_type: Optional[int], other_name: str, target_type: int, check_other: bool = True) -> Optional[Tensor]:
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    if not is_float and mask.dtype != torch.bool:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None:
        if mask.dtype != other_type:
            warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if is_float:
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))

def _mha_shape_check(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor], attn_mask: Optional[Tensor], num_heads: int) -> bool:
    rank = query.dim()
    if rank != 2 and rank != 3:
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    kind = "batched" if rank == 3 else "unbatched"
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(f"For {kind} ({rank}-D) \`query\`, expected \`key\` and \`value\` to be {rank}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if key_padding_mask is not None:
        if key_padding_mask.dim() != rank - 1:
            raise AssertionError(f"For {kind} ({rank}-D) \`query\`, expected \`key_padding_mask\` to be \`None\` or {rank - 1}-D but found {key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None:
        if attn_mask.dim() != 2 and attn_mask.dim() != 3:
            raise AssertionError(f"For {kind} ({rank}-D) \`query\`, expected \`attn_mask\` to be \`None\`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
        if rank == 2 and attn_mask.dim() == 3:
            expected = [num_heads, query.size(0), key.size(0)]
            if attn_mask.size() != expected:
                raise AssertionError(f"Expected \`attn_mask\` shape to be {(num_heads, query.size(0), key.size(0))} but got {attn_mask.shape}")
    return rank == 3

def _in_projection(q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Optional[Tensor] = None, b_k: Optional[Tensor] = None, b_v: Optional[Tensor] = None) -> Tuple[Tensor, Tensor, Tensor]:
    width = q.size(-1)
    names = ["query", "key", "value"]
    sizes = [width, k.size(-1), v.size(-1)]
    for i, weight in enumerate([w_q, w_k, w_v]):
        if weight.size() != [width, sizes[i]]:
            raise AssertionError(f"expecting {names[i]} weights shape of {(width, sizes[i])}, but got {weight.shape}")
    for i, bias in enumerate(torch.jit.annotate(List[Optional[Tensor]], [b_q, b_k, b_v])):
        if bias is not None:
            if bias.size() != [width]:
                raise AssertionError(f"expecting {names[i]} bias shape of {(width,)}, but got {bias.shape}")
    return torch._C._nn.linear(q, w_q, b_q), torch._C._nn.linear(k, w_k, b_k), torch._C._nn.linear(v, w_v, b_v)

def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Optional[Tensor] = None) -> List[Tensor]:
    weights = w.chunk(3)
    b_q = torch.jit.annotate(Optional[Tensor], None)
    b_k = torch.jit.annotate(Optional[Tensor], None)
    b_v = torch.jit.annotate(Optional[Tensor], None)
    if b is not None:
        biases = b.chunk(3)
        b_q = biases[0]
        b_k = biases[1]
        b_v = biases[2]
    return [torch._C._nn.linear(q, weights[0], b_q), torch._C._nn.linear(k, weights[1], b_k), torch._C._nn.linear(v, weights[2], b_v)]

def _check_static(given: Tensor, name: str, rows: int, width: int) -> None:
    assert given.size(0) == rows, f"expecting {name}.size(0) of {rows}, but got {given.size(0)}"
    assert given.size(2) == width, f"expecting {name}.size(2) of {width}, but got {given.size(2)}"

def _extend_mask(mask: Optional[Tensor]) -> Optional[Tensor]:
    if mask is None:
        return None
    return torch.pad(mask, [0, 1])

def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Optional[Tensor], in_proj_bias: Optional[Tensor], bias_k: Optional[Tensor], bias_v: Optional[Tensor], add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Optional[Tensor], training: bool = True, key_padding_mask: Optional[Tensor] = None, need_weights: bool = True, attn_mask: Optional[Tensor] = None, use_separate_proj_weight: bool = False, q_proj_weight: Optional[Tensor] = None, k_proj_weight: Optional[Tensor] = None, v_proj_weight: Optional[Tensor] = None, static_k: Optional[Tensor] = None, static_v: Optional[Tensor] = None, average_attn_weights: bool = True, is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query = query.unsqueeze(1)
        key = key.unsqueeze(1)
        value = value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length = query.size(0)
    batch = query.size(1)
    width = query.size(2)
    span = key.size(0)
    padding = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method \`generate_square_subsequent_mask\` to create this mask.")
    mask = torch.jit.annotate(Optional[Tensor], None)
    if is_causal and padding is None and not need_weights:
        mask = None
    else:
        mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        if padding is not None:
            is_causal = False
    assert width == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
    head_size = width // num_heads
    assert head_size * num_heads == width, f"embed_dim {width} not divisible by num_heads {num_heads}"
    if use_separate_proj_weight:
        assert key.shape[:2] == value.shape[:2], f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
    else:
        assert key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}"
    if use_separate_proj_weight:
        assert q_proj_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None"
        assert k_proj_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None"
        assert v_proj_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None"
        if in_proj_bias is None:
            q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight)
        else:
            b_q, b_k, b_v = in_proj_bias.chunk(3)
            q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, b_q, b_k, b_v)
    else:
        assert in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None"
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    if mask is not None:
        if mask.dim() == 2:
            if mask.size() != [length, span]:
                raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(length, span)}.")
            mask = mask.unsqueeze(0)
        elif mask.dim() == 3:
            if mask.size() != [batch * num_heads, length, span]:
                raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {(batch * num_heads, length, span)}.")
        else:
            raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if bias_k is not None and bias_v is not None:
        assert static_k is None, "bias cannot be added to static key."
        assert static_v is None, "bias cannot be added to static value."
        k = torch.cat([k, bias_k.repeat(1, batch, 1)])
        v = torch.cat([v, bias_v.repeat(1, batch, 1)])
        mask = _extend_mask(mask)
        padding = _extend_mask(padding)
    else:
        assert bias_k is None, "bias_k is set but bias_v is None"
        assert bias_v is None, "bias_v is set but bias_k is None"
    q = q.view(length, batch * num_heads, head_size).transpose(0, 1)
    if static_k is None:
        k = k.view(k.size(0), batch * num_heads, head_size).transpose(0, 1)
    else:
        _check_static(static_k, "static_k", batch * num_heads, head_size)
        k = static_k
    if static_v is None:
        v = v.view(v.size(0), batch * num_heads, head_size).transpose(0, 1)
    else:
        _check_static(static_v, "static_v", batch * num_heads, head_size)
        v = static_v
    if add_zero_attn:
        nothing = torch.zeros([batch * num_heads, 1, head_size], dtype=k.dtype, device=k.device)
        k = torch.cat([k, nothing], dim=1)
        v = torch.cat([v, nothing], dim=1)
        mask = _extend_mask(mask)
        padding = _extend_mask(padding)
    span = k.size(1)
    if padding is not None:
        spread = padding.view(batch, 1, 1, span).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, span)
        if mask is None:
            mask = spread
        else:
            mask = mask + spread
    dropped = 0.0
    if training:
        dropped = dropout_p
    if need_weights:
        scaled = q * (1.0 / float(head_size)) ** 0.5
        if mask is None:
            assert not is_causal, "FIXME: is_causal not implemented for need_weights"
            scores = torch.bmm(scaled, k.transpose(-2, -1))
        else:
            scores = torch.baddbmm(mask, scaled, k.transpose(-2, -1))
        probabilities = torch.softmax(scores, -1)
        if dropped > 0.0:
            probabilities = torch.dropout(probabilities, dropped, True)
        output = torch.bmm(probabilities, v).transpose(0, 1).contiguous().view(length * batch, width)
        output = torch._C._nn.linear(output, out_proj_weight, out_proj_bias).view(length, batch, width)
        probabilities = probabilities.view(batch, num_heads, length, span)
        if average_attn_weights:
            probabilities = probabilities.mean(dim=1)
        if not batched:
            return output.squeeze(1), probabilities.squeeze(0)
        return output, probabilities
    heads = torch.jit.annotate(Optional[Tensor], None)
    if mask is not None:
        if mask.size(0) == 1 and mask.dim() == 3:
            heads = mask.unsqueeze(0)
        else:
            heads = mask.view(batch, num_heads, -1, span)
    q = q.view(batch, num_heads, length, head_size)
    k = k.view(batch, num_heads, span, head_size)
    v = v.view(batch, num_heads, span, head_size)
    joined = torch._C._nn.scaled_dot_product_attention(q, k, v, heads, dropped, is_causal)
    output = joined.permute(2, 0, 1, 3).contiguous().view(length * batch, width)
    output = torch._C._nn.linear(output, out_proj_weight, out_proj_bias).view(length, batch, width)
    if not batched:
        output = output.squeeze(1)
    return output, None
`;
