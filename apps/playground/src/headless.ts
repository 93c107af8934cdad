import { load, tensor, type Tensor } from 'cresset';
import { bundledModel } from './model/model-source.ts';
import { deviceName } from './pieces/device-name.ts';
import { digitStrokes, strokeInk } from './digits/strokes.ts';

/** What a run without a user reports, for whoever drives the page. */
export interface HeadlessResult {
  readonly answer: string;
  readonly device: string;
  /** Of one call after the first, whose shaders are compiled by then. */
  readonly milliseconds: number;
  readonly inWorker: boolean;
}

declare global {
  var __cresset_result: HeadlessResult | { readonly error: string } | undefined;
}

const drawnDigit = 3;
const side = 28;

async function classifyOnce(): Promise<HeadlessResult> {
  const model = await load(bundledModel.input);
  const picture = tensor(strokeInk(digitStrokes[drawnDigit], side), [1, 1, side, side]);
  await model.forward(picture);
  const probabilities = [...((await model.forward(picture)) as Tensor).data] as number[];
  const best = Math.max(...probabilities);
  const { place, lastRun: profile } = model;
  return {
    answer: `the drawn ${drawnDigit} is a ${probabilities.indexOf(best)} (${(100 * best).toFixed(1)} %)`,
    device: deviceName(place),
    milliseconds: profile?.milliseconds ?? Number.NaN,
    inWorker: place.thread === 'worker',
  };
}

/** Runs the bundled model by itself and leaves what came out in `__cresset_result`. */
export async function runHeadless(): Promise<void> {
  try {
    globalThis.__cresset_result = await classifyOnce();
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    globalThis.__cresset_result = { error: reason };
  }
}
