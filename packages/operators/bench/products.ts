import { Tensor } from '@cresset/tensor';
import { finish } from '../src/kernels/loops/pieces.ts';
import { productPieces } from '../src/families/products/product.ts';
import { hostKernels } from '../src/kernels/host-kernels.ts';
import { wasmProducts } from '../src/webassembly/products.ts';

/** Products on the host: rows, columns and what is summed; whether the right side is a layer's weight, kept from call to call. */
const cases = [
  { name: 'matrix product 256³', m: 256, n: 256, k: 256, isLayer: false },
  { name: 'matrix product 512³', m: 512, n: 512, k: 512, isLayer: false },
  { name: 'matrix product 1024³', m: 1024, n: 1024, k: 1024, isLayer: false },
  { name: 'linear layer 128×768×768', m: 128, n: 768, k: 768, isLayer: true },
  { name: 'linear layer of one row, 1024×1024', m: 1, n: 1024, k: 1024, isLayer: true },
  { name: 'linear layer of one row, 256×256', m: 1, n: 256, k: 256, isLayer: true },
  { name: 'matrix product 32³', m: 32, n: 32, k: 32, isLayer: false },
];

const numbers = (sizes: readonly number[]): Tensor =>
  Tensor.fromArray(
    Float32Array.from({ length: sizes[0] * sizes[1] }, () => Math.random() - 0.5),
    sizes,
    'float32',
  );

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Prints the processor time of products by the kernel that every page has and by WebAssembly, in turns, in ms and GFLOPS. */
export function main(filter: string, rounds = 21): void {
  const multiply = wasmProducts();
  console.log('| product | TypeScript | WebAssembly | |');
  console.log('| --- | --- | --- | --- |');
  for (const { name, m, n, k, isLayer } of cases.filter((each) => each.name.includes(filter))) {
    const left = numbers([m, k]);
    const right = isLayer ? numbers([n, k]).asStrided([k, n], [1, k]) : numbers([k, n]);
    const out = Tensor.empty([m, n], 'float32');
    const times: Record<'typescript' | 'wasm', number[]> = { typescript: [], wasm: [] };
    const repeats = Math.ceil(2e6 / (m * n * k));
    const time = (way: 'typescript' | 'wasm', count: number): void => {
      hostKernels.multiply = way === 'wasm' ? multiply : undefined;
      const start = process.cpuUsage();
      for (let i = 0; i < count; i++) {
        // What is no weight is another matrix each time.
        if (!isLayer) right.storageArrayForWriting();
        finish(productPieces(left, right, out));
      }
      const { user, system } = process.cpuUsage(start);
      times[way].push((user + system) / 1000 / count);
    };
    // Engines compile what is run often, while it runs.
    for (let i = 0; i < 3; i++)
      for (const way of ['typescript', 'wasm'] as const) time(way, way === 'wasm' ? 20 * repeats : repeats);
    times.typescript = [];
    times.wasm = [];
    for (let i = 0; i < rounds; i++) for (const way of ['typescript', 'wasm'] as const) time(way, repeats);
    const shown = (way: 'typescript' | 'wasm'): string => {
      const [middle, least] = [median(times[way]), Math.min(...times[way])];
      const rate = (ms: number): string => ((2 * m * n * k) / ms / 1e6).toFixed(1);
      return `${middle.toPrecision(3)} ms, ${rate(middle)} (best ${rate(least)})`;
    };
    const ratio = median(times.typescript) / median(times.wasm);
    console.log(`| ${name} | ${shown('typescript')} | ${shown('wasm')} | ${ratio.toFixed(1)} × |`);
  }
}
