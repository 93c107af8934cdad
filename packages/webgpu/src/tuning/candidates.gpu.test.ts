import { describe } from 'vitest';
import type { GpuSchedules } from '../../../../test-setup/gpu-schedules.ts';
import { requestWithCandidate } from '../../../../test-setup/nth-candidate.ts';
import { testNests } from '../kernels/nests-fixture.ts';
import { testProducts } from '../kernels/products-fixture.ts';

/** Whichever way of running a kernel turns out to be the fastest, it computes what the rule's does. */
describe.each([
  ['software', 1],
  ['software', 2],
  ['hardware', 1],
  ['hardware', 3],
  ['hardware', 4],
] as const)('schedules for %s, candidate %i', (schedules: GpuSchedules, nth) => {
  const open = () => requestWithCandidate(schedules, nth);
  testNests(open);
  // Each is a shader or two to compile.
  testProducts(open, 9);
});
