# Programs whose tokens are mutated. Each block is one or several definitions that go together.

def arithmetic(a: int, b: int) -> int:
    c = (a + b * 2 - 7) // 3 % 5
    c += a << 2 | b & 3 ^ 1
    return c if a < b <= 10 or not a == b else -c ** 2

# ---

def loops(n: int, xs: List[int]) -> Tuple[int, List[int]]:
    total = 0
    out: List[int] = []
    for i in range(0, n, 2):
        if i == 4:
            continue
        for j, x in enumerate(xs):
            total += x * j
            if total > 1000:
                break
        out.append(total)
    while total > 0 and len(out) < 20:
        total -= 3
        out.append(total)
    return total, [v * 2 for v in out if v > 0]

# ---

def tensors(x: Tensor, y: Tensor, flag: bool = True) -> Tensor:
    z = x.matmul(y).relu() + torch.ones([2, 2], dtype=torch.float32)
    if flag:
        z[0, 1:] = 3.0
        z[..., -1] += 1
    elif z.sum() > 0:
        z = torch.cat([z, z], dim=0)[::2]
    z.mul_(2).add_(x, alpha=0.5)
    return torch.where(z > 0, z, z * 0.1).transpose(0, 1).contiguous().view([-1])

# ---

def containers(s: str, d: Dict[str, int]) -> Dict[str, List[Tuple[int, float]]]:
    out: Dict[str, List[Tuple[int, float]]] = {}
    for key in d.keys():
        out[key] = [(d[key], 0.5), (1, float(len(s)))]
    if "a" in d and s.startswith("x"):
        out["%s-%d" % (s, 3)] = []
    a, (b, *rest) = 1, (2, 3, 4)
    text = "{}:{:d}".format(s.upper(), a + b) + f"<{s}>"
    out[text[::-1][1:-1]] = [(i, 1e-3) for i in range(3)]
    del out[text[::-1][1:-1]]
    return out

# ---

def optional(x: Optional[Tensor], mode: Union[int, str]) -> int:
    if x is None:
        return 0
    else:
        size = x.size(0)
    if isinstance(mode, str):
        assert len(mode) > 0, "empty mode"
        return size + len(mode)
    try_again = torch.jit.annotate(Optional[int], None)
    if try_again is not None:
        return try_again
    if mode < 0:
        raise ValueError("negative: " + str(mode))
    return mode

# ---

class Stack(object):
    def __init__(self, limit: int):
        self.limit = limit
        self.items: List[float] = []

    @property
    def depth(self) -> int:
        return len(self.items)

    def push(self, item: float) -> bool:
        if self.depth >= self.limit:
            return False
        self.items.append(item)
        return True

    def __len__(self) -> int:
        return self.depth

    def __getitem__(self, i: int) -> float:
        return self.items[i]

class Point(NamedTuple):
    x: float
    y: int

class Color(Enum):
    RED = 1
    GREEN = 2

def objects(n: int) -> Tuple[int, float, str]:
    stack = Stack(3)
    for i in range(n):
        stack.push(float(i) / 2)
    p = Point(stack[0] if len(stack) > 0 else 0.0, 2)
    color = Color.GREEN
    return p.y + len(stack), p.x, color.name

# ---

def calls(x: Tensor, training: bool) -> Tensor:
    def inner(y: Tensor) -> Tensor:
        return y + x
    w = torch.rand([4, 3])
    z = torch.nn.functional.linear(x, w)
    z = torch.nn.functional.dropout(torch.nn.functional.gelu(z), 0.5, training)
    fut = torch.jit.fork(arithmetic_helper, z, 2)
    with torch.no_grad():
        u = torch.jit.wait(fut)
    return torch.stack([u, z]).softmax(dim=-1).sum(0, keepdim=True)

def arithmetic_helper(x: Tensor, k: int) -> Tensor:
    if k == 0:
        return x
    return x * k

# ---

def numbers(a: float, c: complex) -> Tuple[float, complex, int]:
    b = math.sqrt(abs(a)) + 1.5e3 - float('inf') * 0.0
    k = int(a) + 0x1F + 10_000
    return min(a, b, 2.0), c * 2j + complex(a, 1.0), max([k, 3, round(b) if b == b else 0])
