# case: a layer as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    layer: nn.Linear

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return x

# case: nn.Module as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    layer: nn.Module

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return x

# case: ModuleList as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    layer: nn.ModuleList

    def __init__(self):
        super().__init__()
        self.layer = nn.ModuleList([nn.ReLU()])

    def forward(self, x):
        return x

# case: a text as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: 'int'

    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        return x, self.n

# case: an Optional layer as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    layer: Optional[nn.Linear]

    def __init__(self):
        super().__init__()
        self.layer = None

    def forward(self, x):
        return x

# case: a list of layers as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    layer: List[nn.Linear]

    def __init__(self):
        super().__init__()
        self.layer = []

    def forward(self, x):
        return x

# case: Parameter as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    w: nn.Parameter

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        y = self.w
        if y is not None:
            x = x + y
        return x

# case: an Optional buffer
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    w: Optional[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer('w', torch.ones(2))

    def forward(self, x):
        y = self.w
        if y is not None:
            x = x + y
        return x

# case: an annotation without a value
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: 'Whatever'

    def __init__(self):
        super().__init__()
        self.m = 1

    def forward(self, x):
        return x + self.m

# case: a class of modules as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    inner: Inner

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)

# case: Callable for a function
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    act: Callable

    def __init__(self):
        super().__init__()
        self.act = torch.relu

    def forward(self, x):
        return self.act(x)

# case: Callable for a module
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    act: Callable

    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(x)

# case: a plain dict as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    table: dict

    def __init__(self):
        super().__init__()
        self.table = {'a': 1}

    def forward(self, x):
        return x, self.table

# case: a plain list as annotation
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    table: list

    def __init__(self):
        super().__init__()
        self.table = [1]

    def forward(self, x):
        return x, self.table

# case: a typed dict
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    table: Dict[str, List[int]]

    def __init__(self):
        super().__init__()
        self.table = {'a': []}

    def forward(self, x):
        return x, self.table

# case: a builtin list of ints
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    table: list[int]

    def __init__(self):
        super().__init__()
        self.table = []

    def forward(self, x):
        return x, self.table

# case: an annotation of another type
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: str

    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        return x, self.n

# case: an int for a float
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: float

    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        return x, self.n

# case: a tuple with dots
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: Tuple[int, ...]

    def __init__(self):
        super().__init__()
        self.n = (1, 2)

    def forward(self, x):
        return x, self.n

# case: a union
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: Union[int, str]

    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        return x

# case: a union with a bar
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: int | None

    def __init__(self):
        super().__init__()
        self.n = None

    def forward(self, x):
        return x, self.n

# case: Any
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: Any

    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        return x

# case: a device
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: torch.device

    def __init__(self):
        super().__init__()
        self.n = torch.device('cpu')

    def forward(self, x):
        return x.to(self.n)

# case: a dtype
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: torch.dtype

    def __init__(self):
        super().__init__()
        self.n = torch.float32

    def forward(self, x):
        return x, self.n

# case: a class of one's own
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: Point

    def __init__(self):
        super().__init__()
        self.n = Point(3)

    def forward(self, x):
        return x + self.n.a

# case: a named tuple
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: Pair

    def __init__(self):
        super().__init__()
        self.n = Pair(3, 4)

    def forward(self, x):
        return x + self.n.a

# case: Final without a type
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: Final

    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        return x, self.n

# case: Final of a list
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: Final[List[int]]

    def __init__(self):
        super().__init__()
        self.n = [3, 4]

    def forward(self, x):
        return x, self.n

# case: a name that is not there
# make: Net()
# call: forward(numbers(2))
from typing import Any, Callable, Dict, Final, List, NamedTuple, Optional, Tuple, Union
import torch
from torch import nn


class Pair(NamedTuple):
    a: int
    b: int


class Point:
    def __init__(self, a: int):
        self.a = a


class Inner(nn.Module):
    def forward(self, x):
        return x + 1


class Net(nn.Module):
    n: Missing

    def __init__(self):
        super().__init__()
        self.n = 3

    def forward(self, x):
        return x, self.n
