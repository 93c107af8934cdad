import { kept, layer, refusals } from './layer-text.ts';
import { parametersOf } from './parameters.ts';

const ATTENTION_ARGUMENTS =
  'embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False, device=None, dtype=None';

/** Attention and transformers. PyTorch's fast paths, which give the same numbers, are left out. */
export const ATTENTION = layer('MultiheadAttention', ATTENTION_ARGUMENTS, undefined, {
  constants: ['batch_first'],
  fields: ['bias_k: Optional[Tensor]', 'bias_v: Optional[Tensor]'],
  checks: refusals([
    'min(embed_dim, num_heads) <= 0',
    "f'embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead'",
  ]),
  keeps: [
    'embed_dim',
    'kdim = embed_dim if kdim is None else kdim',
    'vdim = embed_dim if vdim is None else vdim',
    '_qkv_same_embed_dim = self.kdim == self.vdim == embed_dim',
    'num_heads',
    'dropout',
    'batch_first',
    'head_dim = embed_dim // num_heads',
  ],
  made: `${refusals(['embed_dim % num_heads', "'embed_dim must be divisible by num_heads'", 'AssertionError'])}        # One weight where all three inputs are as wide, else one for each.
        shared = {'in_proj_weight': 3 * embed_dim}
        apart = {'q_proj_weight': embed_dim, 'k_proj_weight': self.kdim, 'v_proj_weight': self.vdim}
        made, absent = (shared, apart) if self._qkv_same_embed_dim else (apart, shared)
        for name, size in made.items():
            sizes = (size, embed_dim) if made is shared else (embed_dim, size)
            self.register_parameter(name, Parameter(torch.empty(sizes, dtype=dtype)))
        for name in absent:
            self.register_parameter(name, None)
${parametersOf('bias', { in_proj_bias: '3 * embed_dim' })}        self.out_proj = nn.modules.linear.NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, dtype=dtype)
        for name in ('bias_k', 'bias_v'):
            setattr(self, name, Parameter(torch.empty((1, 1, embed_dim), dtype=dtype)) if add_bias_kv else None)
${kept('add_zero_attn')}        self._reset_parameters()
`,
  methods: `
    def _reset_parameters(self):
        for name, value in self.named_parameters(recurse=False):
            if name.endswith('_weight'):
                init.xavier_uniform_(value)
        for value in (self.in_proj_bias, self.out_proj.bias):
            if value is not None:
                value.zero_()
        for value in (self.bias_k, self.bias_v):
            if value is not None:
                init.xavier_normal_(value)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor] = None, need_weights: bool = True, attn_mask: Optional[Tensor] = None, average_attn_weights: bool = True, is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
        is_batched = query.dim() == 3
        key_padding_mask = F._canonical_mask(mask=key_padding_mask, mask_name='key_padding_mask', other_type=F._none_or_dtype(attn_mask), other_name='attn_mask', target_type=query.dtype)
        attn_mask = F._canonical_mask(mask=attn_mask, mask_name='attn_mask', other_type=None, other_name='', target_type=query.dtype, check_other=False)
        if self.batch_first and is_batched:
            query = query.transpose(1, 0)
            key = key.transpose(1, 0)
            value = value.transpose(1, 0)
        if not self._qkv_same_embed_dim:
            attn_output, attn_output_weights = F.multi_head_attention_forward(query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask, use_separate_proj_weight=True, q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal)
        else:
            attn_output, attn_output_weights = F.multi_head_attention_forward(query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask, average_attn_weights=average_attn_weights, is_causal=is_causal)
        if self.batch_first and is_batched:
            return attn_output.transpose(1, 0), attn_output_weights
        else:
            return attn_output, attn_output_weights
`,
});

const NORM = 'nn.LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype)';

const SIZES =
  'dim_feedforward: int = 2048, dropout: float = 0.1, activation=F.relu, layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device=None, dtype=None';

