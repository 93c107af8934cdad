import { describe, expect, it } from 'vitest';
import { deviceRefusal, runOnHost } from '../dispatch/invoke.ts';
import { fixedGenerator } from '../operator-fixture.ts';
import type { HostContext } from '../table/row.ts';
import { argumentsOf, expectResults, oracleCases, rowOf } from './oracle-case.ts';
import { runLowered } from './run-lowered.ts';

const host: HostContext = {
  gradEnabled: false,
  generator: fixedGenerator,
  print: () => undefined,
  warn: () => undefined,
};

describe('on the host', () => {
  it.each(oracleCases.filter(({ example }) => !rowOf(example).decomposition))('$name', ({ example }) => {
    const row = rowOf(example);
    const args = argumentsOf(row, example.args);
    if (example.raises !== undefined) expect(() => runOnHost(row, args, host)).toThrow(example.raises);
    else expectResults(runOnHost(row, args, host), args, row, example);
  });
});

describe('by their lowerings', () => {
  const lowered = oracleCases.filter(({ example }) => {
    const row = rowOf(example);
    return (
      example.raises === undefined &&
      row.lower &&
      deviceRefusal(row, argumentsOf(row, example.args), { doubles: true }) === null
    );
  });
  it.each(lowered)('$name', ({ example }) => {
    const row = rowOf(example);
    const args = argumentsOf(row, example.args);
    expectResults(runLowered(row, args), args, row, example);
  });
});
