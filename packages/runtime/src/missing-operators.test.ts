import { declareScript } from '@cresset/frontend';
import { beforeAll, describe, expect, it } from 'vitest';
import { initializeFullRuntime } from './full/initialize-full.ts';
import { initializeRuntime } from './initialize.ts';

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

const OWN_OPERATOR = "An operator of one's own is made known by registerOperator of cresset/full.";

// The editions in turn: one process registers operators and does not forget them.
describe('an operator that is missing', () => {
  describe('in the core edition', () => {
    beforeAll(initializeRuntime);

    it('is one of the full edition', () => {
      expect(failureOf('torch.ops.aten.special_i0e(x)')).toMatch(
        /^\nUnknown builtin op: aten::special_i0e\. The full edition has it: import cresset\/full\.\n/,
      );
      expect(failureOf('torch.ops.aten.bincount(x)')).toContain('The full edition has it: import cresset/full.');
      expect(failureOf('torch.ops.quantized.relu6(x)')).toContain('The full edition has it: import cresset/full.');
    });

    it('has a form in the full edition', () => {
      const message = failureOf('torch.where(x)');
      expect(message).toMatch(/^\nArguments for call are not valid\.\nThe following variants are available:\n/);
      expect(message).toContain(
        '\naten::where: The full edition has more forms of it: import cresset/full.\nThe original call is',
      );
      expect(failureOf('torch.relu(x, 1)')).not.toContain('cresset/full');
    });

    it('is of nobody', () => {
      expect(failureOf('torch.ops.my_ops.blur(x)')).toContain(`Unknown builtin op: my_ops::blur. ${OWN_OPERATOR}\n`);
      expect(failureOf('torch.ops.aten.no_such_thing(x)')).toMatch(/^\nUnknown builtin op: aten::no_such_thing\.\n/);
    });
  });

  describe('in the full edition', () => {
    beforeAll(initializeFullRuntime);

    it('is of nobody', () => {
      expect(failureOf('torch.ops.my_ops.blur(x)')).toContain(`Unknown builtin op: my_ops::blur. ${OWN_OPERATOR}\n`);
      expect(failureOf('torch.ops.aten.no_such_thing(x)')).toMatch(/^\nUnknown builtin op: aten::no_such_thing\.\n/);
      expect(failureOf('torch.where(x, s)')).not.toContain('cresset/full');
    });
  });
});
