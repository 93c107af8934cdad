import { layer, refusals } from './layer-text.ts';

/** A softmax over many classes, the rarer ones in clusters (PyTorch: torch/nn/modules/adaptive.py). PyTorch compiles none, for what it says of `head`. */
export const ADAPTIVE = `
from collections import namedtuple

_ASMoutput = namedtuple('_ASMoutput', ['output', 'loss'])
${layer(
  'AdaptiveLogSoftmaxWithLoss',
  'in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None',
  undefined,
  {
    constants: [],
    fields:
      'in_features: int, n_classes: int, cutoffs: List[int], div_value: float, head_bias: bool, head: nn.Linear, tail: nn.ModuleList'.split(
        ', ',
      ),
    checks: `        ends = list(cutoffs)
${refusals(
  ['not ends', "'cutoffs should be a sequence of length larger than 0'"],
  [
    'ends != sorted(set(ends)) or ends[0] <= 0 or ends[-1] >= n_classes or any(int(end) != end for end in ends)',
    "'cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and n_classes-1'",
  ],
)}`,
    keeps: [
      'in_features',
      'n_classes',
      'cutoffs = [*ends, n_classes]',
      'div_value',
      'head_bias',
      'shortlist_size = ends[0]',
      'n_clusters = len(ends)',
      'head_size = ends[0] + len(ends)',
      'head = nn.Linear(in_features, self.head_size, bias=head_bias, dtype=dtype)',
      'tail = nn.ModuleList()',
    ],
    made: `        for at, end in enumerate(ends):
            inner = int(in_features // div_value ** (at + 1))
            sizes = ((in_features, inner), (inner, self.cutoffs[at + 1] - end))
            self.tail.append(nn.Sequential(*[nn.Linear(*size, bias=False, dtype=dtype) for size in sizes]))
`,
    methods: `
    def reset_parameters(self):
        for layer in [self.head] + [layer for cluster in self.tail for layer in cluster]:
            layer.reset_parameters()

    def log_prob(self, input):
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, :self.shortlist_size]]
        for at, cluster in enumerate(self.tail):
            place = self.shortlist_size + at
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, place:place + 1])
        return torch.cat(parts, dim=1)

    def predict(self, input):
        return torch.argmax(self.log_prob(input), dim=1)

    def forward(self, input, target):
        output = torch.gather(self.log_prob(input), 1, target.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output, -output.mean())
`,
  },
)}`;
