import { layer, refusals } from './layer-text.ts';

/** Recurrent layers (PyTorch: torch/nn/modules/rnn.py). */

const sizes = 'input.size(0) if self.batch_first else input.size(1)';
const directions = '2 if self.bidirectional else 1';
const SETTINGS = 'self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional';

const zeros = (size: string): string =>
  `torch.zeros(self.num_layers * num_directions, max_batch_size, ${size}, dtype=input.dtype, device=input.device)`;

/** `forward` of tensors and of packed sequences: two methods of the program, with one body. @param state the type of what is handed on */
const forward = (state: string, body: string): string => `${['Tensor', 'PackedSequence']
  .map(
    (input) => `
    @torch._jit_internal._overload_method
    def forward(self, input: ${input}, hx: Optional[${state}] = None) -> Tuple[${input}, ${state}]:
        pass
`,
  )
  .join('')}
    def forward(self, input, hx=None):
        self._update_flat_weights()
        given = input
        num_directions = ${directions}
${body}        if isinstance(given, PackedSequence):
            output_packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return output_packed, self.permute_hidden(hidden, unsorted_indices)
        else:
            if not is_batched:
                output = output.squeeze(batch_dim)
                hidden = ${state === 'Tensor' ? 'hidden.squeeze(1)' : '(hidden[0].squeeze(1), hidden[1].squeeze(1))'}
            return output, self.permute_hidden(hidden, unsorted_indices)
`;

/** What it does first with a packed sequence. @param hx lines that make the state where none is given */
const packedStart = (hx: string): string => `        if isinstance(given, PackedSequence):
            input, batch_sizes, sorted_indices, unsorted_indices = input
            max_batch_size = batch_sizes[0]
            if hx is None:
${hx}            else:
                hx = self.permute_hidden(hx, sorted_indices)
        else:
            batch_sizes = None
            sorted_indices = None
            unsorted_indices = None
`;

const dimensions = (told: string): string => `            if input.dim() not in (2, 3):
                raise ValueError(f'${told} instead')
            is_batched = input.dim() == 3
            batch_dim = 0 if self.batch_first else 1
`;

const MADE = `                hx = ${zeros('self.hidden_size')}\n`;

/** `forward` of layers with one hidden state. @param run calls of operators, by what they are given */
const plain = (told: string, run: (given: string, settings: string) => string): string =>
  forward(
    'Tensor',
    `${packedStart(MADE)}${dimensions(told)}            if not is_batched:
                input = input.unsqueeze(batch_dim)
                if hx is not None:
                    if hx.dim() != 2:
                        raise RuntimeError(f'For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor')
                    hx = hx.unsqueeze(1)
            else:
                if hx is not None and hx.dim() != 3:
                    raise RuntimeError(f'For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor')
            max_batch_size = ${sizes}
            if hx is None:
${MADE}            else:
                hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(input, hx, batch_sizes)
        if batch_sizes is None:
${run('input, hx', `${SETTINGS}, self.batch_first`)}        else:
${run('input, batch_sizes, hx', SETTINGS)}        output = result[0]
        hidden = result[1]
`,
  );

const MADE_TWO = `                h_zeros = ${zeros('real_hidden_size')}
                c_zeros = ${zeros('self.hidden_size')}
                hx = (h_zeros, c_zeros)
`;

const misfit = (
  kind: string,
  dims: number,
): string => `                    if hx[0].dim() != ${dims} or hx[1].dim() != ${dims}:
                        msg = f'For ${kind} ${dims}-D input, hx and cx should also be ${dims}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors'
                        raise RuntimeError(msg)
`;

const LSTM_FORWARD = forward(
  'Tuple[Tensor, Tensor]',
  `        real_hidden_size = self.proj_size if self.proj_size > 0 else self.hidden_size
${packedStart(MADE_TWO)}${dimensions('LSTM: Expected input to be 2D or 3D, got {input.dim()}D')}            if not is_batched:
                input = input.unsqueeze(batch_dim)
            max_batch_size = ${sizes}
            if hx is None:
${MADE_TWO}                self.check_forward_args(input, hx, batch_sizes)
            else:
                if is_batched:
${misfit('batched', 3)}                else:
${misfit('unbatched', 2)}                    hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
                self.check_forward_args(input, hx, batch_sizes)
                hx = self.permute_hidden(hx, sorted_indices)
        if batch_sizes is None:
            result = torch._VF.lstm(input, hx, ${SETTINGS}, self.batch_first)
        else:
            result = torch._VF.lstm(input, batch_sizes, hx, ${SETTINGS})
        output = result[0]
        hidden = result[1:]
`,
);

const CELL_SIZES = 'input_size: int, hidden_size: int';
const CELL_CONSTANTS = ['input_size', 'hidden_size', 'bias'];

