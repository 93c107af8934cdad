import torch
import torch.nn.functional as F
from typing import Optional


def f(q, k, v, mask: Optional[torch.Tensor], heads: int):
    batch, length, width = q.shape
    depth = width // heads
    q = q.view(batch, length, heads, depth).transpose(1, 2)
    k = k.view(batch, -1, heads, depth).transpose(1, 2)
    v = v.view(batch, -1, heads, depth).transpose(1, 2)
    scores = torch.matmul(q, k.transpose(-2, -1)) / depth**0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float('-inf'))
    probabilities = F.dropout(F.softmax(scores, dim=-1), 0.1, False)
    out = torch.matmul(probabilities, v).transpose(1, 2).contiguous().view(batch, length, width)
    return F.layer_norm(out + 1, [width])


CALLS = [
    lambda: (torch.ones(1, 2, 4), torch.ones(1, 3, 4), torch.ones(1, 3, 4), torch.ones(2, 3), 2),
    lambda: (torch.ones(1, 2, 4), torch.ones(1, 3, 4), torch.ones(1, 3, 4), torch.ones(2, 3), 2),
    lambda: (torch.ones(2, 5, 4), torch.ones(2, 5, 4), torch.ones(2, 5, 4), None, 2),
]