/** What both layers make, with one more normalization than they have kinds of attention. */
const blocks = (...attentions: readonly string[]): string => {
  const numbers = [...attentions, 'linear'].map((_, at) => at + 1);
  const linear = (name: string, from: string, to: string) =>
    `${name} = nn.Linear(${from}, ${to}, bias=bias, dtype=dtype)`;
  return kept(
    ...attentions.map(
      (name) => `${name} = nn.MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype)`,
    ),
    linear('linear1', 'd_model', 'dim_feedforward'),
    'dropout = nn.Dropout(dropout)',
    linear('linear2', 'dim_feedforward', 'd_model'),
    'norm_first',
    ...numbers.map((at) => `norm${at} = ${NORM}`),
    ...numbers.map((at) => `dropout${at} = nn.Dropout(dropout)`),
    'activation = _get_activation_fn(activation) if isinstance(activation, str) else activation',
  );
};

/** A layer of a transformer: it keeps what it makes alone. */
const block = (name: string, attentions: readonly string[], methods: string): string =>
  layer(name, `d_model: int, nhead: int, ${SIZES}`, undefined, {
    constants: ['norm_first'],
    keeps: [],
    made: blocks(...attentions),
    methods,
  });

/** So many layers like one. @param kind the argument that is that one */
const stack = (name: string, kind: string, others: string, keeps: readonly string[], methods: string): string =>
  layer(name, `${kind}, num_layers: int, norm=None${others}`, undefined, {
    constants: ['norm'],
    keeps: [`layers = _get_clones(${kind}, num_layers)`, 'num_layers = num_layers', 'norm', ...keeps],
    methods,
  });

const DECODED =
  'tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None, tgt_key_padding_mask: Optional[Tensor] = None, memory_key_padding_mask: Optional[Tensor] = None';

const SELF_ATTENTION = `
    def _sa_block(self, x: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor], is_causal: bool = False) -> Tensor:
        x = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal)[0]
        return self.dropout1(x)
`;

const feedForward = (dropout: string): string => `
    def _ff_block(self, x: Tensor) -> Tensor:
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return self.${dropout}(x)
`;

export const TRANSFORMER = `
import copy

def _get_clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for at in range(N)])

def _get_activation_fn(activation):
    functions = {'relu': F.relu, 'gelu': F.gelu}
    if activation not in functions:
        raise RuntimeError(f'activation should be relu/gelu, not {activation}')
    return functions[activation]

def _generate_square_subsequent_mask(sz: int, device: Optional[torch.device] = None, dtype: Optional[torch.dtype] = None) -> Tensor:
    return torch.triu(torch.full((sz, sz), float('-inf'), dtype=dtype, device=device), diagonal=1)

def _get_seq_len(src: Tensor, batch_first: bool) -> Optional[int]:
    src_size = src.size()
    if len(src_size) == 2:
        return src_size[0]
    else:
        seq_len_pos = 1 if batch_first else 0
        return src_size[seq_len_pos]

def _detect_is_causal_mask(mask: Optional[Tensor], is_causal: Optional[bool] = None, size: Optional[int] = None) -> bool:
    make_causal = is_causal is True
    if is_causal is None and mask is not None:
        sz = size if size is not None else mask.size(-2)
        causal_comparison = _generate_square_subsequent_mask(sz, device=mask.device, dtype=mask.dtype)
        if mask.size() == causal_comparison.size():
            make_causal = bool((mask == causal_comparison).all())
        else:
            make_causal = False
    return make_causal
${block(
  'TransformerEncoderLayer',
  ['self_attn'],
  `
    def forward(self, src: Tensor, src_mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: bool = False) -> Tensor:
        src_key_padding_mask = F._canonical_mask(mask=src_key_padding_mask, mask_name='src_key_padding_mask', other_type=F._none_or_dtype(src_mask), other_name='src_mask', target_type=src.dtype)
        src_mask = F._canonical_mask(mask=src_mask, mask_name='src_mask', other_type=None, other_name='', target_type=src.dtype, check_other=False)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal=is_causal)
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal))
            x = self.norm2(x + self._ff_block(x))
        return x
${SELF_ATTENTION}${feedForward('dropout2')}
`,
)}
${block(
  'TransformerDecoderLayer',
  ['self_attn', 'multihead_attn'],
  `
    def forward(self, tgt: Tensor, memory: Tensor, ${DECODED}, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            x = x + self._mha_block(self.norm2(x), memory, memory_mask, memory_key_padding_mask, memory_is_causal)
            x = x + self._ff_block(self.norm3(x))
        else:
            x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
            x = self.norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal))
            x = self.norm3(x + self._ff_block(x))
        return x
