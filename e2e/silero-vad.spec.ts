import { existsSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import type { Input, RunProfile, Tensor } from 'cresset';
import { pagesAddress } from './addresses.ts';
import { largestDifference } from './digits.ts';

// A published voice activity detector with cases that PyTorch answered; the folder lies beside the project where it lies at all.
const folder = new URL('../../shared/models/silero-vad/', import.meta.url);
test.skip(!existsSync(folder), 'the folder ../shared/models/silero-vad is not here');

interface TensorJson {
  readonly tensor: {
    readonly shape: number[];
    /** Elements in base64, or where they lie in the binary file. */
    readonly data?: string;
    readonly offset?: number;
  };
}

interface Case {
  readonly id: string;
  readonly entry: string;
  readonly calls: readonly {
    readonly entry?: string;
    readonly inputs: readonly (TensorJson | { readonly int: string })[];
    readonly output?: TensorJson | null;
    /** A part of the message where the call has to fail. */
    readonly raises?: string;
  }[];
}

interface CaseOutcome {
  readonly id: string;
  readonly largestDifference: number;
  readonly failures: string[];
  readonly profile: RunProfile | null;
}

test('speech probabilities on WebGPU are those of PyTorch', async ({ page }) => {
  test.setTimeout(600_000);
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  const { outcomes, place } = await page.evaluate(async () => {
    const { load, tensor } = globalThis.cresset;
    const files = 'shared/models/silero-vad/';
    const [text, binary] = await Promise.all([
      fetch(`${files}cases.jsonl`).then((response) => response.text()),
      fetch(`${files}cases.bin`).then((response) => response.arrayBuffer()),
    ]);
    const model = await load(`${files}silero_vad.pt`, { device: 'webgpu' });

    const elements = ({ tensor: { data, shape, offset } }: TensorJson): Float32Array => {
      const count = shape.reduce((product, size) => product * size, 1);
      if (data === undefined) return new Float32Array(binary, offset, count);
      return new Float32Array(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)).buffer);
    };
    const inputOf = (value: Case['calls'][number]['inputs'][number]): Input =>
      'tensor' in value ? tensor(elements(value), value.tensor.shape) : Number(value.int);
    const differenceFrom = (got: unknown, wanted: TensorJson | null | undefined): number => {
      if (!wanted) return got === null ? 0 : Number.POSITIVE_INFINITY;
      const { data, shape } = got as Tensor;
      if (String(shape) !== String(wanted.tensor.shape)) return Number.POSITIVE_INFINITY;
      return Math.max(0, ...elements(wanted).map((value, index) => Math.abs(value - Number(data[index]))));
    };

    const found: CaseOutcome[] = [];
    for (const line of text.trim().split('\n')) {
      const { id, entry, calls } = JSON.parse(line) as Case;
      const failures: string[] = [];
      let largestDifference = 0;
      for (const [index, call] of calls.entries()) {
        try {
          const got = await model.call(call.entry ?? entry, call.inputs.map(inputOf));
          if (call.raises) failures.push(`call ${index} did not raise "${call.raises}"`);
          else largestDifference = Math.max(largestDifference, differenceFrom(got, call.output));
        } catch (error) {
          const { message, reason = message } = error as Error & { reason?: string };
          if (!call.raises || !message.includes(call.raises)) failures.push(`call ${index}: ${reason}`);
        }
      }
      found.push({ id, largestDifference, failures, profile: model.lastRun });
    }
    return { outcomes: found, place: model.place };
  });

  expect(place).toMatchObject({ device: 'webgpu', thread: 'worker' });
  expect(outcomes).toHaveLength(15);
  for (const { id, largestDifference, failures } of outcomes) {
    test.info().annotations.push({ type: 'largest difference', description: `${id}: ${largestDifference}` });
    expect(failures, id).toEqual([]);
    expect(largestDifference, id).toBeLessThan(1e-4);
  }
  const chunk = outcomes[0].profile!;
  expect(chunk.hostFallback).toEqual([]);
  expect(chunk).toMatchObject({ uploads: 1, submits: 1, readbacks: 1, shaders: 0 });
  expect(chunk.dispatches).toBeLessThanOrEqual(11);
});

test('a recording heard chunk after chunk gives what PyTorch hears in it', async ({ page }) => {
  test.setTimeout(600_000);
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  const { probabilities, wanted, device } = await page.evaluate(async () => {
    const { load, tensor } = globalThis.cresset;
    const files = 'shared/models/silero-vad/';
    const [text, recording] = await Promise.all([
      fetch(`${files}cases.jsonl`).then((response) => response.text()),
      fetch(`${files}speech-16k.wav`).then((response) => response.arrayBuffer()),
    ]);
    const cases = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Case);
    const whole = cases.find(({ id }) => id.endsWith('audio_forward-16k-12s'))!.calls[0].output!.tensor;
    const bytes = Uint8Array.from(atob(whole.data!), (character) => character.charCodeAt(0));

    const header = 44;
    const samples = Float32Array.from(new Int16Array(recording, header), (sample) => sample / 32768);
    const chunkLength = 512;
    const model = await load(`${files}silero_vad.pt`, { device: 'webgpu' });
    await model.call('reset_states', []);
    const heard: number[] = [];
    for (let start = 0; start + chunkLength <= samples.length; start += chunkLength) {
      const chunk = tensor(samples.slice(start, start + chunkLength), [1, chunkLength]);
      heard.push(Number(((await model.forward(chunk, 16000)) as Tensor).item()));
    }
    return { probabilities: heard, wanted: [...new Float32Array(bytes.buffer)], device: model.place.device };
  });
  expect(device).toBe('webgpu');
  expect(Math.max(...wanted)).toBeGreaterThan(0.9);
  expect(largestDifference(probabilities, wanted.slice(0, probabilities.length))).toBeLessThan(1e-4);
  expect(probabilities.length).toBeGreaterThanOrEqual(wanted.length - 1);
});
