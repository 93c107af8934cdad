/**
 * WGSL functions over f32 that the language does not have, or has with undefined corners: a compiler may assume that
 * there are no NaNs and infinities, so they are told apart by their bits. Each text may call functions of this and the
 * other tables; `function-library.ts` collects what a shader needs.
 */
export const floatFunctions: Readonly<Record<string, string>> = {
  // A `var` keeps the bits from being evaluated by the WGSL compiler, which refuses constants that are not finite.
  nan: `fn nan() -> f32 {
  var bits = 0x7fc00000u;
  return bitcast<f32>(bits);
}`,
  infinity: `fn infinity() -> f32 {
  var bits = 0x7f800000u;
  return bitcast<f32>(bits);
}`,
  four_halves: `fn four_halves(words: vec2<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
}`,
  four_bfloats: `fn four_bfloats(words: vec2<u32>) -> vec4<f32> {
  return bitcast<vec4<f32>>((words.xxyy << vec4<u32>(16u, 0u, 16u, 0u)) & vec4<u32>(0xffff0000u));
}`,
  is_nan: `fn is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}`,
  is_infinite: `fn is_infinite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}`,
  is_finite: `fn is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}`,
  sign_bit: `fn sign_bit(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x80000000u) != 0u;
}`,
  copy_sign: `fn copy_sign(x: f32, y: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(y) & 0x80000000u));
}`,
  sign_of: `fn sign_of(x: f32) -> f32 {
  return select(select(0.0, -1.0, x < 0.0), 1.0, x > 0.0);
}`,
  max_nan: `fn max_nan(x: f32, y: f32) -> f32 {
  return select(select(max(x, y), y, is_nan(y)), x, is_nan(x));
}`,
  min_nan: `fn min_nan(x: f32, y: f32) -> f32 {
  return select(select(min(x, y), y, is_nan(y)), x, is_nan(x));
}`,
  max_number: `fn max_number(x: f32, y: f32) -> f32 {
  return select(select(max(x, y), x, is_nan(y)), y, is_nan(x));
}`,
  min_number: `fn min_number(x: f32, y: f32) -> f32 {
  return select(select(min(x, y), x, is_nan(y)), y, is_nan(x));
}`,
  // Long division by powers of two times the divisor: every subtraction is exact.
  float_fmod: `fn float_fmod(x: f32, y: f32) -> f32 {
  if (is_nan(x) || is_nan(y) || is_infinite(x) || y == 0.0) { return nan(); }
  if (is_infinite(y)) { return x; }
  let divisor = abs(y);
  var rest = abs(x);
  while (rest >= divisor) {
    let shift = (bitcast<u32>(rest) >> 23u) - (bitcast<u32>(divisor) >> 23u);
    var step = bitcast<f32>(bitcast<u32>(divisor) + (shift << 23u));
    if (step > rest) { step = step * 0.5; }
    rest = rest - step;
  }
  return copy_sign(rest, x);
}`,
  float_remainder: `fn float_remainder(x: f32, y: f32) -> f32 {
  let rest = float_fmod(x, y);
  return select(rest, rest + y, rest != 0.0 && (y < 0.0) != (rest < 0.0));
}`,
  float_floordiv: `fn float_floordiv(x: f32, y: f32) -> f32 {
  if (y == 0.0) { return x / y; }
  let rest = float_fmod(x, y);
  var quotient = (x - rest) / y;
  if (rest != 0.0 && (y < 0.0) != (rest < 0.0)) { quotient = quotient - 1.0; }
  if (quotient == 0.0) { return copy_sign(0.0, x / y); }
  let down = floor(quotient);
  return select(down, down + 1.0, quotient - down > 0.5);
}`,
  power: `fn power(x: f32, y: f32) -> f32 {
  if (y == 0.0 || x == 1.0) { return 1.0; }
  if (is_nan(x) || is_nan(y)) { return nan(); }
  if (is_infinite(y)) {
    let size = abs(x);
    if (size == 1.0) { return 1.0; }
    return select(0.0, infinity(), (size > 1.0) == (y > 0.0));
  }
  let whole = floor(y) == y;
  let odd = whole && abs(y) < 16777216.0 && (i32(y) & 1) == 1;
  let size = abs(x);
  var result = 0.0;
  if (size == 0.0 || is_infinite(size)) {
    result = select(0.0, infinity(), (size == 0.0) == (y < 0.0));
  } else if (whole && abs(y) <= 32.0) {
    // Small whole exponents by squaring: exact where the result is.
    var factor = size;
    var left = u32(abs(y));
    result = 1.0;
    while (left != 0u) {
      if ((left & 1u) == 1u) { result = result * factor; }
      factor = factor * factor;
      left = left >> 1u;
    }
    if (y < 0.0) { result = 1.0 / result; }
  } else if (y == 0.5) {
    result = sqrt(size);
  } else {
    result = exponential2(y * logarithm2(size));
  }
  if (sign_bit(x)) {
    if (odd) { return -result; }
    if (!whole && x != 0.0 && !is_infinite(x)) { return nan(); }
  }
  return result;
}`,
  float_to_i32: `fn float_to_i32(x: f32) -> i32 {
  if (abs(x) < 2147483648.0) { return i32(x); }
  return i32(-2147483648);
}`,
  round_to_half: `fn round_to_half(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  let size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) { return x; }
  if (size >= 0x477ff000u) { return copy_sign(infinity(), x); }
  // Below the smallest normal half, adding and taking away 0.5 rounds at the last place of a subnormal half.
  if (size < 0x38800000u) {
    var shifted = bitcast<f32>(size) + 0.5;
    let rounded = bitcast<u32>(shifted) - 0x3f000000u;
    return copy_sign(f32(rounded) * 0.000000059604644775390625, x);
  }
  let even = (size + 0xfffu + ((size >> 13u) & 1u)) & 0xffffe000u;
  return bitcast<f32>((bits & 0x80000000u) | even);
}`,
  round_to_bfloat: `fn round_to_bfloat(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return x; }
  return bitcast<f32>((bits + 0x7fffu + ((bits >> 16u) & 1u)) & 0xffff0000u);
}`,
};
