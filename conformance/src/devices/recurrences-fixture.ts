import { TensorType } from '@cresset/ir';
import { findRow, registerAllOperators, runOnDevice, runOnHost } from '@cresset/operators';
import { List, numelOf, Tensor, type IValue } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixedGenerator, loweringOn } from '../../../packages/operators/src/operator-fixture.ts';

interface Layer {
  readonly kind: 'lstm' | 'gru' | 'rnn_tanh' | 'rnn_relu';
  /** Steps, sequences, features and features of the state. */
  readonly sizes: readonly [steps: number, batch: number, input: number, hidden: number];
  readonly layers?: number;
  readonly bidirectional?: boolean;
  readonly batchFirst?: boolean;
  readonly biases?: boolean;
  /** Features that the hidden state is projected to. */
  readonly projection?: number;
  /** Sequences that are as long as that step or longer. */
  readonly batchSizes?: readonly number[];
  readonly dispatches: number;
  /** Those of the host, where it turns weights around and lays states out first, or takes all steps at once that are launches elsewhere. */
  readonly onHost?: number;
}

const layers: readonly Layer[] = [
  { kind: 'lstm', sizes: [64, 2, 35, 41], layers: 2, dispatches: 4, onHost: 8 },
  { kind: 'gru', sizes: [64, 1, 17, 64], layers: 2, dispatches: 4, onHost: 8 },
  { kind: 'lstm', sizes: [7, 3, 5, 13], bidirectional: true, batchFirst: true, dispatches: 4, onHost: 8 },
  { kind: 'gru', sizes: [9, 2, 4, 11], bidirectional: true, layers: 2, biases: false, dispatches: 8, onHost: 16 },
  { kind: 'rnn_tanh', sizes: [5, 4, 3, 1], dispatches: 2, onHost: 4 },
  { kind: 'rnn_relu', sizes: [6, 1, 1, 1], dispatches: 2, onHost: 4 },
  { kind: 'lstm', sizes: [5, 1, 2, 1], dispatches: 2, onHost: 4 },
  { kind: 'lstm', sizes: [1, 5, 3, 6], dispatches: 2, onHost: 4 },
  { kind: 'gru', sizes: [4, 3, 5, 7], batchSizes: [3, 3, 3, 3], dispatches: 2, onHost: 4 },
  { kind: 'lstm', sizes: [4, 3, 5, 7], batchSizes: [3, 2, 2, 1], bidirectional: true, dispatches: 10 },
  { kind: 'lstm', sizes: [3, 2, 5, 7], projection: 4, dispatches: 7 },
  { kind: 'lstm', sizes: [3, 1, 5, 300], dispatches: 4, onHost: 2 },
];

/** Recurrent layers on a device against the host's, and how many launches they are. */
export function testRecurrences(open: () => Promise<ComputeDevice>): void {
  let device: ComputeDevice;
  beforeAll(async () => {
    registerAllOperators();
    device = await open();
  });
  afterAll(() => device.dispose());

  let seed = 5;
  function random(...sizes: number[]): Tensor {
    const data = Float32Array.from({ length: numelOf(sizes) }, () => {
      seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
      return seed / 2 ** 31 / Math.sqrt(sizes.at(-1)!);
    });
    return Tensor.fromArray(data, sizes, 'float32');
  }

  function argumentsOf(layer: Layer): IValue[] {
    const { kind, sizes, biases = true, bidirectional = false, projection, batchSizes } = layer;
    const [steps, batch, input, hidden] = sizes;
    const count = layer.layers ?? 1;
    const directions = bidirectional ? 2 : 1;
    const rows = { lstm: 4, gru: 3, rnn_tanh: 1, rnn_relu: 1 }[kind] * hidden;
    const state = projection ?? hidden;
    const params = Array.from({ length: count * directions }, (_, at) => [
      random(rows, at < directions ? input : state * directions),
      random(rows, state),
      ...(biases ? [random(rows), random(rows)] : []),
      ...(projection ? [random(projection, hidden)] : []),
    ]).flat();
    const states = (features: number): Tensor => random(count * directions, batch, features);
    const hx = kind === 'lstm' ? new List(TensorType.get(), [states(state), states(hidden)]) : states(state);
    const options = [new List(TensorType.get(), params), biases, BigInt(count), 0, false, bidirectional];
    if (batchSizes) {
      const data = random(
        batchSizes.reduce((sum, each) => sum + each, 0),
        input,
      );
      const lengths = Tensor.fromArray(BigInt64Array.from(batchSizes, BigInt), [batchSizes.length], 'int64');
      return [data, lengths, hx, ...options];
    }
    const batchFirst = layer.batchFirst ?? false;
    return [batchFirst ? random(batch, steps, input) : random(steps, batch, input), hx, ...options, batchFirst];
  }

  describe('recurrent layers on the device', () => {
    it.each(layers.map((layer, at) => ({ name: `${layer.kind} #${at}`, layer })))('$name', async ({ layer }) => {
      const row = findRow(`aten::${layer.kind}`, layer.batchSizes ? 'data' : 'input')!;
      const args = argumentsOf(layer);
      const host = { generator: fixedGenerator, gradEnabled: false, print: () => undefined, warn: () => undefined };
      const expected = runOnHost(row, args, host) as Tensor[];
      const before = device.counters.dispatches;
      const results = (await runOnDevice(row, args, loweringOn(device))) as Tensor[];
      const { host: isHost } = device.capabilities;
      expect(device.counters.dispatches - before).toBe((isHost && layer.onHost) || layer.dispatches);
      await Promise.all(results.map(({ storage }) => storage.toHost()));
      for (const [at, result] of results.entries()) {
        const want = Array.from(expected[at].contiguousArray(), Number);
        const got = Array.from(result.contiguousArray(), Number);
        expect(got.length).toBe(want.length);
        const worst = got.reduce((most, value, i) => Math.max(most, Math.abs(value - want[i])), 0);
        expect(worst).toBeLessThan(2e-5);
      }
    });
  });
}
