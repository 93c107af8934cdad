import type { RandomGenerator } from '@cresset/operators';
import { OpenNumber } from '@cresset/tensor';
import type { DrawStep } from '../program/launch-program.ts';
import { openParam } from './open-params.ts';

/**
 * The generator of a run that is recorded: what a device draws of its streams is noted.
 *
 * @param refuse is told that the host draws itself
 */
export function watchedGenerator(generator: RandomGenerator, draws: DrawStep[], refuse: () => void): RandomGenerator {
  const refused = (): RandomGenerator => {
    refuse();
    return generator;
  };
  return {
    manualSeed: (seed) => refused().manualSeed(seed),
    nextUniform: () => refused().nextUniform(),
    nextUint32: () => refused().nextUint32(),
    nextNormal: () => refused().nextNormal(),
    stream: (count) => {
      const { key, first, low, high } = generator.stream(count);
      const numbers = { key: new OpenNumber(key), first: new OpenNumber(first) };
      draws.push({ op: 'draw', count, ...numbers });
      return {
        key,
        first,
        open: { key: openParam('i64', numbers.key), first: openParam('i64', numbers.first) },
        low: (draw) => (refuse(), low(draw)),
        high: (draw) => (refuse(), high(draw)),
      };
    },
  };
}
