import { describe, expect, it } from 'vitest';
import { checkOptions, type OptionRules } from './option-check.ts';

const rules = {
  device: ['auto', 'cpu'],
  worker: 'boolean',
  signal: 'signal',
  shape: 'array',
  kwargs: 'object',
  lowering: 'any',
  limit: 'positive',
} as const satisfies OptionRules;

const check = (options: unknown) => (): void => checkOptions('load', options as object, rules);

describe('checkOptions', () => {
  it('takes what there is, and undefined for what is not given', () => {
    const { signal } = new AbortController();
    check({})();
    check({ device: 'cpu', worker: false, signal, shape: [], kwargs: {}, lowering: null, limit: 1 })();
    check({ device: undefined, worker: undefined })();
  });

  it('names what there is not, and what would be right', () => {
    expect(check({ devic: 'cpu' })).toThrow("load has no option 'devic'; it has device, worker, signal, shape, kwargs");
    expect(check({ toString: 1 })).toThrow("load has no option 'toString'");
    expect(check({ device: 'gpu' })).toThrow("option 'device' of load has to be 'auto' or 'cpu', but is 'gpu'");
    expect(check({ worker: 'no' })).toThrow("option 'worker' of load has to be a boolean, but is 'no'");
    expect(check({ signal: new AbortController() })).toThrow("option 'signal' of load has to be an AbortSignal");
    expect(check({ shape: 4 })).toThrow("option 'shape' of load has to be an array, but is 4");
    for (const limit of [0, NaN, '3']) {
      expect(check({ limit })).toThrow("option 'limit' of load has to be a number above 0");
    }
    expect(check({ kwargs: null })).toThrow("option 'kwargs' of load has to be an object, but is null");
    expect(check(null)).toThrow('the options of load have to be an object, but are null');
    expect(check('cpu')).toThrow("the options of load have to be an object, but are 'cpu'");
  });
});
