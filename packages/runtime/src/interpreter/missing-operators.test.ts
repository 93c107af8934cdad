import { declareScript } from '@cresset/frontend';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { initializeRuntime } from '../initialize.ts';

function failureOf(expression: string): string {
  const { unit } = declareScript(`def f(x: Tensor, s: str):\n    return ${expression}\n`, {
    filename: 'f.py',
    module: 'm',
  });
  try {
    unit.findFunction('__torch__.f')!.ensureDefined();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`${expression} was compiled`);
}

const OWN_OPERATOR = "An operator of one's own is made known by registerOperator.";

// In turn: one process registers operators and does not forget them.
describe.each([
  ['where the common operators are', initializeRuntime],
  ['where all are', registerAllParts],
])('an operator that is missing %s', (_, initialize) => {
  beforeAll(initialize);

  it('is of nobody', () => {
    expect(failureOf('torch.ops.my_ops.blur(x)')).toContain(`Unknown builtin op: my_ops::blur. ${OWN_OPERATOR}\n`);
    expect(failureOf('torch.ops.aten.no_such_thing(x)')).toMatch(/^\nUnknown builtin op: aten::no_such_thing\.\n/);
    expect(failureOf('torch.ops.quantized.no_such_thing(x)')).not.toContain('registerOperator');
  });

  it('has no form for such arguments', () => {
    const message = failureOf('torch.where(x, s)');
    expect(message).toMatch(/^\nArguments for call are not valid\.\nThe following variants are available:\n/);
    expect(message).not.toContain('registerOperator');
  });
});
