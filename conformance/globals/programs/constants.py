# case: a float
# given: LIMIT = 0.5
# call: f(numbers(3))
def f(x):
    return x + LIMIT

# case: an int
# given: COUNT = 3
# call: f(numbers(3))
# save
def f(x):
    return x * COUNT

# case: a text
# given: NAME = 'cresset'
# call: f()
def f():
    return NAME + '!'

# case: a boolean that chooses
# given: FAST = True
# call: f(numbers(3))
def f(x):
    if FAST:
        return x + 1
    return x - 1

# case: a boolean that is false
# given: FAST = False
# call: f(numbers(3))
def f(x):
    y = x
    if not FAST:
        y = y * 2
    return y

# case: None
# given: BIAS = None
# call: f(numbers(3))
def f(x):
    if BIAS is None:
        return x
    return x + 1

# case: None as an argument
# given: DTYPE = None
# call: f(numbers(3))
def f(x):
    return torch.sum(x, dtype=DTYPE)

# case: a dtype
# given: DTYPE = torch.float64
# call: f(numbers(3))
def f(x):
    return x.to(DTYPE)

# case: a dtype of a factory
# given: KIND = torch.int64
# call: f()
def f():
    return torch.zeros([2], dtype=KIND)

# case: a device
# given: DEVICE = torch.device('cpu')
# call: f(numbers(3))
def f(x):
    return x.to(DEVICE) + 1

# case: a whole float
# given: SCALE = 2.0
# call: f()
def f():
    return SCALE

# case: a complex number
# given: Z = 1 + 2j
# call: f(numbers(2))
def f(x):
    return (x * Z).abs()

# case: a tuple
# given: SIZES = (1, 2, 3)
# call: f(numbers(6))
def f(x):
    return x.reshape(SIZES)

# case: an item of a tuple
# given: SIZES = (4, 5)
# call: f()
def f():
    return SIZES[1] * 2

# case: an item of a tuple from its end
# given: SIZES = (4, 5, 6)
# call: f()
def f():
    return SIZES[-1]

# case: a tuple of several types
# given: MIXED = (1, 'two', 3.5)
# call: f()
def f():
    a, b, c = MIXED
    return b, a, c

# case: a tuple that a loop goes over
# given: STEPS = (1, 2, 4)
# call: f(numbers(2))
def f(x):
    for step in STEPS:
        x = x + step
    return x

# case: a tuple that is enumerated
# given: STEPS = (1, 2, 4)
# call: f(numbers(2))
def f(x):
    for at, step in enumerate(STEPS):
        x = x * step + at
    return x

# case: tuples in a tuple
# given: PAIRS = ((1, 2), (3, 4))
# call: f()
def f():
    return PAIRS[1][0] + PAIRS[0][1]

# case: pairs that a loop takes apart
# given: PAIRS = ((1, 2), (3, 4))
# call: f()
def f():
    total = 0
    for a, b in PAIRS:
        total += a * b
    return total

# case: an item beyond the end
# given: SIZES = (4, 5)
# call: f()
def f():
    return SIZES[2]

# case: an index that is no literal
# given: SIZES = (4, 5)
def f(i: int):
    return SIZES[i]

# case: a tuple returned
# given: SIZES = (4, 5)
# call: f()
def f():
    return SIZES

# case: the empty tuple
# given: NOTHING = ()
# call: f()
def f():
    return NOTHING

# case: a variable of that name
# given: LIMIT = 0.5
# call: f(numbers(2))
def f(x):
    y = LIMIT
    y = y + 1.0
    return x * y

# case: a constant is called
# given: LIMIT = 0.5
def f(x):
    return LIMIT(x)

# case: an attribute of a constant
# given: LIMIT = 0.5
def f(x):
    return LIMIT.real

# case: a constant of the wrong type
# given: NAME = 'a'
def f(x):
    return torch.relu(x, NAME)

# case: a dict is none
# given: TABLE = {'a': 1, 'b': 2.5}
def f():
    return TABLE['a']

# case: a dict as a value
# given: TABLE = {'a': 1, 'b': 2.5}
def f():
    return TABLE

# case: a tensor is none
# given: WEIGHT = torch.ones(2)
def f(x):
    return x + WEIGHT

