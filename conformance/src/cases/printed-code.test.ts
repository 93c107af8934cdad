import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { CodeFiles, type Dependency, readModule, SourceImporter } from '@cresset/archive';
import { declareScript } from '@cresset/frontend';
import { FunctionType, lint, Source } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { initializeRuntime } from '@cresset/runtime';
import { Dict, type IValue, List, ScriptObject, Tuple } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ProgramCase } from './case.ts';

/** Cases and models made by PyTorch lie beside the repository; where they do not, there is nothing to compare with. */
const shared = fileURLToPath(new URL('../../../../shared/', import.meta.url));
const digits = fileURLToPath(new URL('../../../apps/playground/public/models/digits.pt', import.meta.url));

beforeAll(() => {
  registerAllOperators();
  initializeRuntime();
});

type Texts = ReadonlyMap<string, string>;

/** The code of a program, file by file, and how to get the same program from it again. */
class Printed {
  readonly #code = new CodeFiles();
  readonly #roots: readonly Dependency[];

  constructor(...roots: readonly Dependency[]) {
    this.#roots = roots;
    for (const root of roots) this.#code.print(root);
    for (const root of roots) this.#code.printWithDependencies(root);
  }

  /** In the order of their names. */
  get texts(): Texts {
    const texts = [...this.#code.files].map(([path, file]) => [path, file.toString()] as const);
    return new Map(texts.sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  reimported(): Printed {
    const { texts } = this;
    const importer = new SourceImporter({
      sourceOf: (path) => (texts.has(path) ? new Source(texts.get(path)!, path) : undefined),
      constants: this.#code.constants,
      formatVersion: Math.max(3, this.#code.minVersion),
    });
    const roots = this.#roots.map((root) => {
      const name = this.#code.nameOf(root);
      return importer.findType(name) ?? new FunctionType(importer.findFunction(name)!);
    });
    for (const fn of importer.unit.functions) lint(fn.graph);
    return new Printed(...roots);
  }
}

/** The classes of a module and of all objects in it, in the order in which they are pickled. */
function classesIn(module: ScriptObject): readonly Dependency[] {
  const classes = new Set<Dependency>();
  const visit = (value: IValue): void => {
    if (value instanceof ScriptObject) {
      classes.add(value.type);
      value.slots.forEach(visit);
    } else if (value instanceof List || value instanceof Tuple) {
      value.items.forEach(visit);
    } else if (value instanceof Dict) {
      for (const [key, item] of value.entries) [key, item].forEach(visit);
    }
  };
  visit(module);
  return [...classes];
}

/** Counts how many of `names` hold; fails with the first ones that do not, where they are fewer than `atLeast` of all. */
async function expectMost(
  names: readonly string[],
  atLeast: number,
  holds: (name: string) => Promise<boolean | 'skip'> | boolean | 'skip',
): Promise<void> {
  const failed: string[] = [];
  let count = 0;
  for (const name of names) {
    const result = await holds(name);
    if (result !== 'skip') count++;
    if (result === false) failed.push(name);
  }
  if (env['SHOW_FAILURES']) console.log(failed.join('\n'));
  expect(count).toBeGreaterThan(0);
  expect((count - failed.length) / count, failed.slice(0, 5).join('\n')).toBeGreaterThanOrEqual(atLeast);
}

describe('printed code', () => {
  /** Texts that come out as they went in. */
  const programs: Readonly<Record<string, string>> = {
    'an If with and without outputs': `def f(x: int,
    y: int) -> int:
  if torch.gt(x, y):
    z, w = torch.add(x, 1), 2
  else:
    if torch.lt(x, y):
      ops.prim.RaiseException("smaller")
    else:
      pass
    z, w = y, x
  return torch.add(z, w)
`,
    'an Optional, which says its type once': `def f(x: int) -> Optional[int]:
  if torch.gt(x, 1):
    y : Optional[int] = x
  else:
    y = None
  return y
`,
    'loops that count and loops with a condition': `def f(xs: List[int],
    n: int) -> int:
  s = 0
  for i in range(torch.len(xs)):
    s = torch.add(s, xs[i])
  t: Optional[int] = None
  for i0 in range(n):
    t = i0
  s0 = s
  _0 = torch.lt(s, n)
  while _0:
    s1 = torch.add(s0, 1)
    _0, s0 = torch.lt(s1, n), s1
  _1 = torch.add(s0, torch._unwrap_optional(t))
  return _1
`,
    'tuples and lists': `def f(x: Tuple[int, Tuple[int, str]]) -> Tuple[int, int, Tuple[str], List[int], List[Optional[int]]]:
  a, b, = x
  c, d, = b
  e = annotate(List[int], [])
  _0 = torch.append(e, (x)[0])
  _1 = annotate(List[Optional[int]], [a, None])
  _2 = torch._set_item(e, 0, a)
  g, = [c]
  return (a, g, (d,), e, _1)
`,
    'casts, isinstance and unwrapping': `def f(x: Optional[int],
    y: Any) -> int:
  if torch.__is__(x, None):
    z = -1
  else:
    z = unchecked_cast(int, x)
  _0 = isinstance(y, int)
  if _0:
    y0 = unchecked_cast(int, y)
    w = torch.add(y0, z)
  else:
    w = z
  _1 = torch.add(w, torch._unwrap_optional(x))
  return _1
`,
    'several outputs, uninitialised values, printing': `def f(x: Tensor,
    flag: bool) -> Tensor:
  _0 = uninitialized(Tensor)
  v, i = torch.sort(x)
  print("sorted", v, i)
  if flag:
    y = torch.sum(v, [0], True)
  else:
    ops.prim.RaiseException("no flag")
    y = _0
  return torch.add(y, x, alpha=3.)
`,
    'what runs later': `def f(x: Tensor) -> Tensor:
  def __forked_function():
    y = torch.relu(x)
    return torch.neg(y)
  later = fork(__forked_function)
  return torch.mul(torch.wait(later), x)
`,
    'defaults of every type': `def f(a: int=3,
    b: float=1.5,
    c: str="it\\'s",
    d: bool=True,
    e: Optional[Tensor]=None,
    g: Tuple[int, int]=(1, 2),
    h: Device=torch.device("cpu")) -> int:
  return a
`,
    'with blocks': `def f(g: __torch__.Guard,
    x: int) -> int:
  with g as n:
    y = torch.add(n, x)
  with g:
    pass
  return y
class Guard:
  depth : int
  def __enter__(self: __torch__.Guard) -> int:
    return self.depth
  def __exit__(self: __torch__.Guard,
    type: Any,
    value: Any,
    tb: Any) -> NoneType:
    return None
`,
    'classes, interfaces, enums and named tuples': `def f(n: int,
    c: __torch__.Color) -> __torch__.Pair:
  s = __torch__.Stack.__new__(__torch__.Stack)
  _0 = (s).__init__(n, )
  if torch.eq(c, __torch__.Color.RED):
    m = (c).value
  else:
    m = (s).top()
  return __torch__.Pair(m, __torch__.use(s, ))
class Color(Enum):
  RED = 1
  BLUE = 2
class Pair(NamedTuple):
  first : int
  second : int
def use(x: __torch__.Topped) -> int:
  return (x).top()
class Stack:
  items : List[int]
  limit : Final[int] = 3
  def __init__(self: __torch__.Stack,
    n: int) -> NoneType:
    self.items = [n]
    return None
  def top(self: __torch__.Stack) -> int:
    items = self.items
    return items[-1]
class Topped(Interface):
  def top(self) -> int:
    pass
`,
  };

  it.each(Object.entries(programs))('gives %s again', (_what, text) => {
    const importer = new SourceImporter({
      sourceOf: (path) => (path === '__torch__.py' ? new Source(text, path) : undefined),
      constants: [],
      formatVersion: 10,
    });
    const fn = new FunctionType(importer.findFunction('__torch__.f')!);
    expect([...new Printed(fn).texts]).toEqual([['__torch__.py', text]]);
  });

  it('has static methods as functions beside their classes, from where they read back', () => {
    const source = `
class Box(object):
    @staticmethod
    def make(n: int) -> int:
        return n * 2

def f(n: int):
    return Box.make(n)
`;
    const { unit } = declareScript(source, { module: 'program' });
    const printed = new Printed(new FunctionType(unit.getFunction('__torch__.f')));
    expect([...printed.texts]).toEqual([
      ['__torch__.py', 'def f(n: int) -> int:\n  return __torch__.program.make(n, )\n'],
      ['__torch__/program.py', 'def make(n: int) -> int:\n  return torch.mul(n, 2)\n'],
    ]);
    expect(printed.reimported().texts).toEqual(printed.texts);
  });

  it('of a loaded module is that in its file, and reads back to itself', async () => {
    const { module, code } = await readModule(readFileSync(digits));
    const printed = new Printed(...classesIn(module));
    expect(printed.texts).toEqual(textsOf(code));
    expect(printed.reimported().texts).toEqual(printed.texts);
  });
});

const textsOf = (code: ReadonlyMap<string, Source>): Texts =>
  new Map([...code].map(([path, { text }]): [string, string] => [path.replace('code/', ''), text]).sort());

const filesBelow = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = `${folder}/${name}`;
    if (statSync(path).isDirectory()) return filesBelow(path);
    return /\.ptl?$/.test(name) ? [path] : [];
  });

