/** 64-bit integers as two words, `x` the low one, with wraparound; and what 32-bit integers lack. */
export const integerFunctions: Readonly<Record<string, string>> = {
  i64_add: `fn i64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}`,
  i64_sub: `fn i64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}`,
  i64_neg: `fn i64_neg(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(~a.x + 1u, ~a.y + select(0u, 1u, a.x == 0u));
}`,
  i64_is_negative: `fn i64_is_negative(a: vec2<u32>) -> bool {
  return (a.y & 0x80000000u) != 0u;
}`,
  i64_abs: `fn i64_abs(a: vec2<u32>) -> vec2<u32> {
  return select(a, i64_neg(a), i64_is_negative(a));
}`,
  i64_sign: `fn i64_sign(a: vec2<u32>) -> vec2<u32> {
  if (i64_is_negative(a)) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  return vec2<u32>(select(0u, 1u, any(a != vec2<u32>(0u, 0u))), 0u);
}`,
  u32_mul_wide: `fn u32_mul_wide(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let cross1 = (a >> 16u) * (b & 0xffffu);
  let cross2 = (a & 0xffffu) * (b >> 16u);
  let middle = (low >> 16u) + (cross1 & 0xffffu) + (cross2 & 0xffffu);
  let high = (a >> 16u) * (b >> 16u) + (cross1 >> 16u) + (cross2 >> 16u) + (middle >> 16u);
  return vec2<u32>((low & 0xffffu) | (middle << 16u), high);
}`,
  i64_mul: `fn i64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let wide = u32_mul_wide(a.x, b.x);
  return vec2<u32>(wide.x, wide.y + a.x * b.y + a.y * b.x);
}`,
  i64_eq: `fn i64_eq(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.x == b.x && a.y == b.y;
}`,
  i64_lt: `fn i64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
  let x = bitcast<i32>(a.y);
  let y = bitcast<i32>(b.y);
  return x < y || (x == y && a.x < b.x);
}`,
  i64_max: `fn i64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, i64_lt(a, b));
}`,
  i64_min: `fn i64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, i64_lt(b, a));
}`,
  i64_from_i32: `fn i64_from_i32(a: i32) -> vec2<u32> {
  return vec2<u32>(bitcast<u32>(a), bitcast<u32>(a >> 31u));
}`,
  // The 32 leading bits, with a last bit that says whether anything follows: then one conversion rounds correctly.
  i64_to_float: `fn i64_to_float(a: vec2<u32>) -> f32 {
  let size = i64_abs(a);
  var result = u32_to_float(size.x);
  if (size.y != 0u) {
    let shift = 32u - countLeadingZeros(size.y);
    let shifted = u64_shr(size, shift);
    let dropped = size.x & ((1u << (shift & 31u)) - 1u);
    let sticky = select(0u, 1u, select(dropped, size.x, shift == 32u) != 0u);
    result = u32_to_float(shifted | sticky) * bitcast<f32>((127u + shift) << 23u);
  }
  return select(result, -result, i64_is_negative(a));
}`,
  // Not every adapter's conversion rounds to nearest; its addition does.
  u32_to_float: `fn u32_to_float(x: u32) -> f32 {
  return f32(x >> 8u) * 256.0 + f32(x & 0xffu);
}`,
  u64_shr: `fn u64_shr(a: vec2<u32>, shift: u32) -> u32 {
  if (shift == 32u) { return a.y; }
  return (a.x >> shift) | (a.y << (32u - shift));
}`,
  i64_from_float: `fn i64_from_float(x: f32) -> vec2<u32> {
  if (!(abs(x) < 9223372036854775808.0)) { return vec2<u32>(0u, 0x80000000u); }
  let size = trunc(abs(x));
  let high = floor(size * 0.00000000023283064365386963);
  let result = vec2<u32>(u32(size - high * 4294967296.0), u32(high));
  return select(result, i64_neg(result), x < 0.0);
}`,
  i32_floordiv: `fn i32_floordiv(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  let quotient = a / b;
  return select(quotient, quotient - 1, (a % b != 0) && ((a < 0) != (b < 0)));
}`,
  i32_remainder: `fn i32_remainder(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  let rest = a % b;
  return select(rest, rest + b, rest != 0 && ((rest < 0) != (b < 0)));
}`,
};
