"""What the files of models here make."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import torch


class Made(NamedTuple):
    """A model, and what its twin in ONNX is traced with; a model without a twin is one that no graph of ONNX says."""

    module: torch.nn.Module
    twin: Optional[torch.nn.Module] = None
    example: Tuple[torch.Tensor, ...] = ()
    inputs: List[str] = []
    outputs: List[str] = []
    open_sizes: Dict[str, Dict[int, str]] = {}


def named(prefix: str, count: int) -> List[str]:
    return [f"{prefix}{at}" for at in range(count)]
