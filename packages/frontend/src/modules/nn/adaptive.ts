/** A softmax over many classes, the rarer ones in clusters (PyTorch: torch/nn/modules/adaptive.py). PyTorch compiles none, for what it says of `head`. */
export const ADAPTIVE = `
from collections import namedtuple

_ASMoutput = namedtuple('_ASMoutput', ['output', 'loss'])

class AdaptiveLogSoftmaxWithLoss(Module):
    in_features: int
    n_classes: int
    cutoffs: List[int]
    div_value: float
    head_bias: bool
    head: nn.Linear
    tail: nn.ModuleList

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError('cutoffs should be a sequence of length larger than 0')
        if cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or any(int(each) != each for each in cutoffs):
            raise ValueError('cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and n_classes-1')
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = cutoffs + [n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = nn.Linear(in_features, self.head_size, bias=head_bias, dtype=dtype)
        self.tail = nn.ModuleList()
        for at in range(self.n_clusters):
            inner = int(in_features // div_value ** (at + 1))
            size = self.cutoffs[at + 1] - self.cutoffs[at]
            self.tail.append(nn.Sequential(nn.Linear(in_features, inner, bias=False, dtype=dtype), nn.Linear(inner, size, bias=False, dtype=dtype)))

    def reset_parameters(self):
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

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
`;
