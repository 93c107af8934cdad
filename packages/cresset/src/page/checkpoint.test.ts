import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { load, loadCheckpoint, tensor, type Tensor } from '../index.ts';
import { failure } from '../../../../test-setup/failure.ts';

const file = (path: string): Uint8Array => new Uint8Array(readFileSync(new URL(path, import.meta.url)));
const checkpoint = (name: string): Promise<Map<string, Tensor>> =>
  loadCheckpoint(file(`../../../archive/fixtures/${name}`), { worker: false });
const digits = () =>
  load(file('../../../../apps/playground/public/models/digits.pt'), { device: 'cpu', worker: false });

describe('loadCheckpoint', () => {
  it('gives tensors by name', async () => {
    const tensors = await checkpoint('training.pth');
    expect(tensors.get('model.fc.weight')!.tolist()).toEqual([
      [0, 0.25, 0.5],
      [0.75, 1, 1.25],
    ]);
    expect(tensors.get('best.1')!.item()).toBe(7);
  });

  it('gives tensors of every dtype', async () => {
    const lists = Object.fromEntries(
      [...(await checkpoint('dtypes.pth'))].map(([name, each]) => [name, each.tolist()]),
    );
    expect(lists).toMatchObject({
      uint32: [0, 1, 4294967295],
      uint64: [0, 1, 2n ** 64n - 1n],
      float8_e4m3fn: [0, 1, 1.5, -2, 448],
      complex32: [
        [1, 2],
        [-0, -0.5],
      ],
      qint8: [-1, 0, 0.5, 1],
      quint8: [
        [0, 1],
        [0, 4],
      ],
      qint32: [-100, 100],
    });
  });
});

describe('loadStateDict', { timeout: 60_000 }, () => {
  it('puts tensors into a model, which then computes with them', async () => {
    const model = await digits();
    const before = await model.stateDict();
    const x = tensor(new Float32Array(784).fill(0.5), { shape: [1, 1, 28, 28] });
    const scores = [...((await model.forward(x)) as Tensor).data].map(Number);
    const zeros = ({ data, shape, dtype }: Tensor): Tensor =>
      tensor(
        Array.from(data as ArrayLike<number | bigint>, () => 0),
        { shape, dtype },
      );
    const state = new Map([...before].map(([name, each]) => [name, zeros(each)]));
    expect(await model.loadStateDict(state)).toEqual({ missingKeys: [], unexpectedKeys: [] });
    const uniform = ((await model.forward(x)) as Tensor).tolist() as number[][];
    expect(new Set(uniform[0]).size).toBe(1);
    await model.loadStateDict(Object.fromEntries(before));
    // A run that is replayed rounds elsewhere.
    const again = [...((await model.forward(x)) as Tensor).data].map(Number);
    again.forEach((score, at) => expect(score).toBeCloseTo(scores[at], 5));
    expect(again).toHaveLength(scores.length);
    await model.dispose();
  });

  it('says with the words of PyTorch what does not fit, and changes nothing', async () => {
    const model = await digits();
    const [first, second, ...rest] = [...(await model.stateDict())];
    const [name, { shape }] = first;
    const state = new Map([...rest, ['other.weight', second[1]] as const]);
    const missing = await failure(model.loadStateDict(state));
    expect([missing.code, missing.message]).toEqual([
      'STATE_DICT',
      `Error(s) in loading state_dict for DigitClassifier:\n\tMissing key(s) in state_dict: "${name}", "${second[0]}". \n\tUnexpected key(s) in state_dict: "other.weight". `,
    ]);
    expect(await model.loadStateDict(state, { strict: false })).toEqual({
      missingKeys: [name, second[0]],
      unexpectedKeys: ['other.weight'],
    });
    const mismatch = await failure(
      model.loadStateDict(new Map([[name, tensor([1, 2, 3])], ...rest]), { strict: false }),
    );
    expect(mismatch.message).toBe(
      `Error(s) in loading state_dict for DigitClassifier:\n\tsize mismatch for ${name}: copying a param with shape torch.Size([3]) from checkpoint, the shape in current model is torch.Size([${shape.join(', ')}]).`,
    );
    await model.dispose();
  });

  it('converts dtypes, and takes a part of a checkpoint by its prefix', async () => {
    const model = await digits();
    const [[name, { shape, numel }]] = await model.parameters();
    const halves = tensor(new Float32Array(numel).fill(0.1), { shape });
    const half = tensor(Array.from(halves.data, Number), { shape, dtype: 'float16' });
    const state = { [`model.${name}`]: half, 'optimizer.step': tensor([1]) };
    const report = await model.loadStateDict(state, { strict: false, prefix: 'model.' });
    expect(report.unexpectedKeys).toEqual([]);
    expect((await model.parameter(name)).data[0]).toBe(0.0999755859375);
    await model.dispose();
  });
});
