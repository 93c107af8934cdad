interface Loss {
  readonly base?: '_Loss' | '_WeightedLoss';
  /** Parameters of its own, before `size_average` and its like. */
  readonly params?: string;
  /** Names besides `reduction` that are constants; all of its own where they are not said. */
  readonly constants?: readonly string[];
  readonly inputs?: string;
  /** What it calls, without `reduction`. */
  readonly call: string;
}

const PAIR = 'input: Tensor, target: Tensor';

/** A loss as PyTorch has it: the two oldest parameters stand before `reduction`. */
function loss(name: string, { base = '_Loss', params = '', inputs = PAIR, call, constants }: Loss): string {
  const own = params === '' ? [] : params.split(', ');
  const names = own.map((param) => /^\w+/.exec(param)![0]);
  const weight = base === '_WeightedLoss' ? 'weight=None, ' : '';
  const listed = [...(constants ?? names), 'reduction'].map((each) => `'${each}'`).join(', ');
  const annotations = own.map((param) => `    ${param.split(' = ')[0]}\n`).join('');
  const init = `
    def __init__(self, ${weight}${own.length === 0 ? '' : `${params}, `}size_average=None, reduce=None, reduction: str = 'mean'):
        super().__init__(${weight === '' ? '' : 'weight, '}size_average, reduce, reduction)
${names.map((each) => `        self.${each} = ${each}\n`).join('')}`;
  return `
class ${name}(${base}):
    __constants__ = [${listed}]
${annotations}${own.length === 0 ? '' : init}
    def forward(self, ${inputs}) -> Tensor:
        return F.${call.replace(/\)$/, ', reduction=self.reduction)')}
`;
}

const WEIGHTED = { base: '_WeightedLoss' } as const;

/** Losses (PyTorch: torch/nn/modules/loss.py). */
export const LOSS = [
  `
class _Loss(Module):
    reduction: str

    def __init__(self, size_average=None, reduce=None, reduction: str = 'mean'):
        super().__init__()
        if size_average is not None or reduce is not None:
            averages = size_average is None or size_average
            self.reduction = 'none' if reduce is not None and not reduce else 'mean' if averages else 'sum'
        else:
            self.reduction = reduction

class _WeightedLoss(_Loss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction: str = 'mean'):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer('weight', weight)
`,
  loss('L1Loss', { call: 'l1_loss(input, target)' }),
  loss('MSELoss', { call: 'mse_loss(input, target)' }),
  loss('BCELoss', { ...WEIGHTED, call: 'binary_cross_entropy(input, target, weight=self.weight)' }),
  loss('SoftMarginLoss', { call: 'soft_margin_loss(input, target)' }),
  loss('MultiLabelMarginLoss', { call: 'multilabel_margin_loss(input, target)' }),
  loss('MultiLabelSoftMarginLoss', {
    ...WEIGHTED,
    call: 'multilabel_soft_margin_loss(input, target, weight=self.weight)',
  }),
  `
class NLLLoss(_WeightedLoss):
    __constants__ = ['ignore_index', 'reduction']
    ignore_index: int

    def __init__(self, weight=None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = 'mean'):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)

class NLLLoss2d(NLLLoss):
    pass

class CrossEntropyLoss(_WeightedLoss):
    __constants__ = ['ignore_index', 'reduction', 'label_smoothing']
    ignore_index: int
    label_smoothing: float

    def __init__(self, weight=None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = 'mean', label_smoothing: float = 0.0):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction, label_smoothing=self.label_smoothing)

class PoissonNLLLoss(_Loss):
    __constants__ = ['log_input', 'full', 'eps', 'reduction']
    log_input: bool
    full: bool
    eps: float

    def __init__(self, log_input: bool = True, full: bool = False, size_average=None, eps: float = 1e-08, reduce=None, reduction: str = 'mean'):
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction)

class GaussianNLLLoss(_Loss):
    __constants__ = ['full', 'eps', 'reduction']
    full: bool
    eps: float

    def __init__(self, *, full: bool = False, eps: float = 1e-06, reduction: str = 'mean'):
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)

class KLDivLoss(_Loss):
    __constants__ = ['reduction']

    def __init__(self, size_average=None, reduce=None, reduction: str = 'mean', log_target: bool = False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)

class BCEWithLogitsLoss(_Loss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction: str = 'mean', pos_weight=None):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer('weight', weight)
        self.register_buffer('pos_weight', pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction)

class SmoothL1Loss(_Loss):
    __constants__ = ['reduction']

    def __init__(self, size_average=None, reduce=None, reduction: str = 'mean', beta: float = 1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)

class HuberLoss(_Loss):
    __constants__ = ['reduction', 'delta']

    def __init__(self, reduction: str = 'mean', delta: float = 1.0):
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)

class MultiMarginLoss(_WeightedLoss):
    __constants__ = ['p', 'margin', 'reduction']
    margin: float
    p: int

    def __init__(self, p: int = 1, margin: float = 1.0, weight=None, size_average=None, reduce=None, reduction: str = 'mean'):
        super().__init__(weight, size_average, reduce, reduction)
        if p != 1 and p != 2:
            raise ValueError('only p == 1 and p == 2 supported')
        if weight is not None and weight.dim() != 1:
            raise ValueError(f'MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead')
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction)

class CTCLoss(_Loss):
    __constants__ = ['blank', 'reduction']
    blank: int
    zero_infinity: bool

    def __init__(self, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False):
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)

class TripletMarginWithDistanceLoss(_Loss):
    __constants__ = ['margin', 'swap', 'reduction']
    margin: float
    swap: bool

    def __init__(self, *, distance_function=None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean'):
        super().__init__(size_average=None, reduce=None, reduction=reduction)
        self.distance_function = distance_function if distance_function is not None else nn.PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap, reduction=self.reduction)
`,
  loss('HingeEmbeddingLoss', {
    params: 'margin: float = 1.0',
    call: 'hinge_embedding_loss(input, target, margin=self.margin)',
  }),
  loss('CosineEmbeddingLoss', {
    params: 'margin: float = 0.0',
    inputs: 'input1: Tensor, input2: Tensor, target: Tensor',
    call: 'cosine_embedding_loss(input1, input2, target, margin=self.margin)',
  }),
  loss('MarginRankingLoss', {
    params: 'margin: float = 0.0',
    inputs: 'input1: Tensor, input2: Tensor, target: Tensor',
    call: 'margin_ranking_loss(input1, input2, target, margin=self.margin)',
  }),
  loss('TripletMarginLoss', {
    params: 'margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False',
    inputs: 'anchor: Tensor, positive: Tensor, negative: Tensor',
    call: 'triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap)',
  }),
].join('');
