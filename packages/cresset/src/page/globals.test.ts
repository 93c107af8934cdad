import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CompilationUnit,
  createModule,
  ignore,
  python,
  script,
  shutdown,
  tensor,
  type GlobalValue,
  type Tensor,
} from '../index.ts';
import { givenValue, globalsFolder, namedGlobals, type Given } from './globals-fixture.ts';
import {
  casesIn,
  decoded,
  expectAlike,
  failure,
  numbered,
  plain,
  trimmed,
  type Encoded,
} from './python-cases-fixture.ts';

interface Case {
  readonly id: string;
  readonly source: string;
  readonly given: readonly (readonly [name: string, given: Given])[];
  readonly make?: readonly [name: string, args: readonly Encoded[]];
  readonly function?: string;
  readonly graph?: string;
  readonly code?: string;
  readonly refused?: string;
  readonly calls: readonly {
    readonly method: string;
    readonly args: readonly Encoded[];
    readonly result?: Encoded;
    readonly raises?: string;
  }[];
  readonly saved?: boolean;
  readonly unsaved?: string;
}

const cases = casesIn<Case>(new URL('cases.jsonl', globalsFolder));
const cpu = { device: 'cpu', worker: false } as const;

describe('names that a program is given', { timeout: 60_000 }, () => {
  let named: ReadonlyMap<string, GlobalValue>;

  beforeAll(async () => {
    ({ named } = await namedGlobals());
  });

  afterAll(() => shutdown());

  it.each(cases.map((each) => [each.id, each] as const))('are what PyTorch takes them for: %s', async (_id, each) => {
    const globals = Object.fromEntries(each.given.map(([name, given]) => [name, givenValue(given, named)]));
    const compiling = script(each.source, { ...cpu, globals });
    const making = each.make
      ? compiling.then((unit) => unit.construct(each.make![0], each.make![1].map(decoded)))
      : compiling;
    if (each.refused !== undefined) {
      const wanted = trimmed(each.refused);
      expect(trimmed(await failure(making)).slice(0, wanted.length)).toBe(wanted);
      return;
    }
    const unit = await compiling;
    const module = each.make ? ((await making) as Awaited<ReturnType<typeof unit.construct>>) : null;
    expect(numbered(module ? await module.graph() : await unit.function(each.function!).graph())).toBe(
      numbered(each.graph!),
    );
    if (each.code !== undefined)
      expect((module ? await module.code('forward') : await unit.function(each.function!).code()).trim()).toBe(
        each.code,
      );
    for (const call of each.calls) {
      const args = call.args.map(decoded);
      const running = module ? module.call(call.method, args) : unit.function(call.method)(...args);
      if (call.raises === undefined) expectAlike(plain(await running), plain(decoded(call.result!)));
      else expect(await failure(running)).toContain(call.raises.replace(/^(\w+: )+/, ''));
    }
    const saving = (): Promise<unknown> => (module ? module.save() : unit.function(each.function!).save());
    if (each.saved) expect(await saving()).toBeInstanceOf(Uint8Array);
    if (each.unsaved !== undefined) expect(trimmed(await failure(saving()))).toContain(trimmed(each.unsaved));
    await unit.dispose();
  });
});

describe('globals', () => {
  afterAll(() => shutdown());

  it('are given to authored modules, and to what is added to a unit', async () => {
    const net = await createModule('Net', cpu);
    const double = (x: Tensor): Tensor => tensor((x.data as Float32Array).map((each) => each * 2));
    await net.define('def forward(self, x):\n    return double(x) + LIMIT', { globals: { double, LIMIT: 0.5 } });
    expect(((await net.forward(tensor([1, 2]))) as Tensor).tolist()).toEqual([2.5, 4.5]);
    const unit = new CompilationUnit(cpu);
    await unit.define('def f(x):\n    return x + LIMIT', { globals: { LIMIT: 1 } });
    await unit.define('def g(x):\n    return f(x) + LIMIT', { globals: { LIMIT: 2 } });
    expect(((await unit.function('g')(tensor([1]))) as Tensor).tolist()).toEqual([4]);
    await Promise.all([net.dispose(), unit.dispose()]);
  });

  it('are values in Python that makes modules', async () => {
    const source =
      'class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n = sum(SIZES) + len(NAME)\n    def forward(self):\n        return self.n';
    const unit = await script(source, { ...cpu, globals: { SIZES: [1, 2, 3], NAME: 'abc' } });
    expect(await (await unit.construct('Net')).forward()).toBe(9);
    await unit.dispose();
  });

  it.each([
    [{ 'not a name': 1 }, /'not a name' cannot be a name in Python/],
    [{ X: python('nope + 1') }, /name 'nope' is not defined/],
    [{ X: python('1 +') }, /expected/],
    [{ X: ignore('(s: Nope) -> int', () => 1) }, /Unknown type name 'Nope'/],
    [{ X: ignore('s: int', () => 1) }, /expected/],
  ] as const)('that mean nothing are errors: %o', async (globals, message) => {
    await expect(script('def f(x):\n    return x', { ...cpu, globals })).rejects.toThrow(message);
  });

  it('say what kinds of enums they are: those of TypeScript have the way back too', async () => {
    const Mode = { 0: 'SUM', 1: 'MEAN', SUM: 0, MEAN: 1 };
    const source = 'def f(n: int):\n    if n == Mode.MEAN.value:\n        return Mode.MEAN\n    return Mode.SUM';
    const unit = await script(source, { ...cpu, globals: { Mode } });
    expect(await unit.function('f')(1)).toEqual({ className: '__torch__.Mode', name: 'MEAN' });
    await unit.dispose();
  });
});
