import { isIntegral, Tensor, type IValue } from '@cresset/tensor';
import { loadsIn, type BinaryFunction, type Expr } from '@cresset/tensorexpr';

type Value = number | boolean;
/** What an expression comes to for an element. */
type Evaluation = (element: number) => Value;

/** An element for which a fault is noted may lie in one of the values. */
interface InputCheck {
  readonly at: number;
  readonly isBad: Evaluation;
}

/** What has to hold of integers that a call is given for its kernels to note no fault: tokens and classes are known before anything is enqueued. */
export class InputChecks {
  private constructor(private readonly checks: readonly InputCheck[]) {}

  /**
   * Null where a kernel goes by something else than an element of what the call is given.
   *
   * @param conditions under which kernels note faults
   * @param values of `valuesIn`
   */
  static of(conditions: readonly Expr[], values: readonly IValue[]): InputChecks | null {
    const checks = conditions.map((condition) => checkOf(condition, values));
    return checks.every((check) => check !== null) ? new InputChecks(checks) : null;
  }

  /** Whether no element is bad; false where that is not known on the host. */
  holdFor(values: readonly IValue[]): boolean {
    return this.checks.every(({ at, isBad }) => {
      const tensor = values[at] as Tensor;
      if (!tensor.storage.isOnHost) return false;
      // All of its memory: no view of it holds more.
      const elements = tensor.storageArray();
      for (let element = 0; element < elements.length; element++) if (isBad(Number(elements[element]))) return false;
      return true;
    });
  }
}

function checkOf(condition: Expr, values: readonly IValue[]): InputCheck | null {
  const [load, ...others] = loadsIn([condition]);
  if (!load || others.length > 0) return null;
  const at = values.findIndex((value) => value instanceof Tensor && value.storage === load.operand.tensor.storage);
  const isBad = at >= 0 && isIntegral((values[at] as Tensor).dtype, false) ? evaluationOf(condition) : null;
  return isBad && { at, isBad };
}

const functions: Partial<Record<BinaryFunction, (x: Value, y: Value) => Value>> = {
  and: (x, y) => x && y,
  or: (x, y) => x || y,
  lt: (x, y) => x < y,
  ge: (x, y) => x >= y,
  ne: (x, y) => x !== y,
};

/** Null where an expression is more than comparisons of whole numbers. */
function evaluationOf(expr: Expr): Evaluation | null {
  switch (expr.kind) {
    case 'const':
    case 'param': {
      if (expr.kind === 'param' && expr.open) return null;
      const value = typeof expr.value === 'bigint' ? Number(expr.value) : expr.value;
      return () => value;
    }
    case 'load':
      return (element) => element;
    case 'cast':
      return expr.type === 'i32' || expr.type === 'i64' ? evaluationOf(expr.x) : null;
    case 'binary': {
      const fn = functions[expr.fn];
      const [x, y] = [evaluationOf(expr.x), evaluationOf(expr.y)];
      return fn && x && y ? (element) => fn(x(element), y(element)) : null;
    }
    default:
      return null;
  }
}
