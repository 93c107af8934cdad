import { Complex, type IValue, type SymInt } from '@cresset/tensor';
import type { OperatorRow, ScalarKernel } from '../../table/row.ts';
import { OperatorError } from '../../kernels/errors.ts';
import { toComplex } from './complex-arithmetic.ts';

/** A number of a running program: int, float or complex. */
export type Numeric = bigint | number | Complex;

/** An int, as operators take it that look for one; PyTorch's words for a value that is none. */
export function requireInt(value: IValue): bigint {
  if (typeof value === 'bigint') return value;
  throw new OperatorError(
    '0 INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/aten/src/ATen/core/ivalue.h":663, please report a bug to PyTorch. expected int',
  );
}

/** A real number that is no int where a Scalar is looked at: complex ones are taken for ints there, and refused. */
export function requireReal(value: IValue): number {
  return Number(value instanceof Complex ? requireInt(value) : value);
}

const complexOverloads = ['complex', 'int_complex', 'complex_int', 'float_complex', 'complex_float'] as const;
type ComplexOverload = (typeof complexOverloads)[number];

/** What an operator on two numbers does for each kind they can have; a missing kind has no overload. */
export interface BinaryNumbers {
  readonly int?: (a: bigint, b: bigint) => IValue;
  readonly float: (a: number, b: number) => IValue;
  readonly complex?: (a: Complex, b: Complex) => IValue;
  /** As `int`, of sizes that may be other numbers the next time. */
  readonly sizes?: (a: SymInt, b: SymInt) => SymInt | boolean | null;
  /** Which of the complex overloads there are; all where it is left out. */
  readonly complexOverloads?: readonly ComplexOverload[];
  /** False where the overload for two Scalars takes complex ones for ints. */
  readonly complexScalars?: false;
  /** Result types in the schemas, by kind. */
  readonly returns: {
    readonly int: string;
    readonly float: string;
    readonly complex?: string;
    readonly scalar: string;
  };
}

/**
 * The overloads PyTorch registers for an operator on two numbers, in its order: `.int`, `.float`, the complex and mixed
 * ones, then Scalar with Scalar, which looks at the values. Where there is no rule for ints they compute as floats.
 */
export function binaryNumbers(name: string, operator: BinaryNumbers, scalarOverload = ''): OperatorRow[] {
  const { int, float, complex, returns } = operator;
  const asFloats = (a: IValue, b: IValue): IValue => float(Number(a), Number(b));
  const asComplex = complex && ((a: IValue, b: IValue) => complex(toComplex(a as Numeric), toComplex(b as Numeric)));
  const asInts = int ? (a: IValue, b: IValue) => int(requireInt(a), requireInt(b)) : asFloats;
  const row = (overload: string, left: string, right: string, result: string, scalar: ScalarKernel): OperatorRow => ({
    schema: `aten::${name}${overload && `.${overload}`}(${left} a, ${right} b) -> ${result}`,
    scalar,
  });
  const ofInts = row('int', 'int', 'int', returns.int, asInts);
  const rows = [
    operator.sizes ? { ...ofInts, sizes: operator.sizes } : ofInts,
    row('float', 'float', 'float', returns.float, asFloats),
  ];
  if (asComplex) {
    const result = returns.complex ?? 'complex';
    for (const overload of operator.complexOverloads ?? complexOverloads) {
      const [left, right = left] = overload.split('_');
      rows.push(row(overload, left, right, result, asComplex));
    }
  }
  rows.push(
    row('int_float', 'int', 'float', returns.float, asFloats),
    row('float_int', 'float', 'int', returns.float, asFloats),
    row(scalarOverload, 'Scalar', 'Scalar', returns.scalar, (a, b) => {
      if (asComplex && operator.complexScalars !== false && (a instanceof Complex || b instanceof Complex)) {
        return asComplex(a, b);
      }
      return typeof a === 'bigint' && typeof b === 'bigint' ? asInts(a, b) : float(requireReal(a), requireReal(b));
    }),
  );
  return rows;
}

export interface UnaryNumbers {
  readonly int?: (a: bigint) => IValue;
  readonly float: (a: number) => IValue;
  readonly complex?: (a: Complex) => IValue;
  readonly returns: { readonly int: string; readonly float: string; readonly complex?: string };
}

/** The overloads of an operator on one number: `.int`, `.float`, `.complex` and `.Scalar`. */
export function unaryNumbers(name: string, operator: UnaryNumbers): OperatorRow[] {
  const { int, float, complex, returns } = operator;
  const asInt: ScalarKernel = int ? (a) => int(a as bigint) : (a) => float(Number(a));
  const asFloat: ScalarKernel = (a) => float(a as number);
  const rows: OperatorRow[] = [
    { schema: `aten::${name}.int(int a) -> ${returns.int}`, scalar: asInt },
    { schema: `aten::${name}.float(float a) -> ${returns.float}`, scalar: asFloat },
  ];
  if (complex) {
    rows.push({
      schema: `aten::${name}.complex(complex a) -> ${returns.complex ?? 'complex'}`,
      scalar: (a) => complex(a as Complex),
    });
  }
  rows.push({
    schema: `aten::${name}.Scalar(Scalar a) -> Scalar`,
    scalar: (a) => {
      if (complex && a instanceof Complex) return complex(a);
      return typeof a === 'bigint' ? asInt(a) : float(requireReal(a));
    },
  });
  return rows;
}