/** @param chunks how many times the hidden size the rows of a weight are @param nonlinearity its parameter, where it has one */
const cell = (name: string, chunks: number, forward: string, nonlinearity = ''): string =>
  layer(name, `${CELL_SIZES}, bias: bool = True, ${nonlinearity}device=None, dtype=None`, undefined, {
    base: 'RNNCellBase',
    handedOn: `input_size, hidden_size, bias, ${chunks}, device, dtype`,
    constants: nonlinearity === '' ? [] : [...CELL_CONSTANTS, 'nonlinearity'],
    keeps: nonlinearity === '' ? [] : ['nonlinearity'],
    methods: forward,
  });

const cellStart = (name: string): string => `
    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        if input.dim() not in (1, 2):
            raise ValueError(f'${name}: Expected input to be 1D or 2D, got {input.dim()}D instead')
        if hx is not None and hx.dim() not in (1, 2):
            raise ValueError(f'${name}: Expected hidden to be 1D or 2D, got {hx.dim()}D instead')
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        else:
            hx = hx.unsqueeze(0) if not is_batched else hx
`;

const CELL_END = `        if not is_batched:
            ret = ret.squeeze(0)
        return ret
`;

const WEIGHTS = 'self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh';

const isWhole = (name: string) =>
  [
    `not isinstance(${name}, int)`,
    `f'${name} should be of type int, got: {type(${name}).__name__}'`,
    'TypeError',
  ] as const;

const isPositive = (name: string) => [`${name} <= 0`, `'${name} must be greater than zero'`] as const;

const RESET = `
    def reset_parameters(self):
        limit = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0
        for value in self.parameters():
            init.uniform_(value, -limit, limit)
`;

const LAYER_SIZES =
  'num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0';
const KEPT = 'mode input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size'.split(' ');

const NO_PROJECTION = refusals([
  "'proj_size' in kwargs",
  "'proj_size argument is only supported for LSTM, not RNN or GRU'",
]);

