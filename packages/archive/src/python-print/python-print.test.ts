import { ClassType, type GraphFunction, Source, SourceRange } from '@cresset/ir';
import { type IValue, Tensor, toByteString } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { DependencyTable } from './dependency-table.ts';
import { functionOfIr, registerFixtureOperators } from './python-print-fixture.ts';
import { PythonPrint, type PythonPrintOptions } from './python-print.ts';

beforeAll(registerFixtureOperators);

function print(fn: GraphFunction, options?: PythonPrintOptions, constants: IValue[] = []): string {
  const printer = new PythonPrint(constants, new DependencyTable(), options);
  printer.printFunction(fn);
  return printer.toString();
}

/** The statements of a function given as graph text, without its head. */
const body = (graph: string): string =>
  print(functionOfIr(graph))
    .replace(/^[\s\S]*?:\n(?= {2})/, '')
    .replace(/^[\s\S]*\n {4}.*-> .*:\n/, '');

describe('expressions within others', () => {
  it('are unnamed values that are used once', () => {
    expect(
      body(`graph(%x : Tensor):
  %1 : Tensor = aten::relu(%x)
  %2 : Tensor = aten::neg(%1)
  %y : Tensor = aten::relu(%2)
  %3 : Tensor = aten::mul(%y, %y)
  return (%3)`),
    ).toBe(`  y = torch.relu(torch.neg(torch.relu(x)))
  return torch.mul(y, y)
`);
  });

  it('keep the order in which everything is computed', () => {
    expect(
      body(`graph(%x : Tensor, %n : int):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::neg(%x)
  %2 : Tensor = aten::add_(%x, %a, %1)
  %3 : Tensor = aten::relu(%x)
  %4 : Tensor = aten::mul(%3, %2)
  return (%4)`),
    ).toBe(`  a = torch.neg(x)
  _0 = torch.add_(x, a)
  return torch.mul(torch.relu(x), _0)
`);
  });

  it('come out of a line that grows too long, with those that are computed before them', () => {
    expect(
      body(`graph(%first : Tensor, %second : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : Tensor = aten::add_(%first, %second, %1)
  %3 : Tensor = aten::add_(%second, %first, %1)
  %4 : Tensor = aten::neg(%3)
  %5 : Tensor = aten::relu(%4)
  %6 : Tensor = aten::mul(%2, %5)
  return (%6)`),
    ).toBe(`  _0 = torch.add_(first, second)
  _1 = torch.relu(torch.neg(torch.add_(second, first)))
  return torch.mul(_0, _1)
`);
  });

  it('may be nested deeper than functions can call themselves', () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `  %${index + 1} : Tensor = aten::neg(%${index})\n`);
    const text = body(`graph(%0 : Tensor):\n${lines.join('')}  return (%20000)`);
    expect(text.match(/torch\.neg/g)).toHaveLength(20_000);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(60);
  });

  it('are not what a named value, a loop or a fork stands for', () => {
    expect(
      body(`graph(%x : Tensor, %n : int):
  %1 : bool = prim::Constant[value=1]()
  %y : Tensor = aten::relu(%x)
  %2 : Tensor = aten::neg(%x)
  %z : Tensor = prim::Loop(%n, %1, %2)
    block0(%i : int, %c : Tensor):
      %3 : Tensor = aten::mul(%c, %y)
      -> (%1, %3)
  return (%z)`),
    ).toBe(`  y = torch.relu(x)
  _0 = torch.neg(x)
  z = _0
  for i in range(n):
    z = torch.mul(z, y)
  return z
`);
  });
});

