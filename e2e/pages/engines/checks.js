// What the built package has to do in an engine of another make than Chromium's: the same for all of them, by plain means, since this
// file runs in a page as well as in Deno.
import { programs } from './programs.js';

/** Largest difference from PyTorch's numbers that counts as the same answer; of a program, relative to the largest number. */
const tolerance = 1e-4;
const halfTolerance = 4e-3;

function hold(condition, complaint) {
  if (!condition) throw new Error(complaint);
}

function largestDifference(got, wanted) {
  hold(got.length === wanted.length, `${got.length} elements, not ${wanted.length}`);
  let largest = 0;
  // A NaN has to show, and a comparison would hide it.
  for (let index = 0; index < got.length; index++)
    largest = Math.max(largest, Math.abs(Number(got[index]) - Number(wanted[index])));
  return largest;
}

const tensorsOf = (value) => (Array.isArray(value) ? value.flatMap(tensorsOf) : [value]);

function holdSame(onGpu, onHost, name) {
  const [got, wanted] = [tensorsOf(onGpu), tensorsOf(onHost)];
  hold(got.length === wanted.length, `${got.length} results, not ${wanted.length}`);
  wanted.forEach((expected, at) => {
    const actual = got[at];
    const what = `result ${at} of ${name}`;
    hold(actual.dtype === expected.dtype, `${what} is ${actual.dtype}, not ${expected.dtype}`);
    hold(String(actual.shape) === String(expected.shape), `${what} has shape ${actual.shape}, not ${expected.shape}`);
    const isHalf = name === 'halves';
    const scale = Math.max(1, ...Array.from(expected.data, (element) => Math.abs(Number(element))));
    const allowed = expected.dtype.startsWith('float') ? (isHalf ? halfTolerance : tolerance) * scale : 0;
    const difference = largestDifference(actual.data, expected.data);
    hold(difference <= allowed, `${what} differs by ${difference}, where ${allowed} is allowed`);
  });
}

/**
 * The digit classifier from a file, as PyTorch has it. The second call is written down, and compiles what its launches become together; the third is
 * replayed, and compiles nothing.
 */
async function checkDigits({ load, tensor }, { file, expected }, worker) {
  const model = await load(file, { device: 'webgpu', worker });
  const { picture, pictureScale, shape, probabilities, seen } = expected;
  const pixels = tensor(
    Float32Array.from(picture, (value) => value / pictureScale),
    shape,
  );
  for (let run = 0; run < 3; run++) {
    const difference = largestDifference((await model.forward(pixels)).data, probabilities);
    hold(difference < tolerance, `the probabilities differ by ${difference}`);
  }
  const { lastRun: profile, place } = model;
  hold(place.device === 'webgpu', `it ran on ${place.device}: ${place.reason}`);
  hold(place.thread === (worker ? 'worker' : 'page'), `it ran in the ${place.thread}: ${place.threadReason}`);
  hold(profile.hostFallback.length === 0, `on the host: ${profile.hostFallback.map(([name]) => name)}`);
  hold(profile.submits === 1 && profile.shaders === 0, `${profile.submits} submits and ${profile.shaders} new shaders`);
  hold(profile.replayed === profile.dispatches, `${profile.replayed} of ${profile.dispatches} launches are replayed`);
  const centred = await model.call('centred', [pixels]);
  hold(largestDifference(centred.data, seen) < tolerance, 'the centred picture differs');
  await model.dispose();
}

async function checkProgram({ script, tensor }, { name, source, inputs }) {
  const run = async (device) => {
    const unit = await script(source, { device });
    const values = inputs.map(({ data, shape, dtype }) => tensor(data, shape, dtype ? { dtype } : {}));
    const result = await unit[name](...values);
    const { operators } = await unit[name].explain();
    await unit.dispose();
    return { result, isOnGpu: operators.some(({ placement }) => placement === 'device') };
  };
  const [onHost, onGpu] = [await run('cpu'), await run('webgpu')];
  holdSame(onGpu.result, onHost.result, name);
  hold(onGpu.isOnGpu, 'nothing ran on the GPU');
}

/** What a kernel finds wrong comes up as PyTorch's error with the place in the program, and nothing of it stays. */
async function checkError({ script, tensor }) {
  const unit = await script('def f(table, i):\n    return F.embedding(i, table)\n', { device: 'webgpu' });
  const table = tensor(new Float32Array(40_000), [2000, 20]);
  const rows = (last) => tensor([...Array.from({ length: 1999 }, () => 0n), last], [2000], { dtype: 'int64' });
  const error = await unit.f(table, rows(2000n)).then(
    () => null,
    (reason) => reason,
  );
  hold(error?.message.includes('index out of range in self'), `not the error: ${error}`);
  hold(error.message.includes('in f'), `no place in the program: ${error.message}`);
  hold((await unit.f(table, rows(7n))).shape[0] === 2000, 'the next call fails');
  await unit.dispose();
}

/**
 * @param {object} libraries what `cresset` and `cresset/full` export
 * @param {{ file: Uint8Array, expected: object }} digits the model's file and PyTorch's answer
 * @returns {Promise<{ name: string, error: string | null, milliseconds: number }[]>}
 */
export async function runChecks({ cresset, full }, digits) {
  const checks = [
    ['digits in a worker', () => checkDigits(cresset, digits, true)],
    ['digits in this thread', () => checkDigits(cresset, digits, false)],
    ['digits with everything at once', () => checkDigits(full, digits, true)],
    ['an index out of range', () => checkError(cresset)],
    ...programs.map((program) => [program.name, () => checkProgram(cresset, program)]),
  ];
  const outcomes = [];
  for (const [name, check] of checks) {
    const start = performance.now();
    const error = await check().then(
      () => null,
      (reason) => String(reason?.message ?? reason),
    );
    outcomes.push({ name, error, milliseconds: Math.round(performance.now() - start) });
  }
  return outcomes;
}
