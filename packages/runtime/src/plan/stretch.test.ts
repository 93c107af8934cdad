import { TensorType } from '@cresset/ir';
import { List, OpenNumber, Tensor, type IValue, type Storage } from '@cresset/tensor';
import type { ParamExpr } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import type { Code } from '../interpreter/code/code.ts';
import { Frame } from '../interpreter/frame.ts';
import { Execution } from '../run/execution.ts';
import { countNames } from '../run/run-counters.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { FakeDevice, type FakeBuffer } from './fake-device-fixture.ts';
import { GrowingList, liveInOf, type LiveIn } from './recording/live-in.ts';
import { DerivedNumber, openParam } from './recording/open-params.ts';
import { launchStep, type LaunchProgram, type ProgramStep } from './program/launch-program.ts';
import { Stretch } from './stretch.ts';

const code = {
  registerCount: 8,
  constants: [],
  plainConstants: [],
  intRegisters: [],
  countedLists: new Set<number>(),
} as unknown as Code;

const row = (...values: number[]): Tensor => Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');
const elementsOf = (buffer: unknown): number[] => Array.from(new Float32Array((buffer as FakeBuffer).bytes.buffer));

interface Settings {
  readonly liveIns: readonly LiveIn[];
  readonly steps?: readonly ProgramStep[];
  /** What its launch takes along. */
  readonly params?: readonly ParamExpr[];
}

/** A stretch of three instructions that has a tensor of two elements in register 5 at its end, and nothing in register 0. */
class Recorded {
  readonly fake = new FakeDevice();
  readonly context = new RuntimeContext({ print: () => undefined, device: this.fake.device });
  readonly execution = new Execution(this.context);
  readonly stretch: Stretch;

  constructor({ liveIns, steps = [], params = [] }: Settings) {
    const given = new Set(liveIns.flatMap(({ storage }) => (storage < 0 ? [] : storage))).size;
    for (const liveIn of liveIns) liveIn.isGuarded = true;
    const tensors = Array.from({ length: given + 1 }, () => row(0, 0));
    const bindings = tensors.map((tensor, at) => ({
      operand: { tensor, dtype: tensor.dtype },
      stored: at === given,
      layout: tensor.dtype,
    }));
    const made = {
      kind: 'tensor',
      dtype: 'float32',
      sizes: [2],
      strides: [1],
      offset: 0,
      requiresGrad: false,
    } as const;
    const program: LaunchProgram = {
      steps: [
        ...liveIns,
        ...steps,
        launchStep({ bindings, params, kernel: null }),
        { op: 'make', value: { ...made, storage: given } },
        { op: 'result', register: 5, made: 0 },
        { op: 'result', register: 0, made: -1 },
      ],
      storages: new Map(
        tensors.map(({ storage, dtype }, at) => [
          storage,
          { kind: at < given ? 'given' : 'new', dtype, layout: dtype },
        ]),
      ),
      env: null,
    };
    const place = { end: 3, instructions: 3, labels: countNames(['aten::relu']), gradEnabled: false, callers: null };
    this.stretch = new Stretch(place, program, this.fake.device, this.fake.recorder, null);
  }

  frame(...values: IValue[]): Frame {
    const frame = new Frame(code, this.execution.ledger, []);
    values.forEach((value, register) => frame.set(register, value));
    return frame;
  }

  matches(...values: IValue[]): boolean {
    return this.stretch.matches(this.frame(...values), this.context, this.fake.device);
  }

  replay(frame: Frame): void {
    expect(this.stretch.matches(frame, this.context, this.fake.device)).toBe(true);
    this.stretch.replay(frame, this.execution, this.fake.device, this.fake.recorder);
  }
}

/** Live-ins of registers that hold these; tensors of one storage share their place. */
function liveInsOf(values: readonly IValue[], opensOffsets = false): LiveIn[] {
  const storages: Storage[] = [];
  return values.map((value, register) => {
    const rules = { opensOffsets, maxBindingBytes: Infinity };
    const liveIn = liveInOf({ kind: 'register', register }, value, rules)!;
    if (value instanceof Tensor) {
      if (!storages.includes(value.storage)) storages.push(value.storage);
      liveIn.storage = storages.indexOf(value.storage);
    }
    return liveIn;
  });
}

test('a replay gives its launches what it found, and leaves what the instructions left', () => {
  const recorded = new Recorded({ liveIns: liveInsOf([row(1, 2)]) });
  const frame = recorded.frame(row(3, 4));
  recorded.replay(frame);
  const [{ buffers }] = recorded.fake.replays;
  expect(elementsOf(buffers[0])).toEqual([3, 4]);
  const result = frame.get(5) as Tensor;
  expect([result.sizes, result.storage.isOnDevice, frame.values[0]]).toEqual([[2], true, undefined]);
  expect(frame.programCounter).toBe(3);
  const { counters } = recorded.context;
  expect(counters.replayed).toBe(1);
  // It holds on to nothing of it.
  expect(recorded.fake.held.has(buffers[0] as FakeBuffer)).toBe(true);
  const again = recorded.frame(row(5, 6));
  recorded.replay(again);
  expect((again.get(5) as Tensor).storage).not.toBe(result.storage);
});

