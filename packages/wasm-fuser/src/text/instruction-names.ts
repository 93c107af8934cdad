/** Names of one stretch of opcodes, one after another; `-` stands for an opcode that nothing has. */
type Stretch = readonly [first: number, prefix: string, names: string];

const comparisons = 'eqz eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u';
const floatComparisons = 'eq ne lt gt le ge';
const laneComparisons = comparisons.replace('eqz ', '');
const arithmetic = 'clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr';
const floatArithmetic = 'abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign';
const vectorArithmetic = 'abs neg - sqrt add sub mul div min max pmin pmax';
const saturated = 'shl shr_s shr_u add add_sat_s add_sat_u sub sub_sat_s sub_sat_u';

/** As the specification of WebAssembly has them, by opcode. */
export const instructionNames = named([
  [0x00, '', 'unreachable nop block loop if else'],
  [0x0b, '', 'end br br_if - return call'],
  [0x1a, '', 'drop select'],
  [0x20, 'local.', 'get set tee'],
  [0x28, 'i32.', 'load'],
  [0x29, 'i64.', 'load'],
  [0x2a, 'f32.', 'load'],
  [0x2b, 'f64.', 'load'],
  [0x2c, 'i32.', 'load8_s load8_u load16_s load16_u'],
  [0x30, 'i64.', 'load8_s load8_u load16_s load16_u load32_s load32_u'],
  [0x36, 'i32.', 'store'],
  [0x37, 'i64.', 'store'],
  [0x38, 'f32.', 'store'],
  [0x39, 'f64.', 'store'],
  [0x3a, 'i32.', 'store8 store16'],
  [0x3c, 'i64.', 'store8 store16 store32'],
  [0x3f, 'memory.', 'size grow'],
  [0x41, 'i32.', 'const'],
  [0x42, 'i64.', 'const'],
  [0x43, 'f32.', 'const'],
  [0x44, 'f64.', 'const'],
  [0x45, 'i32.', comparisons],
  [0x50, 'i64.', comparisons],
  [0x5b, 'f32.', floatComparisons],
  [0x61, 'f64.', floatComparisons],
  [0x67, 'i32.', arithmetic],
  [0x79, 'i64.', arithmetic],
  [0x8b, 'f32.', floatArithmetic],
  [0x99, 'f64.', floatArithmetic],
  [0xa7, 'i32.', 'wrap_i64 trunc_f32_s trunc_f32_u trunc_f64_s trunc_f64_u'],
  [0xac, 'i64.', 'extend_i32_s extend_i32_u trunc_f32_s trunc_f32_u trunc_f64_s trunc_f64_u'],
  [0xb2, 'f32.', 'convert_i32_s convert_i32_u convert_i64_s convert_i64_u demote_f64'],
  [0xb7, 'f64.', 'convert_i32_s convert_i32_u convert_i64_s convert_i64_u promote_f32'],
  [0xbc, '', 'i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64'],
  [0xc0, '', 'i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s'],
]);

/** Those behind the prefix 0xfc: conversions that never trap, and copies within the memory. */
export const prefixedNames = named([
  [0, 'i32.', 'trunc_sat_f32_s trunc_sat_f32_u trunc_sat_f64_s trunc_sat_f64_u'],
  [4, 'i64.', 'trunc_sat_f32_s trunc_sat_f32_u trunc_sat_f64_s trunc_sat_f64_u'],
  [10, 'memory.', 'copy fill'],
]);

