import math
import warnings
from typing import *

import torch
import torch.nn.functional as F
from torch import Tensor, nn

