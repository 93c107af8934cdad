import { CompilationUnit, CressetError, ErrorReport, lint, Source, type Graph, type Value } from '@cresset/ir';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { declareFunctions } from './define.ts';
import { NATIVE_RESOLVER } from './native-resolver.ts';
import { registerTestOperators } from './operators-fixture.ts';
import { parseProgram } from './parser/parser.ts';
import { declareScript, script } from './script.ts';

beforeAll(registerTestOperators);

/** The graph of the last function of a source, without passes behind it, and without the constants that nobody uses. */
function compile(source: string): Graph {
  const { graph } = script(source)
    .functions.filter((fn) => !fn.qualifiedName.includes('.C.'))
    .at(-1)!;
  lint(graph);
  return graph;
}

/** Kinds of a graph's nodes in order, blocks in brackets, constants left out. */
function shape(graph: Graph): string {
  const ofBlock = (block: Graph['block']): string =>
    Array.from(block.nodes())
      .filter((node) => node.kind !== 'prim::Constant' && node.kind !== 'prim::Uninitialized')
      .map((node) => {
        const name = node.kind.replace(/^(aten|prim)::/, '');
        return node.blocks.length === 0 ? name : `${name}[${node.blocks.map(ofBlock).join(' | ')}]`;
      })
      .join(' ');
  return ofBlock(graph.block);
}

function failure(source: string): ErrorReport {
  try {
    script(source);
  } catch (error) {
    expect(error).toBeInstanceOf(ErrorReport);
    return error as ErrorReport;
  }
  throw new Error('it compiles');
}

const typeOf = (value: Value): string => value.type.annotationStr();

describe('expressions', () => {
  it('takes the overload that the types ask for', () => {
    expect(shape(compile('def f(x, y: int):\n  return x + y'))).toBe('add');
    expect(typeOf(compile('def f(y: int):\n  return y + 1.5').outputs[0]!)).toBe('float');
    expect(typeOf(compile('def f(y: str):\n  return y + "a"').outputs[0]!)).toBe('str');
  });

  it('refuses what only Python has in the words of PyTorch', () => {
    expect(failure('def f(x: int):\n  return vars(x)').message).toContain(
      'Python builtin <built-in function vars> is currently not supported in Torchscript',
    );
    expect(failure('def f(x: List[int]):\n  return set(x)').message).toContain(
      "set(Tensor 0) -> Tensor 0:\nExpected a value of type 'Tensor' for argument '0' but instead found type 'List[int]'.",
    );
    expect(failure('def f(x):\n  return x[...]').message).toContain('Cannot emit expr for: (dots)');
  });

  it('turns the number on the left of a tensor around', () => {
    expect(shape(compile('def f(x):\n  return 2 - x'))).toBe('neg add');
  });

  it('makes a named tuple of several results', () => {
    const graph = compile('def f(x):\n  m = x.max(1)\n  return m.indices');
    expect(shape(graph)).toContain('max TupleConstruct');
    expect(graph.toString()).toContain('NamedTuple(values : Tensor, indices : Tensor)');
  });

  it('indexes tensors by views and one index', () => {
    expect(shape(compile('def f(x):\n  return x[0, 1:, None, ..., -1]'))).toBe('select slice unsqueeze select');
    expect(shape(compile('def f(x, i: Tensor):\n  return x[:, i]'))).toBe('slice ListConstruct index');
    expect(shape(compile('def f(x):\n  return x[[0, 1]]'))).toContain('tensor');
    expect(shape(compile('def f(x):\n  x[0] = 1\n  return x'))).toBe('select dtype device tensor copy_');
    expect(shape(compile('def f(x, i: Tensor):\n  x[i] += 1\n  return x'))).toBe('ListConstruct index add_ index_put_');
  });

  it('spreads a number over a list of fixed length and defaults over the rest', () => {
    const graph = compile('def f(x, w):\n  return torch.conv1d(x, w, None, 2)');
    const conv = [...graph.nodes()].find((node) => node.kind === 'aten::conv1d')!;
    expect(conv.inputs.map(typeOf)).toEqual([
      'Tensor',
      'Tensor',
      'NoneType',
      'List[int]',
      'List[int]',
      'List[int]',
      'int',
    ]);
  });

  it('gathers numbers into a list where one is asked for', () => {
    expect(shape(compile('def f():\n  return torch.zeros(2, 3)'))).toBe('ListConstruct zeros');
  });

  it('lets an empty list be what a call asks for, and a list of tensors else', () => {
    expect(typeOf(compile('def g(x: List[int]):\n  return x\ndef f():\n  return g([])').outputs[0]!)).toBe('List[int]');
    expect(typeOf(compile('def f():\n  a = []\n  return a').outputs[0]!)).toBe('List[Tensor]');
  });

  it('makes numbers of tensors where numbers are asked for', () => {
    expect(shape(compile('def g(i: int):\n  return i\ndef f(x):\n  return g(x)'))).toBe('IntImplicit CallFunction');
  });
});