describe.skipIf(!existsSync(shared))('printed code of programs made by PyTorch (needs ../shared)', () => {
  /** Whether the code of a file's module is printed as `matches` wants it; skips what cannot be loaded or compiled. */
  const holds = async (
    file: string,
    matches: (printed: Printed, texts: Texts) => boolean,
  ): Promise<boolean | 'skip'> => {
    let printed: Printed;
    let texts: Texts;
    try {
      const { module, code } = await readModule(readFileSync(file));
      printed = new Printed(...classesIn(module));
      texts = textsOf(code);
    } catch {
      return 'skip';
    }
    return matches(printed, texts);
  };
  const isSame = (left: Texts, right: Texts): boolean => JSON.stringify([...left]) === JSON.stringify([...right]);

  it('is the code in their files', { timeout: 300_000 }, async () => {
    // One file is of a PyTorch that printed otherwise; one was frozen, which leaves what compiling would have taken out.
    await expectMost(filesBelow(`${shared}models`), 0.96, (file) =>
      holds(file, (printed, texts) => isSame(printed.texts, texts)),
    );
  });

  it('reads back to itself', { timeout: 600_000 }, async () => {
    const cases = filesBelow(`${shared}conformance/jit/pt`).filter((_, index) => index % 4 === 0);
    await expectMost([...filesBelow(`${shared}models`), ...cases], 1, (file) =>
      holds(file, (printed) => isSame(printed.reimported().texts, printed.texts)),
    );
  });

  it('of source text reads back to itself, at the latest when read a second time', { timeout: 300_000 }, async () => {
    const programs = new Map<string, ProgramCase>();
    for (const name of readdirSync(`${shared}conformance/jit`).filter((each) => each.endsWith('.jsonl'))) {
      for (const line of readFileSync(`${shared}conformance/jit/${name}`, 'utf8').trim().split('\n')) {
        const each = JSON.parse(line) as ProgramCase;
        if (each.source !== undefined && each.compile_error === undefined) programs.set(each.id, each);
      }
    }
    const print = ({ source, entry }: ProgramCase): Printed | undefined => {
      try {
        const { unit } = declareScript(source ?? '', { module: 'program' });
        return new Printed(new FunctionType(unit.getFunction(`__torch__.${entry}`)));
      } catch {
        return undefined;
      }
    };
    // PyTorch too refines types a second time where a cast of a Union is read back.
    for (const [times, atLeast] of [
      [0, 0.99],
      [1, 1],
    ]) {
      await expectMost([...programs.keys()], atLeast, (id) => {
        let printed = print(programs.get(id)!);
        if (!printed) return 'skip';
        for (let count = 0; count < times; count++) printed = printed.reimported();
        return isSame(printed.reimported().texts, printed.texts);
      });
    }
  });
});
