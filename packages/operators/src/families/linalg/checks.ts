import { isComplex, isFloatingPoint, promoteTypes, type ScalarType, type Tensor } from '@cresset/tensor';
import { check, notImplementedFor, OperatorError } from '../../kernels/errors.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';

/** What ATen/native/LinearAlgebraUtils.h checks, in its words. */

export function checkFloating(self: Tensor, api: string, lowPrecision = false): void {
  check(
    isFloatingPoint(self.dtype) || isComplex(self.dtype),
    `${api}: Expected a floating point or complex tensor as input. Got ${dtypeName(self.dtype)}`,
  );
  check(
    lowPrecision || !['float16', 'bfloat16', 'complex32'].includes(self.dtype),
    `${api}: Low precision dtypes not supported. Got ${dtypeName(self.dtype)}`,
  );
}

/** What norms say of the dtype of their input, and of the one they are asked for (checkNormDtype). */
export function checkNormDtypes(api: string, self: ScalarType, dtype: ScalarType | null | undefined): void {
  check(
    isFloatingPoint(self) || isComplex(self),
    `${api}: Expected a floating point or complex tensor as input. Got ${dtypeName(self)}`,
  );
  if (!dtype) return;
  check(
    isFloatingPoint(dtype) || isComplex(dtype),
    `${api}: dtype should be floating point or complex, but got ${dtypeName(dtype)}`,
  );
  const kind = isComplex(self) ? 'complex' : 'real';
  check(
    isComplex(self) === isComplex(dtype),
    `${api}: dtype should be ${kind} for ${kind} inputs, but got ${dtypeName(dtype)}`,
  );
  check(
    promoteTypes(self, dtype) === dtype,
    `${api}: the dtype of the input (${dtypeName(self)}) should be convertible without narrowing to the specified dtype (${dtypeName(dtype)})`,
  );
}

export function checkMatrix(self: Tensor, api: string, argument = 'A'): void {
  check(self.dim >= 2, `${api}: The input tensor ${argument} must have at least 2 dimensions.`);
}

export function checkSquare(self: Tensor, api: string, argument = 'A'): void {
  checkMatrix(self, api, argument);
  const [rows, columns] = self.sizes.slice(-2);
  check(
    rows === columns,
    `${api}: ${argument} must be batches of square matrices, but they are ${rows} by ${columns} matrices`,
  );
}

export function checkSameType(a: Tensor, b: Tensor, api: string, names: readonly [string, string] = ['A', 'B']): void {
  check(
    a.dtype === b.dtype,
    `${api}: Expected ${names[0]} and ${names[1]} to have the same dtype, but found ${names[0]} of type ${dtypeName(a.dtype)} and ${names[1]} of type ${dtypeName(b.dtype)} instead`,
  );
}

/** Throws for a dtype that LAPACK does not know. */
export function refuseKernel(kernel: string, { dtype }: Tensor): void {
  if (!isLapackType(dtype)) throw notImplementedFor(kernel, dtypeName(dtype));
}

const isLapackType = (dtype: ScalarType): boolean => ['float32', 'float64', 'complex64', 'complex128'].includes(dtype);

/** Throws for the first factorisation of a batch that failed (_linalg_check_errors). */
export function checkInfos(infos: readonly number[], api: string, isMatrix: boolean): void {
  const at = infos.findIndex((info) => info !== 0);
  if (at === -1) return;
  const info = infos[at];
  const place = isMatrix ? ': ' : `: (Batch element ${at}): `;
  throw new OperatorError(`${api}${place}${failure(info, api)}`);
}

function failure(info: number, api: string): string {
  if (api.includes('inv')) {
    return `The diagonal element ${info} is zero, the inversion could not be completed because the input matrix is singular.`;
  }
  if (api.includes('solve')) return 'The solver failed because the input matrix is singular.';
  if (api.includes('cholesky')) {
    return `The factorization could not be completed because the input is not positive-definite (the leading minor of order ${info} is not positive-definite).`;
  }
  if (/svd|eig|syevd/.test(api)) {
    const many = api.includes('svd') ? 'singular values' : 'eigenvalues';
    return `The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated ${many} (error code: ${info}).`;
  }
  return `U[${info},${info}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)`;
}

/** The distance of one from the next number of a dtype (_get_epsilon). */
export function epsilonOf(dtype: ScalarType): number {
  check(isLapackType(dtype), "This function doesn't handle types other than float and double");
  return dtype === 'float64' || dtype === 'complex128' ? 2 ** -52 : 2 ** -23;
}