describe('names', () => {
  it('are those of the graph, made unique and valid', () => {
    expect(
      body(
        `graph(%x : Tensor):
  %x.1 : Tensor = aten::relu(%x)
  %x.5 : Tensor = aten::neg(%x.1)
  %if : Tensor = aten::relu(%x.5)
  %a-b : Tensor = aten::mul(%if, %x.1)
  %r : Tensor = aten::mul(%a-b, %x.5)
  %s : Tensor = aten::mul(%r, %r)
  return (%s)`.replaceAll('a-b', 'a_b'),
      ),
    ).toBe(`  x0 = torch.relu(x)
  x1 = torch.neg(x0)
  if0 = torch.relu(x1)
  a_b = torch.mul(if0, x0)
  r = torch.mul(a_b, x1)
  return torch.mul(r, r)
`);
  });

  it('go on counting from function to function', () => {
    const printer = new PythonPrint([], new DependencyTable());
    for (const name of ['f', 'g']) {
      printer.printFunction(
        functionOfIr(
          `graph(%x : Tensor):
  %1 : Tensor = aten::relu(%x)
  %2 : Tensor = aten::mul(%1, %1)
  return (%2)`,
          name,
        ),
      );
    }
    expect(printer.toString()).toBe(`def f(x: Tensor) -> Tensor:
  _0 = torch.relu(x)
  return torch.mul(_0, _0)
def g(x: Tensor) -> Tensor:
  _1 = torch.relu(x)
  return torch.mul(_1, _1)
`);
  });
});

describe('calls', () => {
  it('leave out arguments at the end that have their defaults', () => {
    expect(
      body(`graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %3 : float = prim::Constant[value=1.]()
  %4 : NoneType = prim::Constant()
  %5 : int = prim::Constant[value=0]()
  %a : Tensor = aten::add(%x, %y, %1)
  %b : Tensor = aten::add(%x, %y, %2)
  %c : Tensor = aten::add(%x, %y, %3)
  %d : Tensor = aten::slice(%x, %5, %4, %4, %1)
  %e : Tensor = aten::slice(%x, %5, %4, %2, %1)
  %f : (Tensor, Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%a, %b, %c, %d, %e)
  return (%f)`),
    ).toBe(`  a = torch.add(x, y)
  b = torch.add(x, y, alpha=2)
  c = torch.add(x, y, alpha=1.)
  d = torch.slice(x)
  e = torch.slice(x, 0, None, 2)
  return (a, b, c, d, e)
`);
  });

  it('name arguments that are keyword-only, and what is written to', () => {
    expect(
      body(`graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : str = prim::Constant[value="tanh"]()
  %a : Tensor = aten::gelu(%x, %2)
  %3 : Tensor = aten::add(%a, %y, %1, %x)
  return (%3)`),
    ).toBe(`  a = torch.gelu(x, approximate="tanh")
  return torch.add(a, y, out=x)
`);
  });

  it('take any number of arguments where the schema does, and stand in their namespace', () => {
    expect(
      body(`graph(%x : Tensor, %n : int):
  %1 : str = prim::Constant[value="{} of {}"]()
  %m : str = aten::format(%1, %n, %x)
   = prim::RaiseException(%m, %1)
  %2 : Tensor = mine::twice(%x)
  return (%2)`),
    ).toBe(`  m = torch.format("{} of {}", n, x)
  ops.prim.RaiseException(m, "{} of {}")
  return ops.mine.twice(x)
`);
  });
});

describe('constants', () => {
  const returned = (type: string, value: string): string =>
    body(`graph():\n  %1 : ${type} = prim::Constant[value=${value}]()\n  return (%1)`).trim();

  it.each([
    ['int', '-9223372036854775808', '-9223372036854775808'],
    ['float', '1e+10', '10000000000'],
    ['float', '2.', '2.'],
    ['float', '-0.', '-0.'],
    ['float', '0.1', '0.10000000000000001'],
    ['float', '1e-40', '9.9999999999999993e-41'],
    ['bool', '1', 'True'],
    ['str', '"a\\tb\\"c\\\\"', '"a\\tb\\"c\\\\"'],
    ['Device', '"cuda:1"', 'torch.device("cuda:1")'],
    ['int[]', '[1, 2]', '[1, 2]'],
    ['bool[]', '[1, 0]', '[True, False]'],
  ])('%s %s', (type, value, text) => {
    expect(returned(type, value)).toBe(`return ${text}`);
  });

  it('are said at the top where they are long, and by name where Python cannot say them', () => {
    const constants: IValue[] = [];
    const zeros = (...sizes: number[]): Tensor => Tensor.empty(sizes, 'float32');
    const fn = functionOfIr(`graph(%x : Tensor):
  %1 : str = prim::Constant[value="a text that is longer than forty characters"]()
  %2 : str = prim::Constant[value="short"]()
  %3 : str = aten::format(%1, %2)
  return (%3)`);
    const { graph } = fn;
    graph.withInsertPoint(graph.block.returnNode, () => {
      const made = [zeros(2), zeros(2), zeros(3), toByteString('é')].map((value) => graph.insertConstant(value));
      const tuple = graph.insertNode(graph.createTuple([graph.outputs[0], ...made])).output();
      graph.block.replaceOutput(0, tuple);
    });
    expect(print(fn, {}, constants)).toBe(`def f(x: Tensor) -> str:
  _0 = "a text that is longer than forty characters"
  _1 = (torch.format(_0, "short"), CONSTANTS.c0, CONSTANTS.c0, CONSTANTS.c1, CONSTANTS.c2)
  return _1
`);
    expect(constants).toHaveLength(3);
    expect((constants[1] as Tensor).sizes).toEqual([3]);
    expect(constants[2]).toBe('\xc3\xa9');
  });
});