${SELF_ATTENTION}
    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor], is_causal: bool = False) -> Tensor:
        x = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False)[0]
        return self.dropout2(x)
${feedForward('dropout3')}
`,
)}
${stack(
  'TransformerEncoder',
  'encoder_layer',
  ', enable_nested_tensor: bool = True, mask_check: bool = True',
  ['mask_check = mask_check'],
  `
    def forward(self, src: Tensor, mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: Optional[bool] = None) -> Tensor:
        src_key_padding_mask = F._canonical_mask(mask=src_key_padding_mask, mask_name='src_key_padding_mask', other_type=F._none_or_dtype(mask), other_name='mask', target_type=src.dtype)
        mask = F._canonical_mask(mask=mask, mask_name='mask', other_type=None, other_name='', target_type=src.dtype, check_other=False)
        output = src
        batch_first = self.layers[0].self_attn.batch_first
        seq_len = _get_seq_len(src, batch_first)
        is_causal = _detect_is_causal_mask(mask, is_causal, seq_len)
        for mod in self.layers:
            output = mod(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=src_key_padding_mask)
        if self.norm is not None:
            output = self.norm(output)
        return output
`,
)}
${stack(
  'TransformerDecoder',
  'decoder_layer',
  '',
  [],
  `
    def forward(self, tgt: Tensor, memory: Tensor, ${DECODED}, tgt_is_causal: Optional[bool] = None, memory_is_causal: bool = False) -> Tensor:
        output = tgt
        seq_len = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        tgt_is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, seq_len)
        for mod in self.layers:
            output = mod(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
        if self.norm is not None:
            output = self.norm(output)
        return output
`,
)}
class Transformer(Module):
    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1, activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps: float = 1e-05, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device=None, dtype=None):
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
${['encoder', 'decoder']
  .map((kind) => {
    const name = `Transformer${kind[0]!.toUpperCase()}${kind.slice(1)}`;
    return kept(
      `${kind} = ${name}(${name}Layer(*sizes), num_${kind}_layers, ${NORM}) if custom_${kind} is None else custom_${kind}`,
    );
  })
  .join('')}        self._reset_parameters()
${kept('d_model', 'nhead', 'batch_first')}
    def forward(self, src: Tensor, tgt: Tensor, src_mask: Optional[Tensor] = None, tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, tgt_key_padding_mask: Optional[Tensor] = None, memory_key_padding_mask: Optional[Tensor] = None, src_is_causal: Optional[bool] = None, tgt_is_causal: Optional[bool] = None, memory_is_causal: bool = False) -> Tensor:
        is_batched = src.dim() == 3
        if not self.batch_first and src.size(1) != tgt.size(1) and is_batched:
            raise RuntimeError('the batch number of src and tgt must be equal')
        elif self.batch_first and src.size(0) != tgt.size(0) and is_batched:
            raise RuntimeError('the batch number of src and tgt must be equal')
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError('the feature number of src and tgt must be equal to d_model')
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        output = self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
        return output

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Optional[torch.device] = None, dtype: Optional[torch.dtype] = None) -> Tensor:
        return _generate_square_subsequent_mask(sz, dtype=dtype, device=device)

    def _reset_parameters(self):
        for value in self.parameters():
            if len(value.shape) > 1:
                init.xavier_uniform_(value)
`;

/** Stubs of quantisation, which compute nothing before a module is quantised. */
const stub = (name: string): string =>
  layer(name, 'qconfig=None', 'x', { inputs: 'x: Tensor', constants: [], keeps: [] });

export const STUBS = `${stub('QuantStub')}${stub('DeQuantStub')}${layer('QuantWrapper', 'module', undefined, {
  constants: [],
  keeps: ['quant = QuantStub()', 'dequant = DeQuantStub()', 'module'],
  made: '        self.train(module.training)\n',
  methods: `
    def forward(self, X):
        X = self.quant(X)
        X = self.module(X)
        return self.dequant(X)
`,
})}`;
