# Programs of TorchScript that are all interpreter: what micro.ts times here and pytorch.py in PyTorch.
from typing import Dict, List, Tuple
import torch
from torch import Tensor


def int_arithmetic(n: int) -> int:
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s


def int_wraparound(n: int) -> int:
    h = 1
    for i in range(n):
        h = h * 6364136223846793005 + 1442695040888963407
    return h


def int_while(n: int) -> int:
    steps = 0
    for start in range(1, n):
        x = start
        while x != 1:
            if x % 2 == 0:
                x = x // 2
            else:
                x = 3 * x + 1
            steps += 1
    return steps


def float_arithmetic(n: int) -> float:
    x = 0.5
    s = 0.0
    for i in range(n):
        x = 3.7 * x * (1.0 - x)
        s += x
    return s


def float_mandelbrot(n: int) -> int:
    inside = 0
    for row in range(n):
        for column in range(n):
            cr = 3.0 * column / n - 2.0
            ci = 2.0 * row / n - 1.0
            zr = 0.0
            zi = 0.0
            k = 0
            while k < 50 and zr * zr + zi * zi < 4.0:
                t = zr * zr - zi * zi + cr
                zi = 2.0 * zr * zi + ci
                zr = t
                k += 1
            if k == 50:
                inside += 1
    return inside


def tuples(n: int) -> int:
    pair = (0, 1)
    for i in range(n):
        a, b = pair
        pair = (b, (a + b) % 1000007)
    return pair[0]


def fibonacci_step(a: int, b: int) -> Tuple[int, int]:
    return b, (a + b) % 1000007


def calls(n: int) -> int:
    a = 0
    b = 1
    for i in range(n):
        a, b = fibonacci_step(a, b)
    return a


def list_read(l: List[int], n: int) -> int:
    s = 0
    for k in range(n):
        for i in range(len(l)):
            s += l[i]
    return s


def list_sieve(n: int) -> int:
    composite: List[bool] = []
    for i in range(n):
        composite.append(False)
    found = 0
    for i in range(2, n):
        if not composite[i]:
            found += 1
            j = i * i
            while j < n:
                composite[j] = True
                j += i
    return found


def list_floats(n: int) -> float:
    values = [0.5, 1.5, 2.5, 3.5]
    for i in range(n):
        values[i % 4] = values[(i + 1) % 4] * 0.5 + 1.0
    return values[0] + values[1] + values[2] + values[3]


def list_tensors(l: List[Tensor], n: int) -> int:
    s = 0
    for k in range(n):
        for i in range(len(l)):
            s += l[i].size(0)
    return s


def dict_ints(n: int) -> int:
    counts: Dict[int, int] = {}
    for i in range(n):
        k = i * 7 % 97
        if k in counts:
            counts[k] = counts[k] + 1
        else:
            counts[k] = 1
    return counts[13]


def dict_strings(words: List[str], n: int) -> int:
    counts: Dict[str, int] = {}
    for i in range(n):
        for w in words:
            if w in counts:
                counts[w] += 1
            else:
                counts[w] = 1
    return counts["spam"] * 1000 + len(counts)


def strings(n: int) -> int:
    s = 0
    for i in range(n):
        word = "ab" + str(i)
        if word.startswith("ab1"):
            s += len(word)
        if word[2] == "7":
            s += 1
    return s


def string_characters(text: str, n: int) -> int:
    vowels = 0
    for i in range(n):
        for c in text:
            if c == "a" or c == "e" or c == "o":
                vowels += 1
    return vowels


def tensor_add(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x + y
    return x


def tensor_mul_scalar(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x * 0.999
    return x


def tensor_relu(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = torch.relu(x)
    return x


def tensor_sigmoid(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = torch.sigmoid(x)
    return x


def tensor_add_in_place(x: Tensor, y: Tensor, n: int) -> Tensor:
    x = x.clone()
    for i in range(n):
        x += y
    return x


def tensor_compare(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = torch.where(x > y, x, y)
    return x


def tensor_matmul(x: Tensor, w: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = torch.matmul(x, w)
    return x


def tensor_linear(x: Tensor, w: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = torch.nn.functional.linear(x, w)
    return x


def tensor_sum(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = y * x.sum()
    return x


def tensor_softmax(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = torch.softmax(x, 0)
    return x


def tensor_cat(x: Tensor, y: Tensor, n: int) -> Tensor:
    z = torch.cat([x, y])
    for i in range(n):
        z = torch.cat([z[:4], y])
    return z


def tensor_index(x: Tensor, y: Tensor, n: int) -> Tensor:
    z = x[0]
    for i in range(n):
        z = x[i % 8]
    return z


def tensor_slice(x: Tensor, y: Tensor, n: int) -> int:
    s = 0
    for i in range(n):
        s += x[i % 4 : 6].size(0)
    return s


def tensor_views(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x.unsqueeze(0).transpose(0, 1).squeeze(1)
    return x


def tensor_item(x: Tensor, y: Tensor, n: int) -> float:
    s = 0.0
    for i in range(n):
        s += float(x[i % 8])
    return s


def tensor_write(x: Tensor, y: Tensor, n: int) -> Tensor:
    x = x.clone()
    for i in range(n):
        x[i % 8] = 1.0
    return x


def tensor_stack(x: Tensor, y: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = torch.stack([x, y])[0]
    return x


def lstm_cell(x: Tensor, w: Tensor, n: int) -> Tensor:
    h = torch.zeros([1, 8])
    c = torch.zeros([1, 8])
    for i in range(n):
        gates = torch.matmul(x, w) + torch.matmul(h, w)
        c = torch.sigmoid(gates) * c + torch.sigmoid(gates) * torch.tanh(gates)
        h = torch.sigmoid(gates) * torch.tanh(c)
    return h


def selective_scan(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    x = torch.zeros([256, 16])
    ys: List[Tensor] = []
    for i in range(u.size(0)):
        decay = torch.exp(delta[i].unsqueeze(1) * A)
        x = decay * x + delta[i].unsqueeze(1) * B[i] * u[i].unsqueeze(1)
        ys.append((x * C[i]).sum(1))
    return torch.stack(ys) + u * D