describe('control flow', () => {
  it('makes assigned variables outputs of branches and loops', () => {
    const graph = compile('def f(x, n: int):\n  for i in range(n):\n    if i < 2:\n      x = x + 1\n  return x');
    expect(shape(graph)).toBe('Loop[lt If[add | ]]');
    const loop = [...graph.nodes()].find((node) => node.kind === 'prim::Loop')!;
    expect([loop.inputs.length, loop.outputs.length, loop.blocks[0]!.outputs.length]).toEqual([3, 1, 2]);
  });

  it('evaluates the condition of a while before the loop and in its body', () => {
    expect(shape(compile('def f(i: int):\n  while i < 3:\n    i += 1\n  return i'))).toBe('lt Loop[add lt]');
  });

  it('makes one if of an early return and what follows', () => {
    expect(shape(compile('def f(x, c: bool):\n  if c:\n    return x\n  return x + 1'))).toBe('If[ | add]');
  });

  it('keeps two ifs of the program apart, but for a condition of and and or', () => {
    const flag = 'def f(c: bool, x):\n  if c:\n    y = True\n  else:\n    y = False\n';
    expect(shape(compile(`${flag}  if y:\n    x = -x\n  return x`))).toBe('If[ | ] If[neg | ]');
    expect(shape(compile('def f(c: bool, x):\n  if c and True:\n    x = -x\n  return x'))).toBe('If[neg | ]');
    expect(shape(compile('def f(c: bool, x):\n  if (True if c else False):\n    x = -x\n  return x'))).toBe(
      'If[ | ] If[neg | ]',
    );
  });

  it('guards what follows a break, and counts the rounds itself', () => {
    const graph = compile(
      'def f(n: int):\n  s = 0\n  for i in range(n):\n    if i == 3:\n      break\n    s += i\n  return s',
    );
    expect(shape(graph)).toBe('gt Loop[eq If[ | add] add lt __and__]');
  });

  it('carries the value returned out of loops', () => {
    const graph = compile('def f(l: List[int]):\n  for i in l:\n    if i == 3:\n      return i\n  return -1');
    expect(shape(graph)).toMatch(/Loop\[.*If/);
    expect(typeOf(graph.outputs[0]!)).toBe('int');
  });

  it('unrolls loops over tuples, whose items may be of different types', () => {
    expect(shape(compile('def f(x):\n  t = (1, x)\n  for a in t:\n    print(a)'))).toBe(
      'TupleConstruct TupleUnpack Print Print',
    );
  });

  it('iterates several things side by side', () => {
    const source = 'def f(a: List[int], b: List[int]):\n  for i, (x, y) in enumerate(zip(a, b)):\n    print(i, x, y)';
    expect(shape(compile(source))).toMatch(/^len len ListConstruct min Loop\[__getitem__ __getitem__ .*Print\]$/);
  });

  it('compiles only the branch that can be taken', () => {
    expect(
      shape(compile('def f(x):\n  if torch.jit.is_scripting():\n    return x\n  else:\n    return unknown(x)')),
    ).toBe('is_scripting');
    expect(shape(compile('def f(x):\n  if isinstance(x, int):\n    return unknown(x)\n  return x'))).toBe(
      'unchecked_cast',
    );
  });

  it('raises by an if, with the class of the exception', () => {
    const graph = compile(
      'def f(x, n: int):\n  assert n > 0, "small"\n  if n > 9:\n    raise ValueError(f"{n} is large")\n  return x',
    );
    expect(shape(graph)).toBe('gt If[ | RaiseException] gt If[format RaiseException | ]');
    expect(graph.toString()).toContain('builtins.ValueError');
    expect(graph.toString()).toContain('AssertionError: small');
  });

  it('raises any of Python’s exceptions, and by torch._assert', () => {
    expect(shape(compile('def f(c: bool):\n  if c:\n    raise TimeoutError\n  raise UserWarning("x")'))).toBe(
      'If[RaiseException | ] RaiseException',
    );
    expect(failure('def f(c: bool):\n  raise FooError("x")').message).toContain('undefined value FooError');
    expect(shape(compile('def f(c: bool):\n  torch._assert(c, "x")'))).toBe('If[ | add RaiseException]');
    expect(failure('def f(x: str):\n  torch._assert(x, "x")').message).toContain(
      '_assert(Tensor condition, str message) -> NoneType:',
    );
  });

  it('takes the body of a fork out of the graph', () => {
    const graph = compile(
      'def g(x):\n  return x + 1\ndef f(x):\n  fut = torch.jit.fork(g, x)\n  return torch.jit.wait(fut)',
    );
    expect(shape(graph)).toBe('fork wait');
    const fork = [...graph.nodes()].find((node) => node.kind === 'prim::fork')!;
    expect(shape(fork.g('Subgraph'))).toBe('CallFunction');
  });

  it('takes the body of a fork out of the body of another', () => {
    const graph = compile(
      'def g(x):\n  return x + 1\ndef f(x):\n  def outer():\n    def inner():\n      return g(x)\n    return torch.jit.wait(torch.jit.fork(inner))\n  return torch.jit.wait(torch.jit.fork(outer))',
    );
    const outer = [...graph.nodes()].find((node) => node.kind === 'prim::fork')!.g('Subgraph');
    expect(shape(outer)).toBe('fork wait');
    const inner = [...outer.nodes()].find((node) => node.kind === 'prim::fork')!.g('Subgraph');
    expect(shape(inner)).toBe('CallFunction');
  });
});

describe('refinement', () => {
  it('knows that an optional is there', () => {
    const graph = compile(
      'def f(x: Optional[Tensor], y):\n  if x is not None and x.dim() == 2:\n    y = x\n  return y',
    );
    expect(typeOf(graph.outputs[0]!)).toBe('Tensor');
    expect(shape(graph)).toContain('unchecked_cast');
    expect(shape(compile('def f(x: Optional[int]) -> int:\n  if x is None:\n    return 0\n  return x'))).toContain(
      'unchecked_cast',
    );
  });

  it('narrows unions by isinstance', () => {
    const source =
      'def f(x: Union[int, str, List[int]]) -> int:\n  if isinstance(x, (int, list)):\n    return 1\n  else:\n    return len(x)';
    expect(shape(compile(source))).toBe('isinstance If[unchecked_cast | unchecked_cast len]');
  });

  it('keeps an optional one where nothing is known', () => {
    expect(failure('def f(x: Optional[int]) -> int:\n  return x').reason).toContain(
      'Return value was annotated as having type int but is actually of type Optional[int]',
    );
  });
});

describe('classes', () => {
  it('takes attributes from __init__, and calls methods, properties and operators', () => {
    const unit = script(`
class C:
    def __init__(self, n: int):
        self.n = n
    def __add__(self, other: int) -> int:
        return self.n + other
    @property
    def twice(self) -> int:
        return self.n * 2
    @twice.setter
    def twice(self, value: int) -> None:
        self.n = value
    @staticmethod
    def make(n: int) -> int:
        return n

def f(n: int):
    c = C(n)
    c.twice = 4
    c.n += 1
    return c + 1, c.twice, C.make(2)
`);
    const type = unit.getClass('__torch__.C')!;
    expect(type.attributes.map(({ name, type: attribute }) => `${name}: ${attribute}`)).toEqual(['n: int']);
    expect(shape(unit.getFunction('__torch__.f').graph)).toBe(
      'CreateObject CallMethod CallMethod GetAttr add SetAttr CallMethod CallMethod CallFunction TupleConstruct',
    );
  });

  it('copies a dict into a union of dicts and others', () => {
    const graph = compile('def f(x):\n  y: Union[Dict[str, Tensor], int] = dict({"a": x}, b=x)\n  return y');
    expect(shape(graph)).toMatch(/^DictConstruct dict _set_item/);
  });

  it('knows named tuples, enums and dataclasses', () => {
    const unit = script(`
class P(NamedTuple):
    a: int
    b: int = 2

class Color(int, Enum):
    RED = 1
    BLUE = 2

@dataclass
class D:
    x: int
    y: int = 3
    z: str = "q\\n"

def f():
    p = P(1)
    d = D(4)
    return p.b, Color.RED.value, Color.BLUE.name, d.y
`);
    expect(unit.types.map((type) => type.kind).sort()).toEqual(['ClassType', 'EnumType', 'TupleType']);
    expect(shape(unit.getFunction('__torch__.f').graph)).toContain('EnumValue EnumName GetAttr');
  });

  it('enters and leaves a with, whatever way', () => {
    const graph = compile(`
class C:
    def __init__(self):
        self.n = 0
    def __enter__(self):
        self.n += 1
    def __exit__(self, type: Any, value: Any, tb: Any):
        self.n -= 1
def f(c: bool):
    with C():
        if c:
            return 1
        print(c)
    return 2
`);
    expect(shape(graph)).toMatch(/CreateObject CallMethod Enter If\[ \| Print\] Exit/);
  });

  it('refuses recursion by name', () => {
    expect(failure('def f(x: int) -> int:\n  return f(x - 1)').reason).toContain("function 'f' is called recursively");
  });
});

describe('errors', () => {
  it('point at the source and tell through which calls it was compiled', () => {
    const { message } = failure('def g(x):\n    return x.foo()\n\ndef f(x):\n    y = g(x)\n    return y\n');
    expect(message).toContain("'Tensor (inferred)' object has no attribute or method 'foo'.");
    expect(message).toContain('    return x.foo()\n           ~~~~~ <--- HERE');
  });

  it('list the variants of a call that fits none', () => {
    const { reason } = failure('def f(x: str):\n    return torch.relu(x)');
    expect(reason).toContain(
      "aten::relu(Tensor self) -> Tensor:\nExpected a value of type 'Tensor' for argument 'self' but instead found type 'str'.",
    );
    expect(failure('def f(x: str):\n    return x - 1').reason).toContain(
      'Arguments for call are not valid.\nThe following variants are available:',
    );
    expect(failure('def f(x):\n    return torch.ops.aten.relx(x)').reason).toContain(
      'Here are some suggestions: \n\taten::relu',
    );
    expect(failure('def f(x):\n    return torch.relx(x)').reason).toBe('object has no attribute relx');
  });

  it.each([
    ['def f():\n  return a', 'undefined value a'],
    ['def f(c: bool):\n  if c:\n    a = 1\n  return a', 'a is not defined in the false branch'],
    [
      'def f(c: bool):\n  a = 1\n  if c:\n    a = "s"\n  return a',
      "Variable 'a' previously had type int but is now being assigned to a value of type str",
    ],
    [
      'def f(x) -> int:\n  print(x)',
      'Function was not annotated as having type None, but does not return along all paths',
    ],
    ['def f(x):\n  a, b = x, x, x', 'too many values to unpack: need 2 but found 3'],
    ['def f(x):\n  break', "SyntaxError: 'break' outside loop"],
    ['def f(x: List):\n  return x', 'Attempted to use List without a contained type'],
    ['def f(x: List[torch.jit.Future]):\n  return x', 'Attempted to use Future without a contained type'],
    [
      'class A:\n  (a, b), [c, d] = (1, 2), [3, 4]\n  def __init__(self): pass\ndef f():\n  return A().d',
      "'d' is defined as a class attribute which currently is not supported",
    ],
    ['class N(NamedTuple):\n  a: int\n  b: List[int]\ndef f():\n  return N("a", [1])', 'N(int a, int[1] b) -> ()'],
    [
      'def f(x: Dict):\n  return x',
      'Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]',
    ],
    ['def f(x: Union):\n  return x', 'Please add a contained type, e.g. Union[int]'],
    ['def f(x: Foo):\n  return x', "Unknown type name 'Foo'"],
    ['def f(x: int):\n  for i in x: pass', "'int' object is not iterable"],
    ['def f(x: Tuple[int, int]):\n  return x[2]', 'Tuple index out of range. Tuple is length 2 and index is 2'],
  ])('%s', (source, reason) => {
    expect(failure(source).message).toContain(reason);
  });

  it('are CressetErrors whatever the text, and never hang', () => {
    const line = fc.constantFrom(
      'x = x + 1',
      'y = x[0]',
      'return x',
      'if x > 0:',
      '  y = 1',
      'else:',
      'for i in range(3):',
      '  break',
      'while y < 3:',
      '  y += 1',
      '  continue',
      '  return y',
      'a = [i for i in (1, 2)]',
      'b: Optional[int] = None',
      'assert b is not None',
      'x, y = y, x',
      'print(x, y)',
      'raise ValueError("m")',
      'd = {"k": x}',
      'del d["k"]',
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        const source = `def f(x, y: int):\n${lines.map((text) => `  ${text}\n`).join('')}`;
        try {
          const { functions } = declareScript(source);
          functions.forEach((fn) => lint(fn.graph));
        } catch (error) {
          expect(error).toBeInstanceOf(CressetError);
          expect((error as CressetError).code).toBe('COMPILE');
        }
      }),
      { numRuns: 600 },
    );
  });
});

it('declares functions from functions only', () => {
  const definitions = parseProgram(new Source('class Pair:\n    a: int\n', 'pair.py'), 'python');
  const declare = () => declareFunctions(new CompilationUnit(), definitions, { resolver: NATIVE_RESOLVER });
  expect(declare).toThrow("expected def but found 'class' here");
});
