import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, type Page } from '@playwright/test';
import type * as Cresset from 'cresset';

declare global {
  // Every test page gives the library this name.
  var cresset: typeof Cresset;
}

/** One drawing and what PyTorch makes of it; written by scripts/digits/train.py. */
interface Expectation {
  readonly shape: number[];
  readonly picture: number[];
  readonly pictureScale: number;
  readonly digit: number;
  readonly probabilities: number[];
  /** What the model's `centred` gives for the drawing. */
  readonly seen: number[];
}

const models = new URL('../apps/playground/public/models/', import.meta.url);

export const digitsFile = fileURLToPath(new URL('digits.pt', models));
export const expected: Expectation = JSON.parse(readFileSync(new URL('digits.json', models), 'utf8'));

/** Largest difference from PyTorch's numbers that counts as the same answer. */
const tolerance = 1e-4;

export interface DigitsRun {
  readonly probabilities: number[];
  readonly seen: number[];
  readonly place: Cresset.ModelPlace;
  /** Of the second call, which finds its shaders compiled. */
  readonly profile: Cresset.RunProfile;
}

/** Loads the digit classifier in a page that has the library, and runs it twice. */
export async function runDigits(
  page: Page,
  address: string,
  device: Cresset.LoadOptions['device'] = 'webgpu',
  cache = false,
) {
  await page.waitForFunction(() => 'cresset' in globalThis);
  return page.evaluate(
    async ({ url, on, keep, shape, picture, pictureScale }): Promise<DigitsRun> => {
      const { load, tensor } = globalThis.cresset;
      const model = await load(url, { device: on, cache: keep });
      const pixels = tensor(
        Float32Array.from(picture, (value) => value / pictureScale),
        shape,
      );
      // The second call is recorded, the third the first to be replayed.
      await model.forward(pixels);
      await model.forward(pixels);
      const probabilities = (await model.forward(pixels)) as Cresset.Tensor;
      const { place, lastRun: profile } = model;
      const seen = (await model.call('centred', [pixels])) as Cresset.Tensor;
      await model.dispose();
      return {
        probabilities: [...(probabilities.data as Float32Array)],
        seen: [...(seen.data as Float32Array)],
        place,
        profile: profile!,
      };
    },
    { url: address, on: device, keep: cache, ...expected },
  );
}

/** Holds a run's numbers to PyTorch's. */
export function expectPyTorchsAnswer(run: DigitsRun): void {
  expect(largestDifference(run.probabilities, expected.probabilities)).toBeLessThan(tolerance);
  expect(largestDifference(run.seen, expected.seen)).toBeLessThan(tolerance);
}

export function largestDifference(got: readonly number[], wanted: readonly number[]): number {
  expect(got).toHaveLength(wanted.length);
  // A NaN has to show, and Math.max keeps it.
  return Math.max(...got.map((value, index) => Math.abs(value - wanted[index])));
}

/** Holds a run to have been done on WebGPU in a Worker, without an operator that fell back to the host. */
export function expectOnGpuInWorker({ place, profile }: DigitsRun): void {
  expect(place).toMatchObject({ device: 'webgpu', thread: 'worker' });
  expect(profile.hostFallback).toEqual([]);
  expect(profile.dispatches).toBeGreaterThan(0);
}
