import { Tensor, type IValue } from '@cresset/tensor';
import { beforeAll, expect, test } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import type { Code } from '../interpreter/code/code.ts';
import { Program } from '../executor/program-fixture.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ComputingDevice } from './fake-device-fixture.ts';
import type { StretchPlanner } from './stretch-planner.ts';

beforeAll(registerAllParts);

const scaled = `
graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %a : Tensor = aten::mul(%x, %2)
  %b : Tensor = aten::add(%a, %y, %1)
  %c : Tensor = aten::neg_(%b)
  return (%a, %c)
`;

const row = (...values: number[]): Tensor => Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');

async function numbers(value: IValue): Promise<number[]> {
  const { storage } = value as Tensor;
  await storage.toHost();
  return Array.from((value as Tensor).contiguousArray() as Float32Array);
}

/** A graph on a device that does all that it can, and how many of its launches were replayed in the latest call. */
class Planned {
  readonly fake = new ComputingDevice();
  readonly context = new RuntimeContext({
    print: () => undefined,
    device: this.fake.device,
    limits: { smallWork: -1 },
  });
  readonly program: Program;

  constructor(text: string) {
    this.program = new Program(text, this.context);
  }

  get planner(): StretchPlanner {
    return this.context.planner as StretchPlanner;
  }

  async call(...args: IValue[]): Promise<readonly IValue[]> {
    return this.program.run(args);
  }

  /** The numbers that a call gives, and how many replays it took. */
  async outcome(...args: IValue[]): Promise<[number[][], number]> {
    const before = this.fake.replays.length;
    const results = await this.call(...args);
    return [await Promise.all(results.map(numbers)), this.fake.replays.length - before];
  }
}

test('what a call did is recorded, and done again without launching anything', async () => {
  const planned = new Planned(scaled);
  expect(await planned.outcome(row(1, 2), row(3, 4))).toEqual([
    [
      [2, 4],
      [-5, -8],
    ],
    0,
  ]);
  const { dispatches } = planned.fake.counters;
  expect(dispatches).toBeGreaterThan(0);
  expect(await planned.outcome(row(5, 6), row(7, 8))).toEqual([
    [
      [10, 12],
      [-17, -20],
    ],
    1,
  ]);
  expect(planned.fake.counters.dispatches).toBe(dispatches);
});

test('no replay writes over what another one handed out', async () => {
  const planned = new Planned(scaled);
  const kept: (readonly IValue[])[] = [];
  for (const run of [1, 2, 3]) kept.push(await planned.call(row(run), row(0)));
  const values = await Promise.all(kept.flat().map(numbers));
  expect(values).toEqual([[2], [-2], [4], [-4], [6], [-6]]);
});

test('a recording holds for tensors that lie as those did which it was made with; others have their own', async () => {
  const planned = new Planned(scaled);
  for (const run of [0, 1]) {
    const wide = row(1, 9, 2, 9);
    const strided = (): Tensor => wide.asStrided([2], [2]);
    expect(await planned.outcome(row(1, 2), row(3, 4))).toEqual([
      [
        [2, 4],
        [-5, -8],
      ],
      run,
    ]);
    expect(await planned.outcome(row(1, 2, 3), row(3, 4, 5))).toEqual([
      [
        [2, 4, 6],
        [-5, -8, -11],
      ],
      run,
    ]);
    expect(await planned.outcome(strided(), row(3, 4))).toEqual([
      [
        [2, 4],
        [-5, -8],
      ],
      run,
    ]);
  }
  // A tensor given twice is one storage, which was two.
  const both = row(1, 2);
  expect(await planned.outcome(both, both)).toEqual([
    [
      [2, 4],
      [-3, -6],
    ],
    0,
  ]);
  const again = row(2, 3);
  expect(await planned.outcome(again, again)).toEqual([
    [
      [4, 6],
      [-6, -9],
    ],
    1,
  ]);
});

const ofLength = (length: number): Tensor => row(...Array.from({ length }, (_, at) => at));

test('shapes that never come again are recorded three times, and not any more', async () => {
  const planned = new Planned(scaled);
  for (let length = 1; length <= 100; length++) {
    const [[a, c], replays] = await planned.outcome(ofLength(length), ofLength(length));
    expect([a.length, a.at(-1), c.length, replays]).toEqual([length, 2 * (length - 1), length, 0]);
  }
  expect(planned.fake.recorded).toBe(3);
});

