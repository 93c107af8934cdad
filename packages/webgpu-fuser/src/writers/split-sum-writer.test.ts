import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  chooseSchedule,
  describeSchedule,
  normalise,
  reduce,
  signatureOf,
  stagesOf,
  TensorView,
  threadsOf,
  whyScheduled,
  scheduledLaunch,
  type DeviceCapabilities,
  type Kernel,
  type NormalKernel,
  type Schedule,
} from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { plainGpu } from '../../../../test-setup/plain-gpu.ts';
import type { ShaderText } from '../shader-writer.ts';
import { writeShader } from '../shader.ts';

/** `[m, k] · [k, n]`, the right side of which may lie the other way round. */
function product(m: number, n: number, k: number, isTurned: boolean): Kernel {
  const sizes = [[m, k], isTurned ? [n, k] : [k, n], [m, n]];
  const [left, right, out] = sizes.map((each) => new TensorView(Tensor.empty(each, 'float32')));
  const [i, j] = out.axes('mn');
  const s = axis('k', left.sizes[1]);
  const [a, b] = [left.at([i, s]), right.at(isTurned ? [j, s] : [s, j])];
  const at = { operand: out.operand, offset: out.offsetAt([i, j]) };
  if (m > 1) {
    const stores = [{ ...at, value: accumulator }];
    return { kind: 'contraction', label: 'aten::mm', batch: [], m: i, n: j, k: s, left: a, right: b, stores };
  }
  // As products of one row are lowered.
  const stores = [{ ...at, value: reduce('sum', [s], binary('mul', a, b)) }];
  return { kind: 'nest', label: 'aten::mv', axes: [i, j], innerAxes: [], stores };
}

async function written(kernel: Kernel, capabilities: DeviceCapabilities = plainGpu) {
  const launch = chooseSchedule(normalise(kernel), capabilities);
  const write = (): ShaderText => writeShader(launch, signatureOf(launch.kernel), false);
  for (let text = write(); text.missing; text = write()) await text.missing();
  return { ...launch, code: write().code };
}

const count = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

/** What a thread does with a step, or four of them. */
const loopOf = (code: string): string => /for \(var step = [^]*?\n {2}\}/.exec(code)![0];

test.each([
  // By vectors along the sum, which all threads share: four columns of a thread read a vector of the row each.
  [1, 4096, 1024, true, '1×4 to a thread, 1 columns of threads, 64 threads to a sum, 4 steps each, a tree', 5 / 16],
  [1, 512, 1024, true, '1×2 to a thread, 1 columns of threads, 64 threads to a sum, 4 steps each, a tree', 3 / 8],
  [8, 4096, 1024, true, '8×4 to a thread, 1 columns of threads, 64 threads to a sum, 4 steps each, a tree', 12 / 128],
  // By vectors along columns.
  [1, 1024, 1024, false, '1×4 to a thread, 4 columns of threads, 16 threads to a sum, a tree', 2 / 4],
  [4, 65536, 64, false, '4×4 to a thread, 64 columns of threads, 1 threads to a sum', 5 / 16],
  // No vector begins where every row does.
  [1, 1023, 1023, true, '1×4 to a thread, 1 columns of threads, 64 threads to a sum, a tree', 5 / 4],
  [1000, 3, 64, true, '3×1 to a thread, 8 columns of threads, 8 threads to a sum, 4 steps each, a tree', 4 / 12],
] as const)('%i by %i results over %i steps (turned: %s): %s', async (m, n, k, isTurned, words, loads) => {
  const { schedule, code, workgroups } = await written(product(m, n, k, isTurned));
  expect(describeSchedule(schedule)).toBe(words);
  const loop = loopOf(code);
  const multiplyAdds = count(loop, / \+= [\w.[\]>& ]+ \* [^;]+;/g);
  expect(count(loop, /buffer\d\[/g) / multiplyAdds).toBeCloseTo(loads, 10);
  expect(threadsOf(schedule)).toBe(64);
  const lines = Math.max(m, n);
  expect(workgroups).toBeLessThanOrEqual(lines);
  const elements = [...code.matchAll(/var<workgroup> \w+: array<f32, (\d+)>/g)].reduce((sum, [, at]) => sum + +at, 0);
  expect(4 * elements).toBeLessThanOrEqual(plainGpu.maxWorkgroupStorage);
});

test('threads of one column add up by subgroups where there are such, and wait for each other once', async () => {
  const kernel = product(2, 4096, 1024, true);
  const { code, schedule } = await written(kernel, { ...plainGpu, subgroupSize: 32 });
  expect(schedule).toMatchObject({ kind: 'split sum', subgroups: true });
  expect(count(code, /subgroupAdd/g)).toBe(8);
  expect(count(code, /workgroupBarrier/g)).toBe(1);
  // Threads of several columns are not dealt out to subgroups in any order that is said.
  const short = await written(product(2, 4096, 64, true), { ...plainGpu, subgroupSize: 32 });
  expect(short.schedule).toMatchObject({ kind: 'split sum', subgroups: false });
  expect(short.code).not.toContain('subgroup');
});

test.each([
  [12, 512, 64, '16×64 shared by 4×16 threads'],
  [512, 12, 64, '64×16 shared by 16×4 threads'],
  [12, 12, 64, '16×16 shared by 16×4 threads'],
  [9, 100, 8, '1×1 to a thread, 16×16 threads'],
  [2, 3, 8, '1×1 to a thread, 2×4 threads'],
  // A sum of one product.
  [5000, 3, 1, 'to a thread'],
])('%i by %i results over %i steps have tiles that fit: %s', async (m, n, k, words) => {
  const { schedule } = await written(product(m, n, k, true));
  expect(describeSchedule(schedule)).toContain(words);
});

test.each([
  // 64 workgroups of the product leave room for four chunks, of at least 4096 steps.
  [8, 64, 16384, 4],
  [8, 64, 8192, 2],
  [8, 64, 8191, 1],
  [8, 256, 16384, 1],
  [64, 64, 65536, 16],
  [1024, 1024, 8192, 1],
])('the sum of %i by %i results over %i steps is cut into %i chunks', (m, n, k, chunks) => {
  const made: number[][] = [];
  const stages = stagesOf(normalise(product(m, n, k, true)), plainGpu, (sizes, dtype) => {
    made.push([...sizes]);
    return Tensor.empty(sizes, dtype);
  });
  expect(stages.map(({ kind }) => kind)).toEqual(chunks > 1 ? ['contraction', 'nest'] : ['contraction']);
  expect(made).toEqual(chunks > 1 ? [[chunks, m, n]] : []);
});

test('every schedule is told in words, with what it was chosen by', async () => {
  const kinds = new Map<Schedule['kind'], string>();
  const kernels: Kernel[] = [product(64, 64, 64, true), product(2, 512, 64, true), product(9, 100, 8, true)];
  for (const kernel of kernels) {
    const launch = chooseSchedule(normalise(kernel) as NormalKernel, plainGpu);
    kinds.set(launch.schedule.kind, whyScheduled(scheduledLaunch(launch), plainGpu));
  }
  const limits = '256 threads and 16384 bytes a workgroup at most, no subgroups';
  expect([...kinds]).toEqual([
    [
      'shared tile',
      `64×64 results over 64 steps; the largest tile that leaves threads enough and is at least half filled, or the smallest; ${limits}`,
    ],
    [
      'split sum',
      `2×512 results over 64 steps; few rows or columns, whose sums threads share as far as threads are wanting; ${limits}`,
    ],
    ['tile', `9×100 results over 8 steps; too few steps to share, or a side that is a sum for each element; ${limits}`],
  ]);
});
