import { CressetError } from '@cresset/ir';
import type { BinaryFunction, ExprType, ReduceFunction, UnaryFunction } from '@cresset/tensorexpr';

type Unary = (x: string) => string;
type Binary = (x: string, y: string) => string;

const call = (name: string) => (x: string) => `${name}(${x})`;
const call2 = (name: string) => (x: string, y: string) => `${name}(${x}, ${y})`;
const infix = (operator: string) => (x: string, y: string) => `(${x} ${operator} ${y})`;
const same: Unary = (x) => x;

const floatUnary: Record<UnaryFunction, Unary> = {
  neg: (x) => `(-${x})`,
  abs: call('abs'),
  sign: call('sign_of'),
  not: (x) => `select(0.0, 1.0, ${x} == 0.0)`,
  exp: call('exponential'),
  exp2: call('exponential2'),
  expm1: call('expm1'),
  log: call('logarithm'),
  log2: call('logarithm2'),
  log10: call('logarithm10'),
  log1p: call('log1p'),
  sqrt: call('sqrt'),
  rsqrt: call('inverseSqrt'),
  sin: call('sine'),
  cos: call('cosine'),
  tan: call('tangent'),
  asin: call('arc_sine'),
  acos: call('arc_cosine'),
  atan: call('arc_tangent'),
  sinh: call('hyperbolic_sine'),
  cosh: call('hyperbolic_cosine'),
  tanh: call('hyperbolic_tangent'),
  asinh: call('area_sine'),
  acosh: call('area_cosine'),
  atanh: call('area_tangent'),
  erf: call('error_function'),
  erfc: call('error_function_complement'),
  erfinv: call('error_function_inverse'),
  lgamma: call('log_gamma'),
  digamma: call('digamma'),
  floor: call('floor'),
  ceil: call('ceil'),
  round: call('round'),
  trunc: call('trunc'),
  isnan: call('is_nan'),
  isinf: call('is_infinite'),
  isfinite: call('is_finite'),
  signbit: call('sign_bit'),
  single: same,
  half: call('round_to_half'),
  bfloat: call('round_to_bfloat'),
};

const wholeNumberUnary: Partial<Record<UnaryFunction, Unary>> = {
  floor: same,
  ceil: same,
  round: same,
  trunc: same,
  isnan: () => 'false',
  isinf: () => 'false',
  isfinite: () => 'true',
};

const unaryTables: Record<ExprType, Partial<Record<UnaryFunction, Unary>>> = {
  float: floatUnary,
  i32: {
    ...wholeNumberUnary,
    neg: (x) => `(-${x})`,
    abs: call('abs'),
    sign: call('sign'),
    not: (x) => `(~${x})`,
    signbit: (x) => `(${x} < 0)`,
  },
  i64: {
    ...wholeNumberUnary,
    neg: call('i64_neg'),
    abs: call('i64_abs'),
    sign: call('i64_sign'),
    not: (x) => `(~${x})`,
    signbit: call('i64_is_negative'),
  },
  bool: { ...wholeNumberUnary, not: (x) => `(!${x})`, abs: same, sign: same, signbit: () => 'false' },
};

const comparisons = {
  eq: infix('=='),
  ne: infix('!='),
  lt: infix('<'),
  le: infix('<='),
  gt: infix('>'),
  ge: infix('>='),
};

