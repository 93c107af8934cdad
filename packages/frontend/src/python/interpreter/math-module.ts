import { PythonError } from '../python-arithmetic.ts';
import { MATH_CONSTANTS } from '../python-modules.ts';
import type { PythonValue } from '../python-value.ts';
import { NativeFunction } from './entities.ts';
import { Tensor, type List, type Tuple } from '@cresset/tensor';

const ON_FLOATS: Readonly<Record<string, (...args: number[]) => number | bigint | boolean>> = {
  sqrt: (x) => inDomain(Math.sqrt(x), x),
  exp: Math.exp,
  log: (x, base) => inDomain(base === undefined ? Math.log(x) : Math.log(x) / Math.log(base), x, 0),
  log2: (x) => inDomain(Math.log2(x), x, 0),
  log10: (x) => inDomain(Math.log10(x), x, 0),
  log1p: Math.log1p,
  expm1: Math.expm1,
  pow: Math.pow,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  atan2: Math.atan2,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  fabs: Math.abs,
  fmod: (a, b) => a % b!,
  hypot: Math.hypot,
  degrees: (x) => (x * 180) / Math.PI,
  radians: (x) => (x * Math.PI) / 180,
  copysign: (x, y) => (Object.is(Math.sign(y!), -0) || y! < 0 ? -Math.abs(x) : Math.abs(x)),
  isnan: Number.isNaN,
  isinf: (x) => x === Infinity || x === -Infinity,
  isfinite: Number.isFinite,
  isclose: (a, b) => Math.abs(a - b!) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b!)),
  ceil: (x) => whole(Math.ceil(x)),
  floor: (x) => whole(Math.floor(x)),
  trunc: (x) => whole(Math.trunc(x)),
};

const ON_INTS: Readonly<Record<string, (...args: bigint[]) => bigint>> = {
  gcd: (...values) => values.reduce(gcd, 0n),
  lcm: (...values) => values.reduce((a, b) => (a === 0n || b === 0n ? 0n : (a / gcd(a, b)) * b), 1n),
  factorial: (n) => (n < 2n ? 1n : n * ON_INTS['factorial']!(n - 1n)),
  comb: (n, k) => ON_INTS['factorial']!(n) / (ON_INTS['factorial']!(k!) * ON_INTS['factorial']!(n - k!)),
  isqrt: (n) => {
    let root = BigInt(Math.floor(Math.sqrt(Number(n))));
    while (root * root > n) root--;
    while ((root + 1n) * (root + 1n) <= n) root++;
    return root;
  },
};

/** What the module has, by name. */
export function mathMembers(path: string): [string, PythonValue][] {
  const fn = (name: string, call: NativeFunction['call']): [string, PythonValue] => [
    name,
    new NativeFunction(name, call, `${path}.${name}`),
  ];
  return [
    ...Object.entries(MATH_CONSTANTS),
    ...Object.entries(ON_FLOATS).map(([name, compute]) => fn(name, (args) => compute(...args.map(toNumber)))),
    ...Object.entries(ON_INTS).map(([name, compute]) =>
      fn(name, (args) => compute(...args.map((arg) => BigInt(arg as bigint)))),
    ),
    fn('prod', ([values]) => product((values as List | Tuple).items as readonly (bigint | number)[])),
  ];
}

function toNumber(value: PythonValue): number {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return Number(value);
  if (value instanceof Tensor && value.numel === 1) return Number(value.contiguousArray()[0]);
  throw new PythonError('must be real number');
}

/** Throws a PythonError where Python knows no such value. */
function inDomain(value: number, x: number, excluded?: number): number {
  if (x < 0 || x === excluded) throw new PythonError('math domain error', 'ValueError');
  return value;
}

function whole(value: number): bigint {
  if (!Number.isFinite(value)) throw new PythonError('cannot convert float infinity to integer', 'OverflowError');
  return BigInt(value);
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b);
}

function product(items: readonly (bigint | number)[]): bigint | number {
  if (items.every((item) => typeof item === 'bigint')) return items.reduce((total, item) => total * item, 1n);
  return items.reduce<number>((total, item) => total * Number(item), 1);
}
