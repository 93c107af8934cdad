import { constantsOf, kept, layer, refusals } from './layer-text.ts';

interface Loss {
  readonly base?: '_Loss' | '_WeightedLoss';
  /** Parameters of `__init__`, where they are not those of its own and the usual ones. */
  readonly params?: string;
  /** Parameters that it keeps. */
  readonly own?: string;
  /** Names besides `reduction` that are constants; all of its own where they are not said. */
  readonly constants?: readonly string[];
  /** Attributes with types, where they are not its own. */
  readonly fields?: readonly string[];
  /** Lines of `__init__` after `reduction` is kept. */
  readonly made?: string;
  readonly inputs?: string;
  /** What it calls, without `reduction`. */
  readonly call: string;
}

const OLDEST = 'size_average=None, reduce=None';
const REDUCTION = "reduction: str = 'mean'";
const PAIR = 'input: Tensor, target: Tensor';
const TRIPLE = 'input1: Tensor, input2: Tensor, target: Tensor';
const ANCHORED = 'anchor: Tensor, positive: Tensor, negative: Tensor';

/** A loss as PyTorch has it: the two oldest parameters stand before `reduction`, where it is not so old that others stand between. */
function loss(name: string, { base = '_Loss', params, own = '', inputs = PAIR, call, ...others }: Loss): string {
  const listed = own === '' ? [] : own.split(', ');
  const names = listed.map((param) => /^\w+/.exec(param)![0]);
  const { constants = names, fields = listed.map((param) => param.split(' = ')[0]!), made = '' } = others;
  const weighted = base === '_WeightedLoss';
  const usual = [...(weighted ? ['weight=None'] : []), ...listed, OLDEST, REDUCTION].join(', ');
  const signature = params ?? usual;
  const handedOn = [...(weighted ? ['weight'] : []), 'size_average', 'reduce', 'reduction']
    .filter((each) => new RegExp(`\\b${each}\\b`).test(signature))
    .map((each) => `${each}=${each}`)
    .join(', ');
  const init =
    own === '' && params === undefined
      ? ''
      : `\n    def __init__(self, ${signature}):\n        super().__init__(${handedOn})\n${kept(...names)}${made}`;
  return `
class ${name}(${base}):
${constantsOf(...constants, 'reduction')}${fields.map((each) => `    ${each}\n`).join('')}${init}
    def forward(self, ${inputs}) -> Tensor:
        return F.${call.includes('self.reduction') ? call : call.replace(/\)$/, ', reduction=self.reduction)')}
`;
}

const WEIGHTED = { base: '_WeightedLoss' } as const;
const IGNORED = 'ignore_index: int = -100';