/** Those behind the prefix 0xfd, the relaxed ones among them. */
export const vectorNames = named([
  [0, 'v128.', 'load load8x8_s load8x8_u load16x4_s load16x4_u load32x2_s load32x2_u'],
  [7, 'v128.', 'load8_splat load16_splat load32_splat load64_splat store const'],
  [13, '', 'i8x16.shuffle i8x16.swizzle'],
  [15, '', 'i8x16.splat i16x8.splat i32x4.splat i64x2.splat f32x4.splat f64x2.splat'],
  [21, 'i8x16.', 'extract_lane_s extract_lane_u replace_lane'],
  [24, 'i16x8.', 'extract_lane_s extract_lane_u replace_lane'],
  [27, 'i32x4.', 'extract_lane replace_lane'],
  [29, 'i64x2.', 'extract_lane replace_lane'],
  [31, 'f32x4.', 'extract_lane replace_lane'],
  [33, 'f64x2.', 'extract_lane replace_lane'],
  [35, 'i8x16.', laneComparisons],
  [45, 'i16x8.', laneComparisons],
  [55, 'i32x4.', laneComparisons],
  [65, 'f32x4.', floatComparisons],
  [71, 'f64x2.', floatComparisons],
  [77, 'v128.', 'not and andnot or xor bitselect any_true'],
  [84, 'v128.', 'load8_lane load16_lane load32_lane load64_lane'],
  [88, 'v128.', 'store8_lane store16_lane store32_lane store64_lane load32_zero load64_zero'],
  [94, '', 'f32x4.demote_f64x2_zero f64x2.promote_low_f32x4'],
  [96, 'i8x16.', 'abs neg popcnt all_true bitmask narrow_i16x8_s narrow_i16x8_u'],
  [103, 'f32x4.', 'ceil floor trunc nearest'],
  [107, 'i8x16.', saturated],
  [116, '', 'f64x2.ceil f64x2.floor'],
  [118, 'i8x16.', 'min_s min_u max_s max_u'],
  [122, '', 'f64x2.trunc i8x16.avgr_u i16x8.extadd_pairwise_i8x16_s i16x8.extadd_pairwise_i8x16_u'],
  [126, 'i32x4.', 'extadd_pairwise_i16x8_s extadd_pairwise_i16x8_u'],
  [128, 'i16x8.', 'abs neg q15mulr_sat_s all_true bitmask narrow_i32x4_s narrow_i32x4_u'],
  [135, 'i16x8.', `${extended('i8x16')} ${saturated}`],
  [148, '', 'f64x2.nearest'],
  [149, 'i16x8.', `mul min_s min_u max_s max_u - avgr_u ${multiplied('i8x16')}`],
  [160, 'i32x4.', `abs neg - all_true bitmask - - ${extended('i16x8')} shl shr_s shr_u add - - sub - - - mul`],
  [182, 'i32x4.', `min_s min_u max_s max_u dot_i16x8_s - ${multiplied('i16x8')}`],
  [192, 'i64x2.', `abs neg - all_true bitmask - - ${extended('i32x4')} shl shr_s shr_u add - - sub - - - mul`],
  [214, 'i64x2.', `eq ne lt_s gt_s le_s ge_s ${multiplied('i32x4')}`],
  [224, 'f32x4.', vectorArithmetic],
  [236, 'f64x2.', vectorArithmetic],
  [248, '', 'i32x4.trunc_sat_f32x4_s i32x4.trunc_sat_f32x4_u f32x4.convert_i32x4_s f32x4.convert_i32x4_u'],
  [252, '', 'i32x4.trunc_sat_f64x2_s_zero i32x4.trunc_sat_f64x2_u_zero'],
  [254, 'f64x2.', 'convert_low_i32x4_s convert_low_i32x4_u'],
  [256, '', 'i8x16.relaxed_swizzle i32x4.relaxed_trunc_f32x4_s i32x4.relaxed_trunc_f32x4_u'],
  [259, 'i32x4.', 'relaxed_trunc_f64x2_s_zero relaxed_trunc_f64x2_u_zero'],
  [261, '', 'f32x4.relaxed_madd f32x4.relaxed_nmadd f64x2.relaxed_madd f64x2.relaxed_nmadd'],
  [265, '', 'i8x16.relaxed_laneselect i16x8.relaxed_laneselect i32x4.relaxed_laneselect i64x2.relaxed_laneselect'],
  [269, '', 'f32x4.relaxed_min f32x4.relaxed_max f64x2.relaxed_min f64x2.relaxed_max'],
  [273, '', 'i16x8.relaxed_q15mulr_s i16x8.relaxed_dot_i8x16_i7x16_s i32x4.relaxed_dot_i8x16_i7x16_add_s'],
]);

function extended(from: string): string {
  return (
    ['low', 'high'].map((half) => `extend_${half}_${from}_s`).join(' ') + ` extend_low_${from}_u extend_high_${from}_u`
  );
}

function multiplied(from: string): string {
  return extended(from).replaceAll('extend', 'extmul');
}

function named(stretches: readonly Stretch[]): ReadonlyMap<number, string> {
  return new Map(
    stretches.flatMap(([first, prefix, names]) =>
      names.split(' ').flatMap((name, at) => (name === '-' ? [] : [[first + at, prefix + name] as const])),
    ),
  );
}
