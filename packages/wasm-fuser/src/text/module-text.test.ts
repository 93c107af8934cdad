import { describe, expect, it } from 'vitest';
import { countUp, f32x4, i32, i32x4, i64, v128, when } from '../code.ts';
import { moduleBytes } from '../load.ts';
import { defineImageProducts, definePackedProducts, definePacking } from '../products.ts';
import { ModuleBuilder } from '../module.ts';
import { instructionNames, vectorNames } from './instruction-names.ts';
import { moduleText } from './module-text.ts';

describe('a module as text', () => {
  it('has its imports, functions, locals and blocks as they were written', () => {
    const module = new ModuleBuilder([{ name: 'sine', parameters: ['f64'], result: 'f64' }]);
    const half = module.define(null, 1, (_body, x) => x.set(i32.shiftRight(x.get, i32.const(1))));
    module.define('run', 2, (body, from, to) => {
      const at = body.integer();
      const sum = body.vector();
      return [
        countUp(at, from.get, to.get, i32.const(16), [
          sum.set(f32x4.add(sum.get, v128.load(at.get, 32))),
          when(i32x4.allTrue(sum.get), half(at.get), i32.store(at.get, i32x4.extract(sum.get, 3))),
        ]),
        i64.store(to.get, i64.const(-(2n ** 40n))),
        v128.store(to.get, v128.shuffle(sum.get, v128.words(1, -1, 0, 0x3f80_0000), [0, 4, 1, 5])),
      ];
    });
    expect(moduleText(module.bytes())).toBe(
      `
(module
  (import "host" "memory" (memory 0))
  (import "host" "sine" (func $sine (param f64) (result f64)))
  (func $1 (param i32)
    local.get 0
    i32.const 1
    i32.shr_s
    local.set 0
  )
  (func $run (export "run") (param i32 i32)
    (local i32 v128 v128)
    v128.const i32x4 0x00000001 0xffffffff 0x00000000 0x3f800000
    local.set 4
    local.get 0
    local.set 2
    local.get 2
    local.get 1
    i32.lt_s
    if
      loop
        local.get 3
        local.get 2
        v128.load offset=32 align=1
        f32x4.add
        local.set 3
        local.get 3
        i32x4.all_true
        if
          local.get 2
          call $1
        else
          local.get 2
          local.get 3
          i32x4.extract_lane 3
          i32.store align=1
        end
        local.get 2
        i32.const 16
        i32.add
        local.set 2
        local.get 2
        local.get 1
        i32.lt_s
        br_if 0
      end
    end
    local.get 1
    i64.const -1099511627776
    i64.store align=1
    local.get 1
    local.get 3
    local.get 4
    i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
    v128.store align=1
  )
)`.trim(),
    );
  });

  it.each([
    [false, false],
    [true, false],
    [false, true],
  ])('of all products: relaxed %s, shared %s', (isRelaxed, isShared) => {
    const definitions = [definePacking, definePackedProducts, defineImageProducts];
    const text = moduleText(moduleBytes(definitions, isRelaxed, isShared));
    expect(text.includes('f32x4.relaxed_madd')).toBe(isRelaxed);
    expect(text.includes('shared')).toBe(isShared);
    const lines = text.split('\n').map((line) => line.trim());
    const opened = lines.filter((line) => /^(?:block|loop|if)\b/.test(line)).length;
    expect(lines.filter((line) => line === 'end')).toHaveLength(opened);
  });

  it('names each instruction once, and throws at what is none', () => {
    const names = [...instructionNames.values(), ...vectorNames.values()];
    expect(new Set(names).size).toBe(names.length);
    // As the specification numbers them.
    expect([instructionNames.get(0xa7), instructionNames.get(0xbf), instructionNames.get(0xc4)]).toEqual([
      'i32.wrap_i64',
      'f64.reinterpret_i64',
      'i64.extend32_s',
    ]);
    expect([84, 127, 155, 181, 186, 213, 247, 255, 261].map((opcode) => vectorNames.get(opcode))).toEqual([
      'v128.load8_lane',
      'i32x4.extadd_pairwise_i16x8_u',
      'i16x8.avgr_u',
      'i32x4.mul',
      'i32x4.dot_i16x8_s',
      'i64x2.mul',
      'f64x2.pmax',
      'f64x2.convert_low_i32x4_u',
      'f32x4.relaxed_madd',
    ]);
    const module = new ModuleBuilder();
    module.define('run', 0, () => 0xff);
    expect(() => moduleText(module.bytes())).toThrow(new RangeError('there is no instruction 0xff'));
  });
});
