import { expect, it } from 'vitest';
import { finish } from '../../kernels/loops/pieces.ts';
import { fourierPlan, keptPlans } from './fourier-transform.ts';

it('keeps plans of lengths that came last, up to a bound', () => {
  let made = 0;
  for (let length = 1; length <= 1500; length++) {
    const before = keptPlans();
    const plan = finish(fourierPlan(length));
    made += plan.byteLength;
    expect(finish(fourierPlan(length))).toBe(plan);
    const after = keptPlans();
    expect(after.byteLength).toBeLessThanOrEqual(32 << 20);
    if (made < 16 << 20) expect(after.count).toBeGreaterThanOrEqual(before.count);
  }
  expect(made).toBeGreaterThan(64 << 20);
  // One that is larger than the bound is kept alone.
  const large = finish(fourierPlan(1 << 22));
  expect(large.byteLength).toBeGreaterThan(32 << 20);
  expect(finish(fourierPlan(1 << 22))).toBe(large);
  expect(keptPlans()).toEqual({ count: 1, byteLength: large.byteLength });
});