export const RNN = `
from torch.nn.utils.rnn import PackedSequence

def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)
${layer('RNNBase', `mode: str, ${CELL_SIZES}, ${LAYER_SIZES}, device=None, dtype=None`, undefined, {
  constants: KEPT,
  keeps: KEPT.map((name) => (name === 'dropout' ? 'dropout = float(dropout)' : name)),
  made: `${refusals(
    [
      'isinstance(dropout, bool) or not 0 <= dropout <= 1',
      "'dropout should be a number in range [0, 1] representing the probability of an element being zeroed'",
    ],
    ...['input_size', 'hidden_size'].flatMap((name) => [isWhole(name), isPositive(name)]),
    isPositive('num_layers'),
    ['proj_size < 0', "'proj_size should be a positive integer or zero to disable projections'"],
    ['proj_size >= hidden_size', "'proj_size has to be smaller than hidden_size'"],
  )}        gates = {'RNN_TANH': 1, 'RNN_RELU': 1, 'GRU': 3, 'LSTM': 4}
        if mode not in gates:
            raise ValueError('Unrecognized RNN mode: ' + mode)
        rows = gates[mode] * hidden_size
        handed_on = proj_size or hidden_size
        ends = ['', '_reverse'] if bidirectional else ['']
        self._flat_weights_names = []
        self._all_weights = []
        for at in range(num_layers):
            for end in ends:
                shapes = {'weight_ih': (rows, handed_on * len(ends) if at else input_size), 'weight_hh': (rows, handed_on)}
                if bias:
                    shapes['bias_ih'] = shapes['bias_hh'] = (rows,)
                if proj_size:
                    shapes['weight_hr'] = (proj_size, hidden_size)
                self._all_weights.append([f'{kind}_l{at}{end}' for kind in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values()):
                    self.register_parameter(name, Parameter(torch.empty(shape, dtype=dtype)))
                self._flat_weights_names += self._all_weights[-1]
        self._init_flat_weights()
        self.reset_parameters()
`,
})}
    __jit_unused_properties__ = ['all_weights']

    def _init_flat_weights(self):
        self._flat_weights = [getattr(self, name) for name in self._flat_weights_names]

    def __setattr__(self, attr, value):
        for at, name in enumerate(self._flat_weights_names if hasattr(self, '_flat_weights') else []):
            if name == attr:
                self._flat_weights[at] = value
        super().__setattr__(attr, value)

    def _apply(self, fn, recurse=True):
        moved = super()._apply(fn, recurse)
        moved._init_flat_weights()
        return moved

    def flatten_parameters(self):
        pass

    def _update_flat_weights(self) -> None:
        if not torch.jit.is_scripting():
            self._init_flat_weights()

    def permute_hidden(self, hx: Tensor, permutation: Optional[Tensor]) -> Tensor:
        if permutation is None:
            return hx
        return _apply_permutation(hx, permutation)
${RESET}
    def check_input(self, input: Tensor, batch_sizes: Optional[Tensor]) -> None:
        expected_input_dim = 2 if batch_sizes is not None else 3
        if input.dim() != expected_input_dim:
            raise RuntimeError(f'input must have {expected_input_dim} dimensions, got {input.dim()}')
        if self.input_size != input.size(-1):
            raise RuntimeError(f'input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}')

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        if batch_sizes is not None:
            mini_batch = int(batch_sizes[0])
        else:
            mini_batch = ${sizes}
        num_directions = ${directions}
        if self.proj_size > 0:
            expected_hidden_size = (self.num_layers * num_directions, mini_batch, self.proj_size)
        else:
            expected_hidden_size = (self.num_layers * num_directions, mini_batch, self.hidden_size)
        return expected_hidden_size

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: Tuple[int, int, int], msg: str = 'Expected hidden size {}, got {}') -> None:
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Optional[Tensor]) -> None:
        self.check_input(input, batch_sizes)
        expected_hidden_size = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden, expected_hidden_size)

    @property
    def all_weights(self):
        return [[getattr(self, weight) for weight in weights] for weights in self._all_weights]

class RNN(RNNBase):
    def __init__(self, *args, **kwargs):
${NO_PROJECTION}        given = list(args)
        self.nonlinearity = given.pop(3) if len(given) > 3 else kwargs.pop('nonlinearity', 'tanh')
        if self.nonlinearity not in ('tanh', 'relu'):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__('RNN_' + self.nonlinearity.upper(), *given, **kwargs)
${plain(
  'RNN: Expected input to be 2D or 3D, got {input.dim()}D tensor',
  (given, settings) => `            if self.mode == 'RNN_TANH':
                result = torch._VF.rnn_tanh(${given}, ${settings})
            else:
                result = torch._VF.rnn_relu(${given}, ${settings})
`,
)}
class GRU(RNNBase):
    def __init__(self, *args, **kwargs):
${NO_PROJECTION}        super().__init__('GRU', *args, **kwargs)
${plain(
  'GRU: Expected input to be 2D or 3D, got {input.dim()}D',
  (given, settings) => `            result = torch._VF.gru(${given}, ${settings})\n`,
)}
class LSTM(RNNBase):
    def __init__(self, *args, **kwargs):
        super().__init__('LSTM', *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        if batch_sizes is not None:
            mini_batch = int(batch_sizes[0])
        else:
            mini_batch = ${sizes}
        num_directions = ${directions}
        expected_hidden_size = (self.num_layers * num_directions, mini_batch, self.hidden_size)
        return expected_hidden_size

    def check_forward_args(self, input: Tensor, hidden: Tuple[Tensor, Tensor], batch_sizes: Optional[Tensor]) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), 'Expected hidden[0] size {}, got {}')
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), 'Expected hidden[1] size {}, got {}')

    def permute_hidden(self, hx: Tuple[Tensor, Tensor], permutation: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        if permutation is None:
            return hx
        return _apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation)
${LSTM_FORWARD}
${layer('RNNCellBase', `${CELL_SIZES}, bias: bool, num_chunks: int, device=None, dtype=None`, undefined, {
  constants: CELL_CONSTANTS,
  fields: ['weight_ih: Tensor', 'weight_hh: Tensor'],
  keeps: CELL_CONSTANTS,
  made: `        rows = num_chunks * hidden_size
        for kind, shape in (('weight_ih', (rows, input_size)), ('weight_hh', (rows, hidden_size)), ('bias_ih', (rows,)), ('bias_hh', (rows,))):
            absent = not bias and len(shape) == 1
            self.register_parameter(kind, None if absent else Parameter(torch.empty(shape, dtype=dtype)))
        self.reset_parameters()
`,
  methods: RESET,
})}${cell(
  'RNNCell',
  1,
  `${cellStart('RNNCell')}        if self.nonlinearity == 'tanh':
            ret = torch._VF.rnn_tanh_cell(input, hx, ${WEIGHTS})
        elif self.nonlinearity == 'relu':
            ret = torch._VF.rnn_relu_cell(input, hx, ${WEIGHTS})
        else:
            ret = input
            raise RuntimeError(f'Unknown nonlinearity: {self.nonlinearity}')
${CELL_END}`,
  "nonlinearity: str = 'tanh', ",
)}${cell('GRUCell', 3, `${cellStart('GRUCell')}        ret = torch._VF.gru_cell(input, hx, ${WEIGHTS})\n${CELL_END}`)}${cell(
  'LSTMCell',
  4,
  `
    def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
        if input.dim() not in (1, 2):
            raise ValueError(f'LSTMCell: Expected input to be 1D or 2D, got {input.dim()}D instead')
        if hx is not None:
            for idx, value in enumerate(hx):
                if value.dim() not in (1, 2):
                    raise ValueError(f'LSTMCell: Expected hx[{idx}] to be 1D or 2D, got {value.dim()}D instead')
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros)
        else:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0)) if not is_batched else hx
        ret = torch._VF.lstm_cell(input, hx, ${WEIGHTS})
        if not is_batched:
            ret = (ret[0].squeeze(0), ret[1].squeeze(0))
        return ret
`,
)}`;
