# case: a constant in __init__
# given: WIDTH = 3
# make: Net()
# call: forward(numbers(2, 3))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * self.weight + WIDTH

# case: a tuple that makes layers
# given: WIDTHS = (1, 2, 4)
# make: Net()
# call: forward(numbers(2))
class Add(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x + self.n

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Add(n) for n in WIDTHS])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

# case: a function of the page in forward
# given: double
# make: Net()
# call: forward(numbers(2))
# save
class Net(nn.Module):
    def forward(self, x):
        return double(x) + 1

# case: a scripted function in forward
# given: swish
# make: Net()
# call: forward(numbers(2))
# save
class Net(nn.Module):
    def forward(self, x):
        return swish(x)

# case: a scripted function as an attribute
# given: swish
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = swish

    def forward(self, x):
        return self.act(x)

# case: a traced function as an attribute
# given: traced_scale
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = traced_scale

    def forward(self, x):
        return self.act(x)

# case: a scripted module as a submodule
# given: scale
# make: Net()
# call: forward(numbers(2))
# save
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return self.scale(x) - 1

# case: a method of a scripted module
# given: scale
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return self.scale.undo(self.scale(x))

# case: a traced module as a submodule
# given: traced_module
# make: Net()
# call: forward(numbers(2))
# save
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = traced_module

    def forward(self, x):
        for i in range(2):
            x = self.inner(x)
        return x

# case: modules in a list
# given: scale, traced_module
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([scale, traced_module])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

# case: modules in a sequence
# given: scale, traced_module
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(traced_module, scale)

    def forward(self, x):
        return self.layers(x)

# case: a module that forward names
# given: scale
# make: Net()
class Net(nn.Module):
    def forward(self, x):
        return scale(x)

# case: a dtype in __init__
# given: KIND = torch.float64
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('shift', torch.ones(2, dtype=KIND))

    def forward(self, x):
        return x.to(KIND) + self.shift

# case: an enum in a module
# given: Mode = enum(SUM=1, MEAN=2)
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = Mode.MEAN

    def forward(self, x):
        if self.mode == Mode.SUM:
            return x.sum()
        return x.mean()

# case: a unit in a module
# given: unit
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def forward(self, x):
        return unit.swish(x) + unit.ramp(3)[2]

# case: a constant in a method that is exported
# given: LIMIT = 0.5
# make: Net()
# call: forward(numbers(2))
# call: extra(numbers(2))
class Net(nn.Module):
    def forward(self, x):
        return x + LIMIT

    @torch.jit.export
    def extra(self, x):
        return x - LIMIT

# case: two modules that share one
# given: scale
# make: Net()
# call: forward(numbers(2))
class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = scale

    def forward(self, x):
        return self.inner(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = Half()
        self.two = scale

    def forward(self, x):
        return self.one(x) + self.two(x)

# case: a function of the page as an attribute
# given: mix
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 3

    def forward(self, x):
        return mix(x, x) * self.width

# case: a class that a module uses
# given: Tally
# make: Net()
# call: forward(numbers(2))
class Net(nn.Module):
    def forward(self, x):
        t = Tally(2)
        return x * t.add(3)
