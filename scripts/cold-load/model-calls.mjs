// The first answer of whole models: what is called until there is one, of the first case that is recorded for each.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const modelFolder = fileURLToPath(new URL('../../../shared/models/', import.meta.url));

/** The models of the folder that have a file and cases of it. */
export const modelNames = () => readdirSync(modelFolder).filter((name) => firstCalls(name) !== null);

/**
 * The file and the calls of a model of the folder, and what the last of them gives; null where it is not there. Tensors are `{ dtype, shape, base64 }`.
 */
export function firstCalls(name) {
  const folder = `${modelFolder}${name}/`;
  const file = `${name.replaceAll('-', '_')}.pt`;
  if (!existsSync(`${folder}cases.jsonl`)) return null;
  const cases = readFileSync(`${folder}cases.jsonl`, 'utf8').split('\n').filter(Boolean);
  const found = cases.map((line) => JSON.parse(line)).find((each) => each.file === file);
  if (!found) return null;
  const { entry = 'forward', calls, rtol, atol } = found;
  const named = calls.map((call) => ({
    method: call.entry ?? entry,
    inputs: call.inputs.map((v) => plain(v, folder)),
  }));
  const first = named.findIndex(({ method }) => method === entry);
  const output = plain(calls[first].output, folder);
  return { path: `${name}/${file}`, calls: named.slice(0, first + 1), expected: { output, rtol, atol } };
}

function plain(value, folder) {
  if (value === null || typeof value !== 'object') return value;
  if ('list' in value) return value.list.map((item) => plain(item, folder));
  if ('tuple' in value) return value.tuple.map((item) => plain(item, folder));
  if ('int' in value) return Number(value.int);
  if ('dict' in value) return value.dict.map(([, item]) => plain(item, folder));
  if (!('tensor' in value)) throw new Error(`an input of a kind that is not known here: ${Object.keys(value)}`);
  const { dtype, shape, data, bin, offset = 0 } = value.tensor;
  if (bin === undefined) return { dtype, shape, base64: data };
  const size =
    { float32: 4, int64: 8, int32: 4, bool: 1 }[dtype] * shape.reduce((product, length) => product * length, 1);
  const bytes = readFileSync(folder + bin).subarray(offset, offset + size);
  return { dtype, shape, base64: bytes.toString('base64') };
}

/**
 * Milliseconds from the bytes of a model to its first answer, by the clock and of the processor, as `processorSeconds` tells them. Runs in Node, and in a page, where the
 * library is `cresset` and the bytes are fetched before the time begins; it sees nothing else of this file.
 */
export async function timeFirstAnswer({
  calls,
  device,
  address,
  bytes,
  cresset = globalThis.cresset,
  processorSeconds = globalThis.processorSeconds,
}) {
  const content = bytes ?? new Uint8Array(await (await fetch(address)).arrayBuffer());
  const arrays = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array, bool: Uint8Array };
  const inputOf = async (value) => {
    if (Array.isArray(value)) return Promise.all(value.map(inputOf));
    if (value === null || typeof value !== 'object') return value;
    const { dtype, shape, base64 } = value;
    const elements = await (await fetch(`data:application/octet-stream;base64,${base64}`)).arrayBuffer();
    return cresset.tensor(new arrays[dtype](elements), { shape, dtype });
  };
  const ready = [];
  for (const { method, inputs } of calls) ready.push({ method, inputs: await inputOf(inputs) });
  const processorBegin = await processorSeconds();
  const begin = performance.now();
  const model = await cresset.load(content, { device });
  for (const { method, inputs } of ready) await model.call(method, inputs);
  const clock = performance.now() - begin;
  return { clock, processor: 1000 * ((await processorSeconds()) - processorBegin) };
}
