import { readFileSync } from 'node:fs';
import { MemorySource, readModule, WHOLE_FILE_BYTES, ZipReader, ZipWriter } from '@cresset/archive';
import { Tensor, type IValue, type ScriptObject } from '@cresset/tensor';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { registerAllParts } from '../../all-parts.ts';
import { GraphExecutor } from '../../executor/graph-executor.ts';
import { initializeRuntime } from '../../initialize.ts';
import { ProgramParts } from '../program-parts.ts';
import { HostedModel } from '../hosted-model.ts';

beforeAll(() => {
  initializeRuntime();
  registerAllParts();
});
afterEach(() => vi.restoreAllMocks());

/** Has seven layers with weights, and recurrent ones with eight, besides two tables of embeddings. */
const file = new Uint8Array(readFileSync(new URL('../../../../archive/fixtures/quantized-layers.pt', import.meta.url)));
const WEIGHTS = 15;
const { signal } = new AbortController();

/** The same model in a file of which only is read what is needed. */
async function largeFile(): Promise<Uint8Array> {
  const zip = await ZipReader.open(new MemorySource(file));
  const writer = new ZipWriter();
  for (const name of zip.entries.keys()) writer.write(name, new Uint8Array(await zip.read(name)));
  writer.write('padding', new Uint8Array(WHOLE_FILE_BYTES));
  return writer.finish();
}

/** A model, and what was done for it since it was asked last: weights that were packed, and plans that were made, by method. */
async function open(bytes: Uint8Array) {
  const loaded = await readModule(bytes);
  const model = new HostedModel(
    loaded,
    { device: null, report: { kind: 'cpu' } as never },
    { print: () => {}, warn: () => {} },
    new ProgramParts(null),
  );
  const read = vi.spyOn(Tensor.prototype, 'storageArray');
  const plan = vi.spyOn(GraphExecutor.prototype, 'makePlan');
  const packed = loaded.pendingStates.map(({ object }) => object).filter(({ type }) => /Linear|Conv/.test(type.str()));
  const done = (): { packed: number; plans: number; restoring: number } => {
    const weights = new Set<IValue>(packed.map((object) => object.getAttribute('_weight')));
    const planned = (plan.mock.contexts as GraphExecutor[]).map(({ name }) => name);
    const counts = {
      packed: (read.mock.contexts as Tensor[]).filter((tensor) => weights.has(tensor)).length,
      plans: planned.filter((name) => name === 'forward').length,
      restoring: planned.filter((name) => name === '__setstate__').length,
    };
    read.mockClear();
    plan.mockClear();
    return counts;
  };
  const input = Tensor.fromArray(
    Float32Array.from({ length: 240 }, (_, index) => Math.sin(index) * 2),
    [1, 8, 5, 6],
    'float32',
  );
  const call = (): Promise<IValue> => model.runner.call('forward', [input]);
  const isUnread = (object: ScriptObject): boolean => (object.getAttribute('_weight') as Tensor).storage.isUnread;
  return { loaded, model, done, call, countUnread: () => packed.filter(isUnread).length };
}

describe('packed weights', () => {
  it('are packed once, when the model is loaded, and its plan is made then', async () => {
    const { model, done, call } = await open(file);
    await model.prepare(signal);
    expect(done()).toMatchObject({ packed: WEIGHTS, plans: 1 });
    await call();
    expect(done()).toMatchObject({ packed: 0, plans: 0 });
    await call();
    expect(done()).toMatchObject({ packed: 0, plans: 0 });
    model.dispose();
  });

  it('are read from a large file, and packed, when they are needed', async () => {
    const { model, done, call, countUnread } = await open(await largeFile());
    await model.prepare(signal);
    expect(countUnread()).toBe(WEIGHTS);
    expect(done()).toMatchObject({ packed: 0, plans: 1 });
    await call();
    expect(done()).toMatchObject({ packed: WEIGHTS, plans: 0 });
    await call();
    expect(done()).toMatchObject({ packed: 0, plans: 0 });
    model.dispose();
  });

  it('of a large file are packed when they are read before the first call', async () => {
    const { model, done, call } = await open(await largeFile());
    await model.prepare(signal);
    done();
    await model.preload(signal);
    expect(done()).toMatchObject({ packed: WEIGHTS, plans: 0 });
    await call();
    expect(done()).toMatchObject({ packed: 0, plans: 0 });
    model.dispose();
  });

  it('of objects of one class are restored by one plan', async () => {
    const { loaded, model, done } = await open(file);
    await model.prepare(signal);
    const classes = new Set(loaded.pendingStates.map(({ object }) => object.type));
    expect([loaded.pendingStates.length, classes.size, done().restoring]).toEqual([20, 5, 5]);
    model.dispose();
  });
});
