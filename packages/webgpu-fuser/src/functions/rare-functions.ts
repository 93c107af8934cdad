/** Functions that few programs call, which are fetched when a shader does: inverse and hyperbolic ones, Γ, division and powers of 64-bit integers. */
export const rareFunctions: Readonly<Record<string, string>> = {
  next_after: `fn next_after(x: f32, y: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return nan(); }
  if (x == y) { return y; }
  let bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) == 0u) { return bitcast<f32>((bitcast<u32>(y) & 0x80000000u) | 1u); }
  return bitcast<f32>(select(bits - 1u, bits + 1u, (x < y) == (x > 0.0)));
}`,
  hypotenuse: `fn hypotenuse(x: f32, y: f32) -> f32 {
  if (is_infinite(x) || is_infinite(y)) { return infinity(); }
  let longer = max(abs(x), abs(y));
  let shorter = min(abs(x), abs(y));
  if (is_nan(x) || is_nan(y)) { return nan(); }
  if (longer == 0.0) { return 0.0; }
  let ratio = shorter / longer;
  return longer * sqrt(1.0 + ratio * ratio);
}`,
  tangent: `fn tangent(x: f32) -> f32 {
  let angle = reduce_angle(x);
  let s = sine_near_zero(angle.y);
  let c = cosine_near_zero(angle.y);
  return select(s / c, -c / s, angle.x == 1.0 || angle.x == 3.0);
}`,
  arc_tangent_positive: `fn arc_tangent_positive(x: f32) -> f32 {
  var y = 0.0;
  var r = x;
  if (x > 2.4142137) {
    y = 1.5707964;
    r = -1.0 / x;
  } else if (x > 0.41421357) {
    y = 0.7853982;
    r = (x - 1.0) / (x + 1.0);
  }
  let z = r * r;
  return y + (r + r * z * (-0.33332950 + z * (0.19977711 + z * (-0.13877685 + z * 0.080537446))));
}`,
  arc_tangent: `fn arc_tangent(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (is_infinite(x)) { return copy_sign(1.5707964, x); }
  return copy_sign(arc_tangent_positive(abs(x)), x);
}`,
  arc_tangent2: `fn arc_tangent2(y: f32, x: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return nan(); }
  var angle = 0.0;
  if (abs(y) == 0.0) {
    angle = 0.0;
  } else if (is_infinite(x) && is_infinite(y)) {
    angle = 0.7853982;
  } else if (x == 0.0 || is_infinite(y)) {
    angle = 1.5707964;
  } else if (!is_infinite(x)) {
    let a = abs(y);
    let b = abs(x);
    // A quotient that would overflow is a right angle.
    angle = select(arc_tangent_positive(a / b), 1.5707964, b < a * 1e-30);
  }
  return copy_sign(select(angle, 3.1415927 - angle, sign_bit(x)), y);
}`,
  arc_sine_near_zero: `fn arc_sine_near_zero(x: f32) -> f32 {
  let z = x * x;
  return x + x * z * (0.16666752 + z * (0.07495300 + z * (0.045470025 + z * (0.024181311 + z * 0.042163199))));
}`,
  arc_sine: `fn arc_sine(x: f32) -> f32 {
  let size = abs(x);
  if (!(size <= 1.0)) { return nan(); }
  if (size <= 0.5) { return arc_sine_near_zero(x); }
  return copy_sign(1.5707964 - 2.0 * arc_sine_near_zero(sqrt(0.5 * (1.0 - size))), x);
}`,
  arc_cosine: `fn arc_cosine(x: f32) -> f32 {
  let size = abs(x);
  if (!(size <= 1.0)) { return nan(); }
  if (size <= 0.5) { return 1.5707964 - arc_sine_near_zero(x); }
  let half = 2.0 * arc_sine_near_zero(sqrt(0.5 * (1.0 - size)));
  return select(half, 3.1415927 - half, x < 0.0);
}`,
  hyperbolic_sine: `fn hyperbolic_sine(x: f32) -> f32 {
  let size = abs(x);
  if (size < 1.0) {
    let e = expm1(size);
    return copy_sign(0.5 * (e + e / (e + 1.0)), x);
  }
  return copy_sign(half_exponential(size) - select(0.0, 0.5 * exponential(-size), size < 20.0), x);
}`,
  hyperbolic_cosine: `fn hyperbolic_cosine(x: f32) -> f32 {
  let size = abs(x);
  return half_exponential(size) + select(0.0, 0.5 * exponential(-size), size < 20.0);
}`,
  // exp(x) / 2, which is finite for longer than exp(x).
  half_exponential: `fn half_exponential(x: f32) -> f32 {
  if (x < 80.0) { return 0.5 * exponential(x); }
  let root = exponential(0.5 * x);
  return 0.5 * root * root;
}`,
  area_sine: `fn area_sine(x: f32) -> f32 {
  let size = abs(x);
  if (!is_finite(x)) { return x; }
  if (size > 10000.0) { return copy_sign(logarithm(size) + 0.6931472, x); }
  let square = size * size;
  return copy_sign(log1p(size + square / (1.0 + sqrt(square + 1.0))), x);
}`,
  area_cosine: `fn area_cosine(x: f32) -> f32 {
  if (!(x >= 1.0)) { return nan(); }
  if (x > 10000.0) { return logarithm(x) + 0.6931472; }
  let t = x - 1.0;
  return log1p(t + sqrt(2.0 * t + t * t));
}`,
  area_tangent: `fn area_tangent(x: f32) -> f32 {
  let size = abs(x);
  if (!(size <= 1.0)) { return nan(); }
  if (size == 1.0) { return copy_sign(infinity(), x); }
  return copy_sign(0.5 * log1p(2.0 * size / (1.0 - size)), x);
}`,
  error_function_complement: `fn error_function_complement(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x < 0.5) {
    return select(1.0 - error_function(x), 2.0 - error_function_tail(-x), x < -1.0);
  }
  return error_function_tail(x);
}`,
  // Giles, "Approximating the erfinv function": single precision branch.
  error_function_inverse: `fn error_function_inverse(x: f32) -> f32 {
  if (!(abs(x) <= 1.0)) { return nan(); }
  if (abs(x) == 1.0) { return copy_sign(infinity(), x); }
  var w = -logarithm((1.0 - x) * (1.0 + x));
  if (w < 5.0) {
    w = w - 2.5;
    return x * (1.50140941 + w * (0.246640727 + w * (-0.00417768164 + w * (-0.00125372503 + w * (0.00021858087
      + w * (-0.00000439150654 + w * (-0.0000035233877 + w * (0.000000343273939 + w * 0.0000000281022636))))))));
  }
  w = sqrt(w) - 3.0;
  return x * (2.83297682 + w * (1.00167406 + w * (0.00943887047 + w * (-0.0076224613 + w * (0.00573950773
    + w * (-0.00367342844 + w * (0.00134934322 + w * (0.000100950558 + w * -0.000200214257))))))));
}`,
  // Stirling's series, after shifting the argument up.
  log_gamma_positive: `fn log_gamma_positive(x: f32) -> f32 {
  if (x > 1e36) { return select(infinity(), x * (log(x) - 1.0), x < 4.08e36); }
  // Near the zeros at 1 and 2: Taylor's series around them.
  let a = x - 1.0;
  if (abs(a) < 0.3) { return log_gamma_near_one(a); }
  let b = x - 2.0;
  if (abs(b) < 0.3) { return log_gamma_near_one(b) + log1p(b); }
  var shifted = x;
  var product = 1.0;
  while (shifted < 6.0) {
    product = product * shifted;
    shifted = shifted + 1.0;
  }
  let z = 1.0 / (shifted * shifted);
  let series = (0.083333336 + z * (-0.0027777778 + z * 0.0007936508)) / shifted;
  return (shifted - 0.5) * log(shifted) - shifted + 0.9189385 + series - log(product);
}`,
  log_gamma_near_one: `fn log_gamma_near_one(x: f32) -> f32 {
  return x * (-0.5772157 + x * (0.82246703 + x * (-0.40068563 + x * (0.27058081 + x * (-0.20738555 + x * (0.16955718
    + x * (-0.14404989 + x * (0.12550967 + x * (-0.11133427 + x * (0.100099458 - x * 0.0909540))))))))));
}`,
  log_gamma: `fn log_gamma(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (is_infinite(x)) { return infinity(); }
  if (x > 0.0) { return log_gamma_positive(x); }
  let turn = x - round(x);
  if (turn == 0.0) { return infinity(); }
  // Reflection: gamma(x) gamma(1 - x) = pi / sin(pi x).
  return 1.1447299 - log(sine_of_turn(abs(turn))) - log_gamma_positive(1.0 - x);
}`,
  // sin(pi x), 0 <= x <= 0.5.
  sine_of_turn: `fn sine_of_turn(x: f32) -> f32 {
  return select(sine_near_zero(3.1415927 * x), cosine_near_zero(3.1415927 * (0.5 - x)), x > 0.25);
}`,
  digamma: `fn digamma(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x == 0.0) { return copy_sign(infinity(), -x); }
  if (is_infinite(x)) { return select(nan(), x, x > 0.0); }
  var argument = x;
  var result = 0.0;
  if (x < 0.0) {
    let turn = x - round(x);
    if (turn == 0.0) { return nan(); }
    result = copy_sign(3.1415927 * (sine_of_turn(0.5 - abs(turn)) / sine_of_turn(abs(turn))), -turn);
    argument = 1.0 - x;
  }
  while (argument < 8.0) {
    result = result - 1.0 / argument;
    argument = argument + 1.0;
  }
  let z = 1.0 / (argument * argument);
  let series = z * (0.083333336 + z * (-0.008333334 + z * (0.003968254 - z * 0.004166667)));
  return result + log(argument) - 0.5 / argument - series;
}`,
  u64_lt: `fn u64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}`,
  // Quotient in xy, remainder in zw; a division by zero gives zeros, for a GPU cannot raise.
  u64_divide: `fn u64_divide(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
  if (b.x == 0u && b.y == 0u) { return vec4<u32>(0u, 0u, 0u, 0u); }
  if (a.y == 0u && b.y == 0u) { return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u); }
  var quotient = vec2<u32>(0u, 0u);
  var rest = vec2<u32>(0u, 0u);
  for (var i = 63i; i >= 0i; i--) {
    let bit = (select(a.x, a.y, i >= 32i) >> (u32(i) & 31u)) & 1u;
    let carry = rest.y >> 31u;
    rest = vec2<u32>((rest.x << 1u) | bit, (rest.y << 1u) | (rest.x >> 31u));
    quotient = vec2<u32>(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
    if (carry == 1u || !u64_lt(rest, b)) {
      rest = i64_sub(rest, b);
      quotient.x = quotient.x | 1u;
    }
  }
  return vec4<u32>(quotient, rest);
}`,
  i64_truncdiv: `fn i64_truncdiv(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let quotient = u64_divide(i64_abs(a), i64_abs(b)).xy;
  return select(quotient, i64_neg(quotient), i64_is_negative(a) != i64_is_negative(b));
}`,
  i64_fmod: `fn i64_fmod(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let rest = u64_divide(i64_abs(a), i64_abs(b)).zw;
  return select(rest, i64_neg(rest), i64_is_negative(a));
}`,
  i64_floordiv: `fn i64_floordiv(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let parts = u64_divide(i64_abs(a), i64_abs(b));
  if (i64_is_negative(a) == i64_is_negative(b)) { return parts.xy; }
  let down = select(0u, 1u, (parts.z | parts.w) != 0u);
  return i64_neg(i64_add(parts.xy, vec2<u32>(down, 0u)));
}`,
  i64_remainder: `fn i64_remainder(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let rest = i64_fmod(a, b);
  let adjust = (rest.x | rest.y) != 0u && i64_is_negative(rest) != i64_is_negative(b);
  return select(rest, i64_add(rest, b), adjust);
}`,
  i64_pow: `fn i64_pow(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  var result = vec2<u32>(1u, 0u);
  if (i64_is_negative(b)) {
    if (i64_eq(a, vec2<u32>(0xffffffffu, 0xffffffffu))) { return select(result, a, (b.x & 1u) == 1u); }
    return select(vec2<u32>(0u, 0u), result, i64_eq(a, result));
  }
  var factor = a;
  var left = b;
  while ((left.x | left.y) != 0u) {
    if ((left.x & 1u) == 1u) { result = i64_mul(result, factor); }
    factor = i64_mul(factor, factor);
    left = vec2<u32>((left.x >> 1u) | (left.y << 31u), left.y >> 1u);
  }
  return result;
}`,
  i64_shl: `fn i64_shl(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.y != 0u || b.x >= 64u) { return vec2<u32>(0u, 0u); }
  if (b.x >= 32u) { return vec2<u32>(0u, a.x << (b.x - 32u)); }
  if (b.x == 0u) { return a; }
  return vec2<u32>(a.x << b.x, (a.y << b.x) | (a.x >> (32u - b.x)));
}`,
  i64_shr: `fn i64_shr(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let high = bitcast<i32>(a.y);
  let sign = bitcast<u32>(high >> 31u);
  if (b.y != 0u || b.x >= 64u) { return vec2<u32>(sign, sign); }
  if (b.x >= 32u) { return vec2<u32>(bitcast<u32>(high >> (b.x - 32u)), sign); }
  if (b.x == 0u) { return a; }
  return vec2<u32>((a.x >> b.x) | (a.y << (32u - b.x)), bitcast<u32>(high >> b.x));
}`,
  // Philox 4x32-10: words 2n and 2n + 1 of the stream, from the counter that holds them.
  philox: `fn philox(key: vec2<u32>, number: vec2<u32>) -> vec2<u32> {
  var words = vec4<u32>((number.x >> 1u) | (number.y << 31u), number.y >> 1u, 0u, 0u);
  var keys = key;
  for (var round = 0i; round < 10i; round++) {
    let a = u32_mul_wide(0xd2511f53u, words.x);
    let b = u32_mul_wide(0xcd9e8d57u, words.z);
    words = vec4<u32>(b.y ^ words.y ^ keys.x, b.x, a.y ^ words.w ^ keys.y, a.x);
    keys = keys + vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return select(words.xy, words.zw, (number.x & 1u) == 1u);
}`,
  i32_pow: `fn i32_pow(a: i32, b: i32) -> i32 {
  if (b < 0) {
    if (a == -1) { return select(1, -1, (b & 1) == 1); }
    return select(0, 1, a == 1);
  }
  var result = 1i;
  var factor = a;
  var left = b;
  while (left != 0) {
    if ((left & 1) == 1) { result = result * factor; }
    factor = factor * factor;
    left = left >> 1u;
  }
  return result;
}`,
  i32_shl: `fn i32_shl(a: i32, b: i32) -> i32 {
  if (b < 0 || b >= 32) { return 0; }
  return a << u32(b);
}`,
  i32_shr: `fn i32_shr(a: i32, b: i32) -> i32 {
  if (b < 0 || b >= 32) { return a >> 31u; }
  return a >> u32(b);
}`,
};
