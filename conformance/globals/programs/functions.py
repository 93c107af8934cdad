# case: a text to a list
# given: decode
# call: f('abc')
# save
def f(s: str):
    return decode(s)

# case: without annotations
# given: double
# call: f(numbers(3))
# save
def f(x):
    return double(x) + 1

# case: two tensors
# given: mix
# call: f(numbers(3), numbers(3))
def f(x, y):
    return mix(x, y)

# case: a list and a number
# given: total
# call: f([1.5, 2.25])
def f(values: List[float]):
    return total(values, 1.0) + total(values, 2.0)

# case: a default is none
# given: total
def f(values: List[float]):
    return total(values)

# case: a tuple
# given: divide
# call: f(17, 5)
def f(a: int, b: int):
    quotient, rest = divide(a, b)
    return quotient * 100 + rest

# case: a tuple as a whole
# given: divide
# call: f(17, 5)
def f(a: int, b: int):
    return divide(a, b)

# case: a dict and an optional
# given: lookup
# call: f('a')
# call: f('b')
def f(key: str):
    table = {'a': 3}
    found = lookup(table, key)
    if found is None:
        return 0
    return found

# case: nothing
# given: note
# call: f(numbers(2))
def f(x):
    note(x)
    return x

# case: a list of tensors
# given: parts
# call: f(numbers(2))
def f(x):
    return torch.cat(parts(x, 3))

# case: a condition
# given: is_long
# call: f('long')
# call: f('no')
def f(s: str):
    if is_long(s):
        return 1
    return 0

# case: a loop
# given: divide
# call: f(100)
def f(n: int):
    steps = 0
    while n > 1:
        n, rest = divide(n, 2)
        steps += rest + 1
    return steps

# case: it raises
# given: fail
# call: f(numbers(2))
def f(x):
    return fail(x)

# case: it raises where it is called
# given: fail
# call: f(numbers(2), False)
# call: f(numbers(2), True)
def f(x, really: bool):
    if really:
        x = fail(x)
    return x

# case: in a function that a function calls
# given: double
# call: f(numbers(2))
# save
def g(x):
    return double(x)

def f(x):
    return g(x) - 1

# case: calls are never one
# given: double
# call: f(numbers(2))
def f(x):
    return double(x) + double(x)

# case: results of calls
# given: double, mix
# call: f(numbers(2))
def f(x):
    return mix(double(x), double(double(x)))

# case: an argument of the wrong type
# given: decode
def f(n: int):
    return decode(n)

# case: an argument too many
# given: decode
def f(s: str):
    return decode(s, s)

# case: an argument too few
# given: mix
def f(x):
    return mix(x)

# case: an unknown keyword
# given: decode
def f(name: str):
    return decode(name, loud=True)

# case: a number for a tensor
# given: double
def f():
    return double(3)

# case: as a value
# given: double
def f(x):
    y = double
    return y

# case: an attribute
# given: double
def f(x):
    return double.name

# case: its result of the wrong type
# given: decode
def f(s: str) -> str:
    return decode(s)

# case: saved within a branch
# given: double
# save
def f(x):
    if x.sum() > 0:
        return double(x)
    return x

# case: its result is none of its type
# given: lie
# call: f(numbers(2))
def f(x):
    return lie(x) + 1
