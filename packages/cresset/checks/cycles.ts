import { createModule, load, memory, setJitOptions, tensor, type Tensor } from '../src/index.ts';
import { LivingObjects } from './living-objects.ts';

const MEGABYTE = 2 ** 20;
/** Kernels that may be kept: those used last, and twice as many at most (`KernelCache`); and the modules of products and the like. */
const MOST_KERNELS = 512 + 32;
/** How much more than in its first third a run may take in its last, of each sort of memory. Engines compile and cache on their own. */
const MOST_GROWTH = 4 * MEGABYTE;
/** After the last model is gone, in milliseconds. */
const REST_MS = 10_000;

/** Bodies of programs over `x` of some rows and 64 columns, with numbers of their own. */
const bodies: readonly ((number: number) => string)[] = [
  (number) => `return torch.relu(x @ self.weight) * ${number}.5 + self.bias`,
  (number) => `h = torch.softmax(x * ${number}.25, 1)\n    return (h @ self.weight).sum(0) + self.bias`,
  (number) =>
    `for i in range(4):\n        x = torch.tanh(x + self.bias * ${number}.5) - x.mean(1, keepdim=True)\n    return x`,
  (number) => `y = x.clone()\n    y[y > 0.${number + 1}] = ${number}.125\n    return torch.cat([y, y.cumsum(1)], 1)`,
  (number) =>
    `self.bias.add_(${number}.0)\n    v, i = torch.sort(x + self.bias, dim=1)\n    return v[:, : ${number + 1}] * 2`,
];

/** A program as a file, of a size of its own. */
async function fileOf(number: number): Promise<Uint8Array> {
  const module = await createModule(`Program${number}`, { device: 'cpu', worker: false });
  const numbers = (count: number): Float32Array =>
    Float32Array.from({ length: count }, (_, at) => Math.sin(at + number));
  await module.registerBuffer('weight', tensor(numbers(64 * 64), [64, 64]));
  await module.registerBuffer('bias', tensor(numbers(64)));
  await module.define(
    `def forward(self, x):\n    ${bodies[number % bodies.length](Math.floor(number / bodies.length))}\n`,
  );
  const file = await module.save();
  await module.dispose();
  return file;
}

const rowsOf = (number: number): number => 8 + 37 * number;

/** Loads a program, has it run three times (as it is, recorded, replayed) and disposes of it. Gives the last result. */
async function cycle(file: Uint8Array, number: number, device: 'cpu' | 'webgpu'): Promise<number[]> {
  const model = await load(file, { device, worker: false });
  const rows = rowsOf(number);
  const x = Float32Array.from({ length: rows * 64 }, (_, at) => Math.cos(at * 0.7));
  let result: Tensor;
  for (let call = 0; call < 3; call++) result = (await model.forward(tensor(x, [rows, 64]))) as Tensor;
  await model.dispose();
  return Array.from(result!.data as Float32Array);
}

/** Whether cycles of programs leave nothing behind on a device, and give the same each time. Says what there was, and what is wrong. */
export async function checkCycles(device: 'cpu' | 'webgpu', cycles: number, programs: number): Promise<boolean> {
  setJitOptions({ smallWork: 0 });
  const living = new LivingObjects();
  const files: Uint8Array[] = [];
  for (let number = 0; number < programs; number++) files.push(await fileOf(number));
  const first: number[][] = [];
  const counts: Awaited<ReturnType<LivingObjects['count']>>[] = [];
  const faults: string[] = [];
  const lap = Math.max(1, Math.floor(cycles / 12));
  for (let at = 0; at < cycles; at++) {
    const number = at % programs;
    const result = await cycle(files[number], number, device);
    first[number] ??= result;
    if (!result.every((value, element) => Object.is(value, first[number][element])))
      faults.push(`cycle ${at}: program ${number} gives something else than the first time`);
    if (at % lap === lap - 1) counts.push(await living.count());
  }
  const third = Math.floor(counts.length / 3);
  for (const name of ['wasmBytes', 'gpuBytes', 'heapBytes'] as const) {
    const most = (from: number, end: number): number => Math.max(...counts.slice(from, end).map((each) => each[name]));
    const [early, late] = [most(0, third), most(-third, counts.length)];
    console.log(`${device}: ${name} ${megabytes(early)} in the first third, ${megabytes(late)} in the last`);
    if (late > early + MOST_GROWTH) faults.push(`${name} grow`);
  }
  for (const name of ['modules', 'pipelines'] as const) {
    const most = Math.max(...counts.map((each) => each[name]));
    console.log(`${device}: ${most} ${name} at most`);
    if (most > MOST_KERNELS) faults.push(`there are more than ${MOST_KERNELS} ${name}`);
  }
  // A storage that nobody disposed of goes with what held it.
  await living.count();
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  const { models, deviceBytes, pooledBytes } = await memory();
  const { wasmBytes, gpuBytes } = await living.count();
  const left = { models, deviceBytes, pooledBytes, wasmBytes };
  console.log(`${device}: ten seconds after the last ${JSON.stringify({ ...left, gpuBytes })}`);
  for (const [name, value] of Object.entries(left)) if (value > 0) faults.push(`${name} is ${value} in the end`);
  // Params of launches that are not recorded have a buffer as long as the device is there.
  if (gpuBytes > MEGABYTE) faults.push(`${gpuBytes} bytes of GPU buffers are left in the end`);
  for (const fault of faults.slice(0, 20)) console.log(`${device}: ${fault}`);
  return faults.length === 0;
}

const megabytes = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(1)} MB`;
