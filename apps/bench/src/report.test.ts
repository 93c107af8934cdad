import { expect, test } from 'vitest';
import type { Measurement } from './measure.ts';
import { besideBest, markdownReport, meanRatio, ratioOf, type BenchReport } from './report.ts';

const counts = {
  dispatches: 1,
  submits: 1,
  passes: 1,
  uploads: 2,
  uploadedBytes: 8,
  readbacks: 1,
  shaderModules: 3,
  pipelines: 3,
  bindGroups: 0,
  buffers: 4,
  bufferBytes: 2 ** 20,
};

const right = (
  contestant: string,
  milliseconds: number,
  cpuMilliseconds: number | null,
  loadMilliseconds = 1,
  firstMilliseconds: number | null = 1,
): Measurement => ({
  contestant,
  status: 'right',
  loadMilliseconds,
  firstMilliseconds,
  milliseconds,
  calls: 3,
  cpuMilliseconds,
  countsOfFirst: counts,
  countsOfCall: counts,
});

const contestant = (id: string, library: string, device: string) => ({
  id,
  library,
  device,
  version: '1',
  missing: null,
});

const report: BenchReport = {
  adapter: 'an adapter',
  contestants: [
    contestant('cresset-webgpu', 'Cresset', 'WebGPU'),
    contestant('ort-webgpu', 'ONNX Runtime Web', 'WebGPU'),
    contestant('cresset-cpu', 'Cresset', 'host'),
    { ...contestant('ort-wasm', 'ONNX Runtime Web', 'host'), missing: 'not installed' },
  ],
  results: [
    {
      model: 'first',
      about: '',
      measurements: [right('cresset-webgpu', 10, 4), right('ort-webgpu', 20, 4, 5), right('cresset-cpu', 5, 5)],
    },
    {
      model: 'second',
      about: '',
      measurements: [right('cresset-webgpu', 10, 1), right('ort-webgpu', 80, 9), right('cresset-cpu', 5, 5)],
    },
    {
      model: 'third',
      about: '',
      measurements: [
        right('cresset-webgpu', 1, 1),
        { contestant: 'ort-webgpu', status: 'wrong', reason: 'element 0 is 2, not 1' },
        right('cresset-cpu', 5, null),
      ],
    },
  ],
  workloads: [],
};

test('a contestant is held against Cresset on the same device', () => {
  expect(ratioOf(report.results[0], report, 'ort-webgpu')).toBe(2);
  expect(ratioOf(report.results[0], report, 'ort-webgpu', 'cpuMilliseconds')).toBe(1);
  expect(ratioOf(report.results[0], report, 'ort-webgpu', 'firstAnswer')).toBe(3);
  expect(ratioOf(report.results[2], report, 'ort-webgpu')).toBeNull();
  expect(ratioOf(report.results[2], report, 'cresset-cpu', 'cpuMilliseconds')).toBeNull();
});

test('a mean is geometric, of the models that have a time', () => {
  expect(meanRatio(report, 'ort-webgpu')).toEqual({ ratio: expect.closeTo(4), models: 2 });
  expect(meanRatio(report, 'ort-webgpu', 'cpuMilliseconds')).toEqual({ ratio: expect.closeTo(3), models: 2 });
  expect(meanRatio(report, 'ort-wasm')).toBeNull();
});

test('Cresset is held against whoever else is fastest, model by model', () => {
  const both: BenchReport = {
    ...report,
    contestants: [...report.contestants, contestant('jax-webgpu', 'jax-js', 'WebGPU')],
    results: report.results.map((result, at) => ({
      ...result,
      measurements: [...result.measurements, right('jax-webgpu', [5, 160, 2][at], null)],
    })),
  };
  // Twice jax-js's time in the first, an eighth of ONNX Runtime's in the second, half of jax-js's in the third.
  expect(besideBest(both, 'WebGPU')).toEqual({
    mean: expect.closeTo(0.5),
    models: 3,
    worst: { model: 'first', contestant: 'jax-webgpu', ratio: 2 },
  });
  expect(besideBest(both, 'WebGPU', 'cpuMilliseconds')).toMatchObject({ mean: expect.closeTo(1 / 3), models: 2 });
  expect(besideBest(both, 'host')).toBeNull();
});

test('native code is held against Cresset on the host, and has no first answer', () => {
  const native = (milliseconds: number): Measurement => right('pytorch-native', milliseconds, 2, 1, null);
  const withNative: BenchReport = {
    ...report,
    contestants: [...report.contestants, contestant('pytorch-native', 'PyTorch', 'native')],
    results: report.results.map((result, at) => ({
      ...result,
      measurements: [...result.measurements, native([1, 2.5, 5][at])],
    })),
  };
  expect(ratioOf(withNative.results[0], withNative, 'pytorch-native')).toBe(0.2);
  expect(ratioOf(withNative.results[0], withNative, 'pytorch-native', 'firstAnswer')).toBeNull();
  expect(besideBest(withNative, 'native')).toMatchObject({ mean: expect.closeTo(10 ** (1 / 3)), models: 3 });
  const text = markdownReport({ ...withNative, environment: 'a browser' });
  expect(text).toContain('- native: 2.5 × (2); at most 2.5 × for first, of PyTorch, native');
});

test('the tables name what is wrong and what is not here', () => {
  const text = markdownReport({ ...report, environment: 'a browser' });
  expect(text).toContain('a browser, an adapter. Cresset 1, ONNX Runtime Web 1.');
  expect(text).toContain('| second | 10.0 ms | 80.0 ms (8.0 ×) | 5.0 ms |');
  expect(text).toContain('| third | 1.0 ms | wrong | 5.0 ms |');
  expect(text).toContain('|  |  | 4.0 × (2) |  |');
  expect(text).toContain('- WebGPU: 0.33 × (2); at most 1.0 × for first, of ONNX Runtime Web, WebGPU');
  expect(text).toContain('| first | 1 / 1 / 2 / 0 / 4; 3, 1.0 MB | 1 / 1 / 2 / 0 / 4; 3, 1.0 MB |');
  expect(text).toContain('- third, ort-webgpu: wrong: element 0 is 2, not 1');
  expect(text).toContain('- ort-wasm: not installed');
});
