import { numelOf, Tensor } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { describe, expect, it } from 'vitest';
import { boxingOf } from '../table/boxing.ts';
import { deviceRefusal, outputShapes, runOnHost } from '../dispatch/invoke.ts';
import { fixedGenerator, fixedLowering } from '../operator-fixture.ts';
import type { HostContext, LoweringContext } from '../table/row.ts';
import { evaluateKernel } from './kernel-evaluator.ts';
import { argumentsOf, expectResults, oracleCases, rowOf } from './oracle-case.ts';

const host: HostContext = {
  gradEnabled: false,
  generator: fixedGenerator,
  print: () => undefined,
  warn: () => undefined,
};

const lowering: LoweringContext = {
  // Lowerings ask no more of it than whether it is the host.
  device: { capabilities: {} } as ComputeDevice,
  temporary: (sizes, dtype) => Tensor.empty(sizes, dtype),
  launch: evaluateKernel,
  ...fixedLowering,
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
    return example.raises === undefined && row.lower && deviceRefusal(row, argumentsOf(row, example.args)) === null;
  });
  it.each(lowered)('$name', ({ example }) => {
    const row = rowOf(example);
    const args = argumentsOf(row, example.args);
    const unboxed = boxingOf(row).unbox(args);
    const outputs = outputShapes(row, unboxed)!.map(({ sizes, dtype, strides }) => {
      const tensor = Tensor.empty(sizes, dtype);
      return strides && numelOf(sizes) > 0 ? tensor.asStrided(sizes, strides) : tensor;
    });
    row.lower!(unboxed as never, outputs, lowering);
    expectResults(outputs, args, row, example);
  });
});
