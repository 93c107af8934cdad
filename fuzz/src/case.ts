import type { CaseInput } from './case-input.ts';
import { Random } from './random.ts';
import type { SeedFiles } from './seed-files.ts';
import { selfTests } from './self-tests.ts';
import { targets } from './targets.ts';

/** The case of a seed: everything about it follows from that number. Negative ones test the watch itself. */
export function makeCase(seed: number, seeds: SeedFiles): CaseInput {
  if (seed < 0) return selfTests[-seed - 1];
  const random = new Random(seed);
  let at = random.below(targets.reduce((sum, { weight }) => sum + weight, 0));
  const target = targets.find(({ weight }) => (at -= weight) < 0)!;
  const input = target.mutate(seeds, random);
  return { target: target.name, input, size: input.length, take: () => target.take(input, random) };
}