test('shapes that come in turns are recorded when they come again, and replayed from then on', async () => {
  const planned = new Planned(scaled);
  const replays: number[] = [];
  for (let round = 0; round < 4; round++) {
    const before = planned.fake.replays.length;
    for (let length = 1; length <= 20; length++) await planned.call(ofLength(length), ofLength(length));
    replays.push(planned.fake.replays.length - before);
  }
  expect(replays).toEqual([0, 3, 20, 20]);
  expect(planned.fake.recorded).toBe(20);
});

test('beside a shape that is always replayed, those that never come again are not recorded either', async () => {
  const planned = new Planned(scaled);
  for (let length = 2; length <= 50; length++) {
    await planned.call(ofLength(1), ofLength(1));
    await planned.call(ofLength(length), ofLength(length));
  }
  expect(planned.fake.recorded).toBe(4);
  // What came before is worth a recording the second time.
  const again = async (): Promise<number> => (await planned.outcome(ofLength(40), ofLength(40)))[1];
  expect([await again(), await again(), await again()]).toEqual([0, 1, 1]);
  expect(planned.fake.recorded).toBe(5);
});

test('what is written over is written over by a replay as well', async () => {
  const planned = new Planned(`
graph(%x : Tensor):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %1, %1)
  %b : Tensor = aten::mul_(%x, %a)
  %c : Tensor = aten::add_(%a, %b, %1)
  return (%c)
`);
  for (const run of [0, 1, 1, 1]) {
    const x = row(1, 2, 3);
    expect(await planned.outcome(x)).toEqual([[[4, 9, 16]], run]);
    expect(await numbers(x)).toEqual([2, 6, 12]);
  }
});

test('a replay that lacks memory does nothing: the instructions are run one by one', async () => {
  const planned = new Planned(scaled);
  const call = () => planned.outcome(row(1, 2), row(3, 4));
  await call();
  expect((await call())[1]).toBe(1);
  planned.fake.failsAt = 2;
  expect(await call()).toEqual([
    [
      [2, 4],
      [-5, -8],
    ],
    0,
  ]);
  expect(planned.fake.failsAt).toBe(-1);
  expect((await call())[1]).toBe(1);
});

test('other errors of a replay are those of the call', async () => {
  const planned = new Planned(scaled);
  await planned.call(row(1), row(2));
  planned.fake.recorder.replay = () => {
    throw new TypeError('for this test');
  };
  const call = planned.call(row(1), row(2)).then(
    () => null,
    (error: unknown) => error,
  );
  expect(String(await call)).toContain('for this test');
});

test('another recording that begins meanwhile ends the one that waits, which holds up to there', async () => {
  const planned = new Planned(scaled);
  const { planner } = planned;
  const after = planner.after.bind(planner);
  // Both begin further on in their storage: a recording holds wherever that is.
  const from = (offset: number, ...values: number[]): Tensor => row(...values).asStrided([2], [1], offset);
  const shared = from(1, 0, 1, 2);
  let code: Code | null = null;
  planner.after = (instruction) => {
    after(instruction);
    if (code) return;
    // After the first instruction another call is recorded from beginning to end.
    const waiting = planner.suspend()!;
    code = waiting.frame.code;
    expect(planned.program.run([shared, row(1, 1)])).toHaveLength(2);
    planner.resume(waiting);
  };
  expect(await planned.outcome(shared, row(3, 4))).toEqual([
    [
      [2, 4],
      [-5, -8],
    ],
    0,
  ]);
  expect(planner.report(code!).map(({ reason }) => reason)).toContain('another call');
  for (const x of [shared, from(2, 9, 9, 1, 2), from(0, 1, 2)]) {
    expect((await planned.outcome(x, row(3, 4)))[0]).toEqual([
      [2, 4],
      [-5, -8],
    ]);
  }
  expect((await planned.outcome(from(3, 9, 9, 9, 1, 2), row(3, 4)))[1]).toBeGreaterThan(0);
});

test('all that was recorded is given up at once', async () => {
  const planned = new Planned(scaled);
  await planned.call(row(1), row(2));
  await planned.call(row(1, 2), row(2, 3));
  planned.planner.clear();
  expect(planned.fake.forgotten).toBe(2);
  expect((await planned.outcome(row(1), row(2)))[1]).toBe(0);
});