describe('statements', () => {
  it('are an If with and without outputs', () => {
    expect(
      body(`graph(%x : int, %y : int):
  %1 : int = prim::Constant[value=1]()
  %2 : bool = aten::gt(%x, %y)
  %z : int, %w : int? = prim::If(%2)
    block0():
      %3 : int = aten::add(%x, %1)
      -> (%3, %x)
    block1():
      %4 : bool = aten::lt(%x, %1)
       = prim::If(%4)
        block0():
          %5 : str = prim::Constant[value="small"]()
          %6 : NoneType = prim::Constant()
           = prim::RaiseException(%5, %6)
          -> ()
        block1():
          -> ()
      -> (%y, %y)
  %v : int? = prim::If(%2)
    block0():
      -> (%w)
    block1():
      -> (%x)
  %7 : (int, int?) = prim::TupleConstruct(%z, %v)
  return (%7)`),
    ).toBe(`  _0 = torch.gt(x, y)
  if _0:
    z, w = torch.add(x, 1), x
  else:
    if torch.lt(x, 1):
      ops.prim.RaiseException("small")
    else:
      pass
    z, w = y, y
  if _0:
    v : Optional[int] = w
  else:
    v = x
  return (z, v)
`);
  });

  it('are loops that count and loops with a condition', () => {
    expect(
      body(`graph(%n : int):
  %1 : int = prim::Constant[value=1]()
  %2 : bool = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=9223372036854775807]()
  %s : int, %t : int? = prim::Loop(%n, %2, %1, %n)
    block0(%i : int, %a : int, %b : int?):
      %4 : int = aten::add(%a, %i)
      -> (%2, %4, %b)
  %5 : bool = aten::lt(%s, %n)
  %u : int = prim::Loop(%3, %5, %s)
    block0(%6 : int, %a.2 : int):
      %c : int = aten::add(%a.2, %1)
      %7 : bool = aten::lt(%c, %n)
      -> (%7, %c)
  %8 : int = aten::add(%u, %s)
  return (%8)`),
    ).toBe(`  s = 1
  t: Optional[int] = n
  for i in range(n):
    s, t = torch.add(s, i), t
  u = s
  _0 = torch.lt(s, n)
  while _0:
    c = torch.add(u, 1)
    _0, u = torch.lt(c, n), c
  return torch.add(u, s)
`);
  });

  it('are unpackings, also of one value, lists and dicts that say their types', () => {
    expect(
      body(`graph(%x : (int, str), %l : int[]):
  %a : int, %b : str = prim::TupleUnpack(%x)
  %c : int = prim::ListUnpack(%l)
  %d : int[] = prim::ListConstruct()
  %e : int?[] = prim::ListConstruct(%a, %c)
  %f : Dict(str, int) = prim::DictConstruct(%b, %a)
  %g : Dict(str, int?) = prim::DictConstruct(%b, %c)
  %1 : (int) = prim::TupleConstruct(%a)
  %h : (int[], int?[], Dict(str, int), Dict(str, int?), (int)) = prim::TupleConstruct(%d, %e, %f, %g, %1)
  return (%h)`),
    ).toBe(`  a, b, = x
  c, = l
  d = annotate(List[int], [])
  e = annotate(List[Optional[int]], [a, c])
  f = {b: a}
  g = annotate(Dict[str, Optional[int]], {b: c})
  return (d, e, f, g, (a,))
`);
  });

  it('are functions that run later', () => {
    expect(
      body(`graph(%x : Tensor):
  %f : Future(Tensor) = prim::fork_0(%x)
  %1 : Tensor = aten::wait(%f)
  return (%1)
with prim::fork_0 = graph(%y : Tensor):
  %2 : Tensor = aten::relu(%y)
  %3 : Tensor = aten::neg(%2)
  return (%3)`),
    ).toBe(`  def __forked_function():
    return torch.neg(torch.relu(x))
  f = fork(__forked_function)
  return torch.wait(f)
`);
  });

  it('are with blocks, and pass in an empty one', () => {
    const guard = new ClassType('__torch__.Guard');
    const fn = functionOfIr(
      `graph(%g : __torch__.Guard, %x : Tensor):
  %n : Tensor = prim::Enter(%g)
  %y : Tensor = aten::relu(%n)
  %1 : Tensor = prim::Exit(%g)
  %2 : Tensor = prim::Enter(%g)
  %3 : Tensor = prim::Exit(%g)
  return (%y)`,
      'f',
      guard,
    );
    expect(print(fn)).toBe(`def f(g: __torch__.Guard,
    x: Tensor) -> Tensor:
  with g as n:
    y = torch.relu(n)
  with g:
    pass
  return y
`);
  });

  it('refuse a loop that counts and has a condition', () => {
    const fn = functionOfIr(`graph(%n : int, %c : bool):
   = prim::Loop(%n, %c)
    block0(%i : int):
      -> (%c)
  return (%n)`);
    expect(() => print(fn)).toThrow(/loop cannot be printed as python/);
  });

  it('refuse closures where they could not be read back', () => {
    const fn = functionOfIr(`graph(%x : Tensor):
  %1 : Tensor = prim::Closure_0()
  return (%x)
with prim::Closure_0 = graph(%y : Tensor):
  %2 : Tensor = aten::neg(%y)
  return (%2)`);
    expect(print(fn)).toBe(`def f(x: Tensor) -> Tensor:
  def _0(y: Tensor):
    return torch.neg(y)
  return x
`);
    expect(() => print(fn, { enforceImportable: true })).toThrow(/closures are not exportable/);
  });
});