test('it holds for tensors that lie alike, in as many storages', () => {
  const recorded = new Recorded({ liveIns: liveInsOf([row(1, 2), row(3, 4)]) });
  const both = row(1, 2);
  expect(recorded.matches(row(5, 6), row(7, 8))).toBe(true);
  expect(recorded.matches(both, both)).toBe(false);
  expect(recorded.matches(row(5, 6, 7), row(7, 8))).toBe(false);
  expect(recorded.matches(row(5, 6), 3)).toBe(false);
  expect(recorded.matches(row(5, 6).asStrided([2], [0]), row(7, 8))).toBe(false);
  const shared = new Recorded({ liveIns: liveInsOf([both, both]) });
  expect(shared.matches(row(5, 6), row(7, 8))).toBe(false);
  const other = row(5, 6);
  expect(shared.matches(other, other)).toBe(true);
});

test('of numbers that differ it tells the registers', () => {
  const recorded = new Recorded({ liveIns: liveInsOf([2.5, 'mean']) });
  const varying = (...values: IValue[]): number[] => {
    const registers = new Set<number>();
    recorded.stretch.noteMoved(recorded.frame(...values), recorded.context, registers, new Map());
    return [...registers];
  };
  expect(varying(2.5, 'mean')).toEqual([]);
  expect(varying(3, 'mean')).toEqual([0]);
  expect(varying(3, 'sum')).toEqual([0, 1]);
});

test('numbers that stay open are written with each replay', () => {
  const liveIns = liveInsOf([2.5, row(0, 1, 2).asStrided([2], [1], 1)], true);
  liveIns[0].openUp();
  const recorded = new Recorded({
    liveIns,
    params: [
      openParam('float', new DerivedNumber(liveIns[0].open!, (value) => 2 * Number(value))),
      openParam('i32', liveIns[1].open!),
    ],
  });
  for (const [number, offset] of [
    [2.5, 1],
    [4, 0],
    [-1, 3],
  ])
    recorded.replay(recorded.frame(number, row(0, 1, 2, 3, 4).asStrided([2], [1], offset)));
  expect(recorded.fake.replays.map(({ numbers }) => numbers)).toEqual([
    [5, 1],
    [8, 0],
    [-2, 3],
  ]);
  expect(recorded.stretch.patched).toEqual(['a number of the program', 'where a tensor begins']);
  // What something went by holds for that number alone.
  liveIns[0].open!.isRead = true;
  expect(recorded.matches(4, row(0, 1))).toBe(false);
});

test('what the host looked at has to be as it was', () => {
  const { storage } = row(1, 2);
  const recorded = new Recorded({
    liveIns: liveInsOf([row(1, 2)]),
    steps: [{ op: 'guard', storage, writes: storage.writes, liveIn: -1 }],
  });
  expect(recorded.matches(row(3, 4))).toBe(true);
  storage.hostBytesForWriting();
  expect(recorded.matches(row(3, 4))).toBe(false);
});

test('what the host looked at in a live-in has to be in the tensor that comes', () => {
  const known = row(1, 2);
  const { storage } = known;
  const recorded = new Recorded({
    liveIns: liveInsOf([known]),
    steps: [{ op: 'guard', storage, writes: storage.writes, liveIn: 0 }],
  });
  expect(recorded.matches(known)).toBe(true);
  expect(recorded.matches(row(1, 2))).toBe(false);
});

test('lists grow at their ends, and by nothing where a replay fails', () => {
  const grown = new GrowingList({ kind: 'register', register: 0 });
  const recorded = new Recorded({ liveIns: [grown], steps: [{ op: 'append', list: 0, made: 0 }] });
  const items = new List(TensorType.get(), [row(1)]);
  recorded.replay(recorded.frame(items));
  expect(items.items.map((item) => (item as Tensor).sizes)).toEqual([[1], [2]]);
  recorded.fake.failsAt = 0;
  expect(() => recorded.replay(recorded.frame(items))).toThrow('for this test');
  expect(items.items).toHaveLength(2);
});

test('a replay that fails leaves registers, memory and random numbers as they were', () => {
  const numbers = { key: new OpenNumber(0n), first: new OpenNumber(0n) };
  const recorded = new Recorded({
    liveIns: liveInsOf([row(1, 2)]),
    steps: [{ op: 'draw', count: 10, ...numbers }],
    params: [openParam('i64', numbers.first)],
  });
  const { replay } = recorded.fake.recorder;
  recorded.fake.recorder.replay = () => {
    throw new RangeError('for this test');
  };
  const argument = row(3, 4);
  const frame = recorded.frame(argument);
  expect(() => recorded.replay(frame)).toThrow('for this test');
  expect([frame.get(0), frame.values[5], frame.programCounter]).toEqual([argument, undefined, 0]);
  // The argument's alone: what was made for the replay is given back.
  expect(recorded.fake.held.size).toBe(1);
  recorded.fake.recorder.replay = replay;
  recorded.replay(frame);
  recorded.replay(recorded.frame(row(5, 6)));
  expect(recorded.fake.replays.map((each) => each.numbers)).toEqual([[0n], [10n]]);
});