/** Losses (PyTorch: torch/nn/modules/loss.py). */
export const LOSS = [
  layer('_Loss', `${OLDEST}, ${REDUCTION}`, undefined, {
    constants: [],
    checks: `        if reduce is not None and not reduce:
            reduction = 'none'
        elif size_average is not None and not size_average:
            reduction = 'sum'
        elif (size_average, reduce) != (None, None):
            reduction = 'mean'
`,
    keeps: ['reduction'],
  }),
  layer('_WeightedLoss', `weight=None, ${OLDEST}, ${REDUCTION}`, undefined, {
    base: '_Loss',
    constants: [],
    handedOn: 'size_average, reduce, reduction',
    keeps: [],
    made: "        self.register_buffer('weight', weight)\n",
  }),
  loss('L1Loss', { call: 'l1_loss(input, target)' }),
  loss('MSELoss', { call: 'mse_loss(input, target)' }),
  loss('BCELoss', { ...WEIGHTED, call: 'binary_cross_entropy(input, target, weight=self.weight)' }),
  loss('SoftMarginLoss', { call: 'soft_margin_loss(input, target)' }),
  loss('MultiLabelMarginLoss', { call: 'multilabel_margin_loss(input, target)' }),
  loss('MultiLabelSoftMarginLoss', {
    ...WEIGHTED,
    call: 'multilabel_soft_margin_loss(input, target, weight=self.weight)',
  }),
  loss('NLLLoss', {
    ...WEIGHTED,
    params: `weight=None, size_average=None, ${IGNORED}, reduce=None, ${REDUCTION}`,
    own: IGNORED,
    call: 'nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index)',
  }),
  '\nclass NLLLoss2d(NLLLoss):\n    pass\n',
  loss('CrossEntropyLoss', {
    ...WEIGHTED,
    params: `weight=None, size_average=None, ${IGNORED}, reduce=None, ${REDUCTION}, label_smoothing: float = 0.0`,
    own: `${IGNORED}, label_smoothing: float`,
    call: 'cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction, label_smoothing=self.label_smoothing)',
  }),
  loss('PoissonNLLLoss', {
    params: `log_input: bool = True, full: bool = False, size_average=None, eps: float = 1e-08, reduce=None, ${REDUCTION}`,
    own: 'log_input: bool, full: bool, eps: float',
    inputs: 'log_input: Tensor, target: Tensor',
    call: 'poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps)',
  }),
  loss('GaussianNLLLoss', {
    params: `*, full: bool = False, eps: float = 1e-06, ${REDUCTION}`,
    own: 'full: bool, eps: float',
    inputs: `${PAIR}, var: Tensor`,
    call: 'gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps)',
  }),
  loss('KLDivLoss', {
    params: `${OLDEST}, ${REDUCTION}, log_target: bool = False`,
    own: 'log_target',
    constants: [],
    fields: [],
    call: 'kl_div(input, target, reduction=self.reduction, log_target=self.log_target)',
  }),
  layer(
    'BCEWithLogitsLoss',
    `weight=None, ${OLDEST}, ${REDUCTION}, pos_weight=None`,
    'F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction)',
    {
      base: '_Loss',
      inputs: PAIR,
      constants: [],
      handedOn: 'size_average, reduce, reduction',
      keeps: [],
      made: ['weight', 'pos_weight'].map((name) => `        self.register_buffer('${name}', ${name})\n`).join(''),
    },
  ),
  loss('SmoothL1Loss', {
    params: `${OLDEST}, ${REDUCTION}, beta: float = 1.0`,
    own: 'beta',
    constants: [],
    fields: [],
    call: 'smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)',
  }),
  loss('HuberLoss', {
    params: `${REDUCTION}, delta: float = 1.0`,
    own: 'delta',
    fields: [],
    call: 'huber_loss(input, target, reduction=self.reduction, delta=self.delta)',
  }),
  loss('MultiMarginLoss', {
    ...WEIGHTED,
    params: `p: int = 1, margin: float = 1.0, weight=None, ${OLDEST}, ${REDUCTION}`,
    own: 'p: int, margin: float',
    made: refusals(
      ['p not in (1, 2)', "'only p == 1 and p == 2 supported'"],
      [
        'weight is not None and weight.dim() != 1',
        "f'MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead'",
      ],
    ),
    call: 'multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight)',
  }),
  loss('CTCLoss', {
    params: `blank: int = 0, ${REDUCTION}, zero_infinity: bool = False`,
    own: 'blank: int, zero_infinity: bool',
    constants: ['blank'],
    inputs: 'log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor',
    call: 'ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)',
  }),
  layer(
    'TripletMarginWithDistanceLoss',
    `*, distance_function=None, margin: float = 1.0, swap: bool = False, ${REDUCTION}`,
    'F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap, reduction=self.reduction)',
    {
      base: '_Loss',
      inputs: ANCHORED,
      constants: ['margin', 'swap', 'reduction'],
      handedOn: 'reduction=reduction',
      keeps: [
        'distance_function = nn.PairwiseDistance() if distance_function is None else distance_function',
        'margin',
        'swap',
      ],
    },
  ),
  loss('HingeEmbeddingLoss', {
    own: 'margin: float = 1.0',
    call: 'hinge_embedding_loss(input, target, margin=self.margin)',
  }),
  loss('CosineEmbeddingLoss', {
    own: 'margin: float = 0.0',
    inputs: TRIPLE,
    call: 'cosine_embedding_loss(input1, input2, target, margin=self.margin)',
  }),
  loss('MarginRankingLoss', {
    own: 'margin: float = 0.0',
    inputs: TRIPLE,
    call: 'margin_ranking_loss(input1, input2, target, margin=self.margin)',
  }),
  loss('TripletMarginLoss', {
    own: 'margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False',
    inputs: ANCHORED,
    call: 'triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap)',
  }),
].join('');
