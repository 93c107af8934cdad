import { expect, test } from 'vitest';
import type { ContestantReport, WorkloadResult } from './bench.ts';
import { noCounts } from './gpu-counts.ts';
import type { PassFigures, WorkloadMeasurement } from './measure-workload.ts';
import { passRatio, workloadTables } from './workload-report.ts';

const contestant = (id: string, library: string, device: ContestantReport['device']): ContestantReport => ({
  id,
  library,
  device,
  version: '1',
  missing: null,
});

const contestants = [
  contestant('cresset-webgpu', 'Cresset', 'WebGPU'),
  contestant('ort-webgpu', 'ONNX Runtime Web', 'WebGPU'),
  contestant('cresset-cpu', 'Cresset', 'host'),
  contestant('pytorch-native', 'PyTorch', 'native'),
];

const figures = (milliseconds: number, launches: PassFigures['launches'] = null): PassFigures => ({
  calls: 4,
  milliseconds,
  cpuMilliseconds: 2 * milliseconds,
  counts: { ...noCounts, dispatches: 10, submits: 4, uploads: 8, uploadedBytes: 6000, readbacks: 4, shaderModules: 2 },
  launches,
});

const right = (id: string, times: readonly [number, number, number, number], isOwn = false): WorkloadMeasurement => {
  const [first, second, fresh, again] = times;
  return {
    contestant: id,
    status: 'right',
    loadMilliseconds: 1,
    passes: {
      first: figures(first),
      second: figures(second),
      third: figures(second),
      new: figures(fresh, isOwn ? { all: 20, replayed: 5 } : null),
      again: figures(again, isOwn ? { all: 20, replayed: 20 } : null),
    },
    newBesideAgain: { milliseconds: 3, cpuMilliseconds: fresh / again },
    recordings: isOwn ? { known: 3, fresh: 9 } : null,
  };
};

const result: WorkloadResult = {
  workload: 'decode',
  about: '',
  measurements: [
    right('cresset-webgpu', [40, 20, 16, 4], true),
    right('ort-webgpu', [20, 10, 8, 8]),
    { contestant: 'cresset-cpu', status: 'cannot', reason: 'no' },
    right('pytorch-native', [1, 1, 1, 1]),
  ],
};

test('a pass is held against the same pass of Cresset on the same device', () => {
  expect(passRatio(result, contestants, 'ort-webgpu', 'again', 'milliseconds')).toBe(2);
  expect(passRatio(result, contestants, 'ort-webgpu', 'first', 'cpuMilliseconds')).toBe(0.5);
  expect(passRatio(result, contestants, 'pytorch-native', 'first', 'milliseconds')).toBeNull();
});

test('tables tell passes, what is new beside what is known, and counts of a call', () => {
  const text = workloadTables([result], contestants).join('\n\n');
  expect(text).toContain('| decode | first | 40.0 ms | 20.0 ms (0.50 ×) | cannot | 1.0 ms |');
  expect(text).toContain('| decode | again | 8.0 ms | 16.0 ms (2.0 ×) | cannot | 2.0 ms |');
  expect(text).toContain('| decode | new / again | 4.0 × | 1.0 × |  | 1.0 × |');
  expect(text).toContain('| decode | new / again | 3.0 × | 3.0 × |  | 3.0 × |');
  expect(text).toContain('| geometric mean | again |  | 2.0 × (1) |  |  |');
  expect(text).toContain('| decode | new | 2.5 / 1 / 2 / 1.5 / 1; 0.5 | 2.5 / 1 / 2 / 1.5 / 1; 0.5 |');
  expect(text).toContain('| decode | new | 5, 25 %; 3 + 9 | cannot |');
  expect(text).toContain('| decode | again | 5, 100 % | cannot |');
});
