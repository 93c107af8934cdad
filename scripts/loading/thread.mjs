// Takes programs one by one through the published library, with an engine that has no parts yet and with one that has all.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

const dist = new URL('../../packages/cresset/dist/', import.meta.url);
const library = await import(new URL('cresset.js', dist).href);
const everything = await import(new URL('engine-full.js', dist).href);

const ARRAYS = {
  float64: Float64Array,
  float32: Float32Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int64: BigInt64Array,
  int32: Int32Array,
  int16: Int16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
  complex64: Float32Array,
  complex128: Float64Array,
};
const FLOATS = { nan: Number.NaN, inf: Infinity, '-inf': -Infinity, '-0': -0 };

function tensorOf({ dtype, shape, data, bin, offset = 0 }, folder) {
  const count = shape.reduce((product, size) => product * size, 1) * (dtype.startsWith('complex') ? 2 : 1);
  const length = count * ARRAYS[dtype].BYTES_PER_ELEMENT;
  const bytes = bin ? readFileSync(join(folder, bin)).subarray(offset, offset + length) : Buffer.from(data, 'base64');
  return library.tensor(new ARRAYS[dtype](Uint8Array.from(bytes).buffer), { shape, dtype });
}

/** A value of a case as it is given to a model. */
function inputOf(json, folder) {
  const all = (items) => items.map((item) => inputOf(item, folder));
  if (json === null || typeof json === 'boolean') return json;
  if ('tensor' in json) return tensorOf(json.tensor, folder);
  if ('int' in json) return BigInt(json.int);
  if ('float' in json) return typeof json.float === 'number' ? json.float : FLOATS[json.float];
  if ('complex' in json) {
    const [re, im] = json.complex.map((part) => inputOf({ float: part }, folder));
    return { re, im };
  }
  if ('str' in json) return json.str;
  if ('device' in json) return json.device;
  if ('list' in json) return all(json.list);
  if ('tuple' in json) return all(json.tuple);
  if ('dict' in json) return new Map(json.dict.map(all));
  throw new Error(`no argument of a model: ${Object.keys(json)}`);
}

const digest = (text) => createHash('sha1').update(text).digest('base64');

function digestOf(output) {
  const plain = (_, value) => {
    if (typeof value === 'bigint') return `${value}n`;
    return value instanceof Map ? [...value] : value;
  };
  return digest(JSON.stringify(output, plain) ?? '');
}

/** Notes what comes of something: a digest of the result, or the error. */
async function note(steps, what, run, digestResult = digestOf) {
  try {
    const result = await run();
    steps.push({ what, result: digestResult(result) });
    return result;
  } catch (error) {
    steps.push({ what, error: `${error.code ?? error.name}: ${error.message}` });
    return null;
  }
}

const isDone = () => 'done';

/** Warnings are numbered through all programs of a thread. */
const graphText = async (graph) => (await graph).replace(/warn_id=\d+/g, 'warn_id');

async function takeFile({ file, entry, calls, folder, isRandom }, steps) {
  const model = await note(steps, 'load', () => library.load(file, { device: 'cpu' }), isDone);
  if (!model) {
    await note(steps, 'loadCheckpoint', () => library.loadCheckpoint(file));
    return [];
  }
  const classes = new Set();
  for (const { name, className, methods } of model.namedModules()) {
    if (classes.has(className)) continue;
    classes.add(className);
    const module = name === '' ? model : model.submodule(name);
    for (const method of methods) await note(steps, `${className}.${method}`, () => graphText(module.graph(method)));
  }
  for (const { inputs, kwargs = {}, entry: own = entry } of calls) {
    const named = Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, inputOf(value, folder)]));
    const call = () =>
      model.call(
        own,
        inputs.map((each) => inputOf(each, folder)),
        { kwargs: named },
      );
    await note(steps, `call of ${own}`, call, isRandom ? isDone : digestOf);
  }
  return model.parts;
}

async function takeSource({ source, entry, calls, folder, isRandom }, steps) {
  const unit = await note(steps, 'script', () => library.script(source, { device: 'cpu' }), isDone);
  if (!unit) return [];
  for (const name of unit.functions) await note(steps, name, () => graphText(unit.function(name).graph()));
  for (const { inputs, kwargs = {}, entry: own = entry } of calls) {
    const named = Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, inputOf(value, folder)]));
    const call = () =>
      unit.function(own).run(
        inputs.map((each) => inputOf(each, folder)),
        { kwargs: named },
      );
    await note(steps, `call of ${own}`, call, isRandom ? isDone : digestOf);
  }
  return (await note([], '', () => unit.function(entry).explain()))?.parts ?? [];
}

async function outcomeWith(engine, program) {
  library.provideEngine(engine);
  const steps = [];
  const parts = await (program.file === undefined ? takeSource : takeFile)(program, steps);
  await library.shutdown();
  return { steps, parts };
}

function differenceOf(steps, wanted) {
  for (const [at, { what, result, error }] of steps.entries()) {
    const other = wanted[at];
    if (error !== other?.error)
      return `${what}: ${error ?? 'no error'} (with every part: ${other?.error ?? 'no error'})`;
    if (result !== other.result) return `${what} gives something else than with every part`;
  }
  return steps.length === wanted.length ? null : `${wanted.length - steps.length} steps less than with every part`;
}

for (const [at, program] of workerData.entries()) {
  const engine = await import(new URL(`engine.js?${at}`, dist).href);
  const { steps, parts } = await outcomeWith(engine, program);
  const { steps: wanted } = await outcomeWith(everything, program);
  parentPort.postMessage({
    name: program.name,
    parts,
    error: wanted.find(({ error }) => error !== undefined)?.error ?? null,
    difference: differenceOf(steps, wanted),
  });
}