describe('PythonPrint', () => {
  it('tells from which source each part of the text came, counted in bytes', () => {
    const fn = functionOfIr(`graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  %1 : Tensor = aten::neg(%y)
  return (%1)`);
    const source = new Source('relu neg', 'net.py');
    const [relu, neg] = fn.graph.nodes();
    relu.setSourceRange(new SourceRange(source, 0, 4));
    neg.setSourceRange(new SourceRange(source, 5, 8));
    const printer = new PythonPrint([], new DependencyTable());
    printer.printFunction(fn);
    const text = printer.toString();
    const found = printer.ranges.map(({ offset, range }, index) => [
      text.slice(offset, printer.ranges[index + 1]?.offset),
      range?.text(),
    ]);
    expect(found).toEqual([
      ['def f(x: Tensor) -> Tensor:\n', undefined],
      ['  y = torch.relu(x)\n', 'relu'],
      ['  return ', undefined],
      ['torch.neg(y)', 'neg'],
      ['\n', undefined],
    ]);
  });

  it('knows the lowest file version that its operators can stand in', () => {
    const versionOf = (line: string): number => {
      const printer = new PythonPrint([], new DependencyTable());
      printer.printFunction(functionOfIr(`graph(%x : Tensor, %s : str):\n  ${line}\n  return (%1)`));
      return printer.minVersion;
    };
    expect(versionOf('%1 : Tensor = aten::relu(%x)')).toBe(1);
    expect(versionOf('%1 : Tensor = aten::div(%x, %x)')).toBe(4);
    expect(versionOf('%1 : Tensor = aten::gelu(%x, %s)')).toBe(10);
  });
});
