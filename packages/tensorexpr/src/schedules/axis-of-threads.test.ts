import { Tensor } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { softwareGpu } from '../../../../test-setup/plain-gpu.ts';
import { binary } from '../expressions/builders.ts';
import type { Expr } from '../expressions/expr.ts';
import { TensorView } from '../expressions/operand.ts';
import { normaliseNest } from '../kernels/normalise.ts';
import { axisOfThreads } from './axis-of-threads.ts';
import { chooseSchedule } from './schedule.ts';

/** A sum of tensors that lie so, stored one behind the other. */
function nestOf(sizes: readonly number[], ...strides: readonly (readonly number[])[]) {
  const out = new TensorView(Tensor.empty(sizes, 'float32'));
  const axes = out.axes();
  const loads: Expr[] = strides.map((each) => {
    const reach = each.reduce((sum, stride, dim) => sum + stride * (sizes[dim] - 1), 1);
    return new TensorView(Tensor.empty([reach], 'float32').asStrided(sizes, each)).at(axes);
  });
  const value = loads.reduce((x, y) => binary('add', x, y));
  const stores = [{ operand: out.operand, offset: out.offsetAt(axes), value }];
  return normaliseNest({ kind: 'nest', label: 'test', axes, innerAxes: [], stores });
}

test('threads go along the axis that most loads do not change with', () => {
  expect(axisOfThreads(nestOf([1024, 1024], [1024, 1], [0, 1], [0, 1]))).toBe(0);
  expect(axisOfThreads(nestOf([1024, 1024], [1024, 1], [1, 0], [0, 1], [1, 0]))).toBe(1);
  // A number for each channel of a batch of images.
  expect(axisOfThreads(nestOf([4, 64, 4096], [262144, 4096, 1], [0, 1, 0]))).toBe(2);
});

test('then along the one that most loads have their neighbours along', () => {
  expect(axisOfThreads(nestOf([1000, 300], [1, 1000]))).toBe(0);
  expect(axisOfThreads(nestOf([40, 1000, 300], [300000, 1, 1000]))).toBe(1);
});

test('then along the longest, and along none that is short', () => {
  expect(axisOfThreads(nestOf([40, 50, 300], [50000, 600, 1]))).toBe(1);
  expect(axisOfThreads(nestOf([16, 511], [600, 1]))).toBe(0);
  // Side by side, threads want more steps than by themselves.
  expect(axisOfThreads(nestOf([15, 511], [600, 1]))).toBeNull();
  expect(axisOfThreads(nestOf([15, 512], [600, 1]))).toBe(1);
});

test('all points are dealt out, and no workgroup is without any', () => {
  const launch = (...sizes: number[]) => {
    const lines = sizes.map((_, at) => sizes.slice(at + 1).reduce((a, b) => a * b, 1) + 1);
    return chooseSchedule(nestOf(sizes, lines), softwareGpu);
  };
  const schedule = { kind: 'point', workgroupSize: 64 };
  // Stretches of 32 points: 2 for each of 257 columns, by 64 threads.
  expect(launch(33, 257)).toMatchObject({ schedule: { ...schedule, pointsPerThread: 32, along: 0 }, workgroups: 9 });
  // 64 threads side by side have 2048 points in 32 steps.
  expect(launch(3, 4097)).toMatchObject({ schedule: { ...schedule, pointsPerThread: 32, along: 1 }, workgroups: 9 });
  expect(launch(8193)).toMatchObject({ schedule: { ...schedule, pointsPerThread: 32, along: 0 }, workgroups: 5 });
});