# case: a dict cannot be called
# given: TABLE = {'a': 1, 'b': 2.5}
def f(x):
    return TABLE(x)

# case: an enum
# given: Mode = enum(SUM=1, MEAN=2)
# call: f(numbers(3))
# save
def f(x):
    m = Mode.SUM
    if m == Mode.SUM:
        return x.sum()
    return x.mean()

# case: an enum of texts
# given: Unit = enum(METRE='m', FOOT='ft')
# call: f()
def f():
    return Unit.FOOT.value + Unit.METRE.name

# case: a member that an enum has not
# given: Mode = enum(SUM=1, MEAN=2)
def f():
    return Mode.MAX.value

# case: members of an enum in a loop
# given: Mode = enum(SUM=1, MEAN=2)
# call: f()
def f():
    total = 0
    for each in Mode:
        total += each.value
    return total

# case: two functions, one constant
# given: LIMIT = 2
# call: f(numbers(2))
def g(x):
    return x + LIMIT

def f(x):
    return g(x) * LIMIT

# case: a name that nobody gave
# given: LIMIT = 2
def f(x):
    return x + LIMITS

# case: a default
# given: LIMIT = 2
# call: f(numbers(2))
def f(x, n: int = 5):
    return x * n + LIMIT

# case: a size of a list
# given: WIDTH = 3
# call: f()
def f():
    return [0] * WIDTH

# case: a range
# given: ROUNDS = 3
# call: f(numbers(2))
def f(x):
    for i in range(ROUNDS):
        x = x + i
    return x

# case: a negative number
# given: LOW = -1
# call: f(numbers(4))
def f(x):
    return x.clamp(LOW, 0)

# case: infinity
# given: HIGH = float('inf')
# call: f(numbers(4))
def f(x):
    return x < HIGH

# case: assigned to from within
# given: LIMIT = 0.5
# call: f(numbers(2))
def f(x):
    LOCAL = LIMIT
    if x.sum() > 0:
        LOCAL = 2.0
    return x * LOCAL

# case: a default that is given
# given: COUNT = 3
# call: f(numbers(2))
def f(x, n: int = COUNT):
    return x * n

# case: a slice of a tuple
# given: SIZES = (4, 5, 6)
# call: f()
def f():
    return SIZES[1:]

# case: a comprehension over a tuple
# given: STEPS = (1, 2, 4)
# call: f(numbers(2))
def f(x):
    return [x * step for step in STEPS]

# case: sizes of a factory
# given: SIZES = (2, 3)
# call: f()
def f():
    return torch.ones(SIZES)

# case: zip of two tuples
# given: SIZES = (2, 3)
# call: f()
def f():
    total = 0
    for a, b in zip(SIZES, SIZES):
        total += a * b
    return total

# case: a tuple to which one is added
# given: SIZES = (2, 3)
# call: f()
def f():
    return SIZES + (4,)

# case: starred
# given: SIZES = (2, 3)
# call: f(numbers(6))
def f(x):
    return x.view(*SIZES)

# case: the largest of a tuple
# given: SIZES = (2, 3)
def f():
    return max(SIZES)

# case: membership
# given: SIZES = (2, 3)
def f(n: int):
    return n in SIZES

# case: isinstance
# given: LIMIT = 0.5
# call: f()
def f():
    if isinstance(LIMIT, float):
        return 1
    return 0

# case: an assertion
# given: LIMIT = 0.5
# call: f(numbers(2))
def f(x):
    assert LIMIT > 0, 'too low'
    return x

# case: a formatted text
# given: COUNT = 3
# call: f()
def f():
    return f'{COUNT} of them'

# case: a text in a loop
# given: NAME = 'abc'
# call: f()
def f():
    out: List[str] = []
    for each in NAME:
        out.append(each)
    return out

# case: two constants
# given: LOW = 1
# given: HIGH = 5
# call: f(3)
# call: f(7)
def f(n: int):
    return LOW < n < HIGH

# case: a constant that decides at compile time
# given: MODE = 'mean'
# call: f(numbers(3))
def f(x):
    if MODE == 'mean':
        return x.mean()
    return x.sum()
