// Takes corpora through the runner with their tensors tiled past the thresholds of the engine: three calls with everything switched on have to
// give what the program gives as it was compiled, by the kernels in TypeScript.
//   node scripts/check-tiled.mjs [CORPUS ...]     folders with cases (*.jsonl); jit, op, grad and legacy of ../shared/conformance by default
//   --sample N      only so many cases of each corpus, spread evenly
//   --device LIST   of webassembly, webassembly-relaxed, webassembly-threads, webgpu; webassembly and webgpu by default
//   --elements N    how many the largest tensor of a case gets at least (1300)
//   --sizes N       two calls of each of so many sizes, one copy longer each, and of the first again, in place of three of one
//   --executor LIST who makes plans (default)
//   --workers N     processes at a time
import { parseArgs } from 'node:util';
import { compareTiled, corporaOf } from './corpus-runs.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    device: { type: 'string', default: 'webassembly,webgpu' },
    elements: { type: 'string', default: '1300' },
    sizes: { type: 'string' },
    executor: { type: 'string' },
    workers: { type: 'string' },
  },
});
const { device, elements, ...options } = values;
const corpora = corporaOf(
  positionals,
  ['jit', 'op', 'grad', 'legacy'].map((name) => `conformance/${name}`),
);
const repeat = options.sizes === undefined ? '3' : '2';
await compareTiled(corpora, device.split(','), { elements, repeat, ...options });
