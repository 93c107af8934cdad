# case: a function
# given: swish
# call: f(numbers(3))
# save
def f(x):
    return swish(x)

# case: a function with a default
# given: swish
# call: f(numbers(3))
def f(x):
    return swish(x, 2.0) + swish(x, beta=0.5)

# case: a function with branches
# given: clip
# call: f(numbers(3))
def f(x):
    return clip(x) + clip(x, 0.25)

# case: a function with a loop
# given: ramp
# call: f(4)
def f(n: int):
    return ramp(n)

# case: a traced function
# given: traced_scale
# call: f(numbers(3))
# save
def f(x):
    return traced_scale(x) + 1

# case: a traced function in a loop
# given: traced_scale
# call: f(numbers(3), 2)
def f(x, n: int):
    for i in range(n):
        x = traced_scale(x)
    return x

# case: a traced function of two results
# given: traced_pair
# call: f(numbers(3))
def f(x):
    a, b = traced_pair(x, x * x)
    return a * b

# case: a scripted function as a value
# given: swish
def f(x):
    return swish

# case: an argument that does not fit
# given: swish
def f(x):
    return swish('a')

# case: a traced function of too few arguments
# given: traced_pair
def f(x):
    return traced_pair(x)

# case: a module is called
# given: scale
def f(x):
    return scale(x)

# case: a traced module is called
# given: traced_module
def f(x):
    return traced_module(x)

# case: a function of a unit
# given: unit
# call: f(numbers(3))
# save
def f(x):
    return unit.swish(x, 2.0)

# case: what a unit has not
# given: unit
def f(x):
    return unit.missing(x)

# case: a unit as a value
# given: unit
def f(x):
    return unit

# case: a class
# given: Tally
# call: f(3)
# save
def f(n: int):
    c = Tally(n)
    c.add(2)
    return c.add(1)

# case: a class of a unit
# given: unit
# call: f(3)
def f(n: int):
    c = unit.Tally(n)
    return c.add(4)

# case: a class in an annotation
# given: Tally
# call: f(3)
def g(c: Tally, n: int) -> int:
    return c.add(n)

def f(n: int):
    return g(Tally(n), n)

# case: an enum of a unit
# given: Color, pick
# call: f(0)
# call: f(1)
# save
def f(n: int):
    if n > 0:
        return pick(Color.RED)
    return pick(Color.GREEN)

# case: an enum by its unit
# given: unit
# call: f()
def f():
    return unit.Color.GREEN.value

# case: a named tuple
# given: Point
# call: f(1, 2)
def f(a: int, b: int):
    p = Point(a, b)
    return p.x * 10 + p.y

# case: a named tuple in an annotation
# given: Point
# call: f(1, 2)
def g(p: Point) -> int:
    return p.y

def f(a: int, b: int):
    return g(Point(x=a, y=b))
