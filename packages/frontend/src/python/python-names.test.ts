import { beforeAll, describe, expect, it } from 'vitest';
import { registerTestOperators } from '../operators-fixture.ts';
import { script } from '../script.ts';

beforeAll(registerTestOperators);

function failureOf(statement: string): string {
  try {
    script(`def f(x: Tensor):\n    ${statement}\n`);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`${statement} was compiled`);
}

// Messages are PyTorch's.
const GLOBAL = 'Perhaps it is a closed over global variable?';

describe('names of Python that are no values of TorchScript', () => {
  it.each([
    ['return math', `python value of type 'module' cannot be used as a value. ${GLOBAL}`],
    ['return torch.nn[0:1]', `python value of type 'module' cannot be used as a value. ${GLOBAL}`],
    ['return torch.utils', `python value of type 'module' cannot be used as a value. ${GLOBAL}`],
    ['return super', `python value of type 'type' cannot be used as a value. ${GLOBAL}`],
    ['a, b = torch.jit', "python value of type 'module' cannot be used as a tuple"],
    ['torch.jit.foo = 1', "attribute assignment is not defined on python value of type 'module'"],
    ['return torch(x)', 'Expected a single top-level function'],
    ['return torch.Tensor', 'builtin cannot be used as a value'],
    ['return Tensor.foo', 'attribute lookup is not defined on builtin'],
    ['return torch.Tensor(x)', 'Unknown builtin op: aten::Tensor.'],
    ['return torch.svd_lowrank(x)', 'Unknown builtin op: aten::svd_lowrank.'],
    ['return torch.is_tensor(x)', 'Unknown builtin op: aten::is_tensor.'],
    ['return Any()', 'Unknown builtin op: aten::_Any.'],
    ['return nn.Linear(2, 2)(x)', "Cannot instantiate class 'Linear' in a script function"],
    ['return nn.Linear', `python value of type 'type' cannot be used as a value. ${GLOBAL}`],
    ['return ValueError', 'Python exception cannot be used as a value'],
    ['return AssertionError', 'exception cannot be used as a value'],
    ['return List', 'Attempted to use List without a contained type. Please add a contained type, e.g. List[int]'],
    [
      'return Dict.foo',
      'Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]',
    ],
  ])('%s', (statement, message) => {
    expect(failureOf(statement)).toContain(message);
  });

  it('constants of modules are the values that they stand for', () => {
    expect(failureOf('return torch.float[0]')).toContain("'int' object is not subscriptable");
    expect(failureOf('for i in math.pi: pass')).toContain("'float' object is not iterable");
    expect(failureOf('torch.float.foo = 1')).toContain('Tried to set an attribute: foo on a non-class: int');
  });
});

describe('places in the source', () => {
  it.each([
    ['return "abc".zeros(x)', '~~~~~~~~~~'],
    ['return [1, 2].zeros(x)', '~~~~~~~~~~~'],
    ['return (1, 2.0).T', '~~~~~~~~~'],
    ['y: [int, str] = x', '~~~~~~~~~'],
    ['return f(a := 1)', '~'],
    ['return f"{x:2d}"', '~'],
  ])('%s is marked as Python tells PyTorch of it', (statement, marks) => {
    const [line] = /~+/.exec(failureOf(statement))!;
    expect(line).toBe(marks);
  });

  it('assignments within expressions are refused wherever they stand', () => {
    for (const statement of ['x.add(y := 1)', 'x[y := 1]', '[y := 1]', '(y := 1)']) {
      expect(failureOf(`return ${statement}`)).toContain("NamedExpr aren't supported");
    }
  });
});