const binaryTables: Record<ExprType, Partial<Record<BinaryFunction, Binary>>> = {
  float: {
    ...comparisons,
    ne: (x, y) => `(!(${x} == ${y}))`,
    add: infix('+'),
    sub: infix('-'),
    mul: infix('*'),
    div: infix('/'),
    truncdiv: (x, y) => `trunc(${x} / ${y})`,
    floordiv: call2('float_floordiv'),
    fmod: call2('float_fmod'),
    remainder: call2('float_remainder'),
    pow: call2('power'),
    atan2: call2('arc_tangent2'),
    hypot: call2('hypotenuse'),
    copysign: call2('copy_sign'),
    nextafter: call2('next_after'),
    max: call2('max_nan'),
    min: call2('min_nan'),
    fmax: call2('max_number'),
    fmin: call2('min_number'),
  },
  i32: {
    ...comparisons,
    add: infix('+'),
    sub: infix('-'),
    mul: infix('*'),
    truncdiv: infix('/'),
    floordiv: call2('i32_floordiv'),
    fmod: infix('%'),
    remainder: call2('i32_remainder'),
    pow: call2('i32_pow'),
    max: call2('max'),
    min: call2('min'),
    fmax: call2('max'),
    fmin: call2('min'),
    and: infix('&'),
    or: infix('|'),
    xor: infix('^'),
    shl: call2('i32_shl'),
    shr: call2('i32_shr'),
  },
  i64: {
    add: call2('i64_add'),
    sub: call2('i64_sub'),
    mul: call2('i64_mul'),
    truncdiv: call2('i64_truncdiv'),
    floordiv: call2('i64_floordiv'),
    fmod: call2('i64_fmod'),
    remainder: call2('i64_remainder'),
    pow: call2('i64_pow'),
    max: call2('i64_max'),
    min: call2('i64_min'),
    fmax: call2('i64_max'),
    fmin: call2('i64_min'),
    eq: call2('i64_eq'),
    ne: (x, y) => `(!i64_eq(${x}, ${y}))`,
    lt: call2('i64_lt'),
    le: (x, y) => `(!i64_lt(${y}, ${x}))`,
    gt: (x, y) => `i64_lt(${y}, ${x})`,
    ge: (x, y) => `(!i64_lt(${x}, ${y}))`,
    and: infix('&'),
    or: infix('|'),
    xor: infix('^'),
    philox: call2('philox'),
    shl: call2('i64_shl'),
    shr: call2('i64_shr'),
  },
  bool: {
    eq: infix('=='),
    ne: infix('!='),
    lt: (x, y) => `(!${x} && ${y})`,
    le: (x, y) => `(!${x} || ${y})`,
    gt: (x, y) => `(${x} && !${y})`,
    ge: (x, y) => `(${x} || !${y})`,
    add: infix('||'),
    mul: infix('&&'),
    max: infix('||'),
    min: infix('&&'),
    fmax: infix('||'),
    fmin: infix('&&'),
    and: infix('&&'),
    or: infix('||'),
    xor: infix('!='),
  },
};

function missing(fn: string, type: ExprType): never {
  throw new CressetError('DEVICE_FUNCTION', `the function ${fn} is not defined for values of type ${type}`);
}

export function unaryCode(fn: UnaryFunction, type: ExprType, x: string): string {
  return (unaryTables[type][fn] ?? missing(fn, type))(x);
}

export function binaryCode(fn: BinaryFunction, type: ExprType, x: string, y: string): string {
  return (binaryTables[type][fn] ?? missing(fn, type))(x, y);
}

const casts: Record<ExprType, Partial<Record<ExprType, Unary>>> = {
  float: {
    i32: call('float_to_i32'),
    i64: call('i64_from_float'),
    bool: (x) => `(!(${x} == 0.0))`,
  },
  i32: {
    float: call('f32'),
    i64: call('i64_from_i32'),
    bool: (x) => `(${x} != 0)`,
  },
  i64: {
    float: call('i64_to_float'),
    i32: (x) => `bitcast<i32>(${x}.x)`,
    bool: (x) => `any(${x} != vec2<u32>(0u, 0u))`,
  },
  bool: {
    float: (x) => `select(0.0, 1.0, ${x})`,
    i32: (x) => `select(0, 1, ${x})`,
    i64: (x) => `vec2<u32>(select(0u, 1u, ${x}), 0u)`,
  },
};

/** Conversion by value between computing types. */
export function castCode(from: ExprType, to: ExprType, x: string): string {
  return from === to ? x : casts[from][to]!(x);
}

/** One step of a reduction that keeps a single value. */
export function combineCode(fn: ReduceFunction, type: ExprType, x: string, y: string): string {
  switch (fn) {
    case 'sum':
      return type === 'bool' ? `(${x} || ${y})` : binaryCode('add', type, x, y);
    case 'prod':
      return binaryCode('mul', type, x, y);
    case 'max':
    case 'min':
      return binaryCode(fn, type, x, y);
    case 'any':
      return `(${x} || ${y})`;
    case 'all':
      return `(${x} && ${y})`;
    default:
      throw new TypeError(`${fn} keeps two values`);
  }
}

/** Whether `x` takes the place of `best` in an argmax or argmin; the first NaN wins. */
export function betterCode(fn: 'argmax' | 'argmin', type: ExprType, x: string, best: string): string {
  const better = binaryCode(fn === 'argmax' ? 'gt' : 'lt', type, x, best);
  return type === 'float' ? `(${better} || (is_nan(${x}) && !is_nan(${best})))` : better;
}
