import { erfRational, tanhRational, type RationalFunction } from '@cresset/tensorexpr';

/** `c₀ + z * (c₁ + z * (c₂ + …))`. */
const polynomial = (coefficients: readonly number[]): string =>
  coefficients.map(String).reduceRight((sum, coefficient) => `${coefficient} + z * (${sum})`);

/** Lines that give `x` as far as its bound, and the polynomials of its square there. */
const rational = ({ bound, above, below }: RationalFunction): string =>
  `  let inside = clamp(x, f32(${-bound}), f32(${bound}));
  let z = inside * inside;
  let above = ${polynomial(above)};
  let below = ${polynomial(below)};`;

/**
 * Transcendental functions over f32. WGSL has most of them, but promises little: an absolute error of 2^-11 for sines,
 * 4096 units in the last place for arc tangents. These keep a few units in the last place where PyTorch does.
 */
export const transcendentalFunctions: Readonly<Record<string, string>> = {
  // The built-in function loses a digit for every digit of a large argument. Nothing branches: threads that go different ways wait for
  // each other, and a software adapter computes both sides. The sum with 1.5 * 2^23 is rounded to a whole number, which its last bits are: a
  // conversion would be guarded against numbers that do not fit. Powers of two are added to the exponent. What is too small to have all its digits
  // is 0, as on GPUs that have no such numbers; NaN is what it was, since no comparison with it holds.
  exponential: `fn exponential(x: f32) -> f32 {
  let whole = bitcast<i32>(x * 1.442695 + 12582912.0) - 0x4b400000;
  let n = f32(whole);
  let r = (x - n * 0.693359375) + n * 0.00021219444;
  let tail = 0.49999994 + r * (0.1666652 + r * (0.041668404 + r * (0.008368899 + r * 0.0013814222)));
  let value = bitcast<f32>(bitcast<i32>(1.0 + (r + r * r * tail)) + (whole << 23u));
  return select(x * 3.0e38, select(0.0, value, x >= -87.33654), x <= 88.72284);
}`,
  exponential2: `fn exponential2(x: f32) -> f32 {
  if (x >= 128.0) { return infinity(); }
  if (x < -150.0) { return 0.0; }
  if (is_nan(x)) { return x; }
  return exp2(x);
}`,
  // exp(x) - 1 loses the digits of a small x; its series does not.
  expm1: `fn expm1(x: f32) -> f32 {
  let series = x * (1.0 + x * (0.5 + x * (0.16666667 + x * (0.041666668 + x * (0.008333334 + x * (0.0013888889
    + x * (0.0001984127 + x * 0.000024801588)))))));
  return select(exponential(x) - 1.0, series, abs(x) <= 0.5);
}`,
  logarithm: `fn logarithm(x: f32) -> f32 {
  if (x > 0.75 && x < 1.5) { return log1p_near_zero(x - 1.0); }
  if (x < 0.0) { return nan(); }
  if (x == 0.0) { return -infinity(); }
  if (!is_finite(x)) { return x; }
  return log(x);
}`,
  logarithm2: `fn logarithm2(x: f32) -> f32 {
  if (x > 0.75 && x < 1.5) { return log1p_near_zero(x - 1.0) * 1.442695; }
  if (x < 0.0) { return nan(); }
  if (x == 0.0) { return -infinity(); }
  if (!is_finite(x)) { return x; }
  return log2(x);
}`,
  logarithm10: `fn logarithm10(x: f32) -> f32 {
  return logarithm2(x) * 0.30103;
}`,
  log1p_near_zero: `fn log1p_near_zero(x: f32) -> f32 {
  let s = x / (2.0 + x);
  let z = s * s;
  return 2.0 * s * (1.0 + z * (0.33333334 + z * (0.2 + z * (0.14285715 + z * (0.11111111 + z * 0.09090909)))));
}`,
  log1p: `fn log1p(x: f32) -> f32 {
  if (x > -0.25 && x < 0.5) { return select(log1p_near_zero(x), x, x == 0.0); }
  if (x > -0.5 && x < 0.0) {
    // log(1 + x) = log(2 + 2x) - log(2), with both terms far from zero.
    return log1p_near_zero(1.0 + 2.0 * x) - 0.6931472;
  }
  return logarithm(1.0 + x);
}`,
  // The quadrant of x and what is left of it, in [-pi/4, pi/4]; pi/2 in three parts whose products are exact.
  reduce_angle: `fn reduce_angle(x: f32) -> vec2<f32> {
  if (!(abs(x) <= 8000.0)) { return reduce_large_angle(x); }
  let quadrant = round(x * 0.63661975);
  var rest = x - quadrant * 1.5703125;
  rest = rest - quadrant * 0.0004837512969970703;
  rest = rest - quadrant * 0.00000007549789954891882;
  return vec2<f32>(quadrant - 4.0 * floor(quadrant * 0.25), rest);
}`,
  // Payne and Hanek: only the bits of 2/pi that matter for this exponent are multiplied, in whole numbers.
  reduce_large_angle: `fn reduce_large_angle(x: f32) -> vec2<f32> {
  if (!is_finite(x)) { return vec2<f32>(0.0, nan()); }
  var two_over_pi = array<u32, 8>(0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
    0x3c439041u, 0xfe5163abu);
  let bits = bitcast<u32>(x);
  let mantissa = (bits & 0x7fffffu) | 0x800000u;
  // Two bits before the point of the product are kept: the bits of 2/pi above them add whole turns.
  let shift = ((bits >> 23u) & 0xffu) - 120u;
  let word = shift >> 5u;
  let rotate = shift & 31u;
  var parts = array<u32, 3>();
  for (var i = 0u; i < 3u; i++) {
    let high = two_over_pi[word + i];
    let low = two_over_pi[word + i + 1u];
    parts[i] = select(high << rotate, (high << rotate) | (low >> (32u - rotate)), rotate != 0u);
  }
  let low = u32_mul_wide(mantissa, parts[2]);
  let middle = i64_add(u32_mul_wide(mantissa, parts[1]), vec2<u32>(low.y, 0u));
  let top = mantissa * parts[0] + middle.y;
  // The product modulo 4 in fixed point: two bits before the point, the rest behind it.
  var quadrant = top >> 30u;
  var fraction = vec2<u32>((middle.x << 2u) | (low.x >> 30u), (top << 2u) | (middle.x >> 30u));
  var negative = false;
  if ((fraction.y & 0x80000000u) != 0u) {
    quadrant = quadrant + 1u;
    fraction = i64_neg(fraction);
    negative = true;
  }
  var rest = (f32(fraction.y) * 0.00000000023283064365386963 + f32(fraction.x) * 5.421010862427522e-20) * 1.5707964;
  if (negative) { rest = -rest; }
  if (x < 0.0) {
    rest = -rest;
    quadrant = 4u - (quadrant & 3u);
  }
  return vec2<f32>(f32(quadrant & 3u), rest);
}`,
  sine_near_zero: `fn sine_near_zero(x: f32) -> f32 {
  let z = x * x;
  return x + x * z * (-0.16666654 + z * (0.008332161 - z * 0.00019515296));
}`,
  cosine_near_zero: `fn cosine_near_zero(x: f32) -> f32 {
  let z = x * x;
  return 1.0 - 0.5 * z + z * z * (0.041666646 + z * (-0.0013887316 + z * 0.000024433157));
}`,
  sine: `fn sine(x: f32) -> f32 {
  let angle = reduce_angle(x);
  let odd = angle.x == 1.0 || angle.x == 3.0;
  let value = select(sine_near_zero(angle.y), cosine_near_zero(angle.y), odd);
  return select(value, -value, angle.x >= 2.0);
}`,
  cosine: `fn cosine(x: f32) -> f32 {
  let angle = reduce_angle(x);
  let odd = angle.x == 1.0 || angle.x == 3.0;
  let value = select(cosine_near_zero(angle.y), sine_near_zero(angle.y), odd);
  return select(value, -value, angle.x == 1.0 || angle.x == 2.0);
}`,
  // Near 0, and of NaN, `x` itself: a comparison with NaN is false.
  hyperbolic_tangent: `fn hyperbolic_tangent(x: f32) -> f32 {
${rational(tanhRational)}
  return select(x, inside * above / below, abs(x) >= 0.0004);
}`,
  error_function: `fn error_function(x: f32) -> f32 {
${rational(erfRational)}
  return select(x, inside * (above / below), abs(x) >= 0.0);
}`,
  // Chebyshev fit with a relative error of 1.2e-7 (Numerical Recipes, erfcc), x >= 0.
  error_function_tail: `fn error_function_tail(x: f32) -> f32 {
  if (x > 10.5) { return 0.0; }
  let t = 1.0 / (1.0 + 0.5 * x);
  let exponent = -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * (0.27886807
    + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
  // x * x is split so that the exponent keeps its last digits.
  let high = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
  return t * exponential(-high * high) * exponential(-(x - high) * (x + high) + exponent);
}`,
};
