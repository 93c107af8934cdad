import { elementSize } from '@cresset/tensor';
import type { Transform, TransformLines } from '@cresset/tensorexpr';
import { i32, repeatWhile, v128, when, type Code, type Local } from '../../code.ts';
import type { FunctionBody, ModuleBuilder } from '../../module.ts';
import { whileTrue, type Defined } from '../order-elements.ts';
import { LINE_DONE } from '../routine-functions.ts';
import type { RoutineLines } from '../routines.ts';
import { ELEMENT_BYTES, elementsOn, isBelow, PART_BYTES, TransformFloats } from './transform-floats.ts';
import { defineLoad, defineStore } from './transform-lines.ts';
import { defineJoin, definePass, defineSplit } from './transform-passes.ts';
import { OWN_RADICES, PASS_BYTES, pointsOfForm, tablesOf } from './transform-tables.ts';

/** What lines are told, in this order, in bytes where that is what memory is measured in. */
const NUMBERS = [
  'sourceOffset',
  'sourceOuter',
  'sourceInner',
  'sourceElement',
  'sourceImaginary',
  'sourceCount',
  'targetOffset',
  'targetOuter',
  'targetInner',
  'targetElement',
  'targetImaginary',
  'targetCount',
  'inner',
  'groups',
  'loadExchange',
  'storeExchange',
  'points',
  'halves',
] as const;
type NumberName = (typeof NUMBERS)[number];

/** What halves of a spectrum, or lines of real numbers, take beside the passes: behind them (`split`) or before. */
const CHANGES = { split: defineSplit, join: defineJoin, mirror: defineMirror };
type Change = keyof typeof CHANGES | 'none';

/** Where the first of the elements lie in the memory that is worked in. */
const ELEMENTS = 16;
/** Steps of an element in a pass, about. */
const PASS_STEPS = 4;

/** A routine of groups of lines, of as many each as a vector has floats. */
export function transformLines(transform: Transform): RoutineLines {
  const { form, length, inverse, scale, source, target } = transform;
  const floatBytes = elementSize(source.numbers.dtype) as 4 | 8;
  const tables = tablesOf(transform, floatBytes);
  const points = pointsOfForm(form, length);
  const isHalved = points < length;
  const lanes = 16 / floatBytes;
  const [outer, inner] = source.numbers.sizes;
  const groups = Math.ceil(inner / lanes);
  // Of real numbers that are taken in pairs, the second one stands for an imaginary part.
  const inPairs = form === 'half spectrum' ? source : target;
  const layout = (lines: TransformLines): number[] => {
    const { numbers, isComplex } = lines;
    const strides = numbers.strides.map((stride) => stride * floatBytes);
    const asPairs = isHalved && lines === inPairs;
    return [
      numbers.storageOffset * floatBytes,
      strides[0],
      strides[1],
      asPairs ? 2 * strides[2] : strides[2],
      asPairs ? strides[2] : isComplex ? floatBytes : 0,
      asPairs ? points : numbers.sizes[2],
    ];
  };
  const exchange = inverse ? PART_BYTES : 0;
  const isJoined = isHalved && form === 'real';
  const change: Change = isJoined ? 'join' : isHalved ? 'split' : form === 'real' ? 'mirror' : 'none';
  const conjugate = isHalved && inverse === (form === 'half spectrum');
  return {
    key: `transform${floatBytes}-${tables.radices.join()}-${change}`,
    define: (module) => defineTransform(module, floatBytes, tables.radices, change),
    reads: [source.numbers],
    stores: [target.numbers],
    numbers: [
      ...layout(source),
      ...layout(target),
      inner,
      groups,
      isHalved ? 0 : exchange,
      isJoined ? PART_BYTES : isHalved ? 0 : exchange,
      points,
      tables.halves,
    ],
    floats: [scale, conjugate && !isJoined ? -scale : scale, conjugate ? -1 : 1],
    isDouble: floatBytes === 8,
    lines: outer * groups,
    stepsOfLine: PASS_STEPS * (tables.passes + 2) * points,
    scratchBytes: ELEMENTS + ELEMENT_BYTES * (2 * (points + 1) + Math.max(...tables.radices, 0)),
    table: tables.bytes,
  };
}

function numbersOf(body: FunctionBody, block: Local): Readonly<Record<NumberName, Local>> {
  const entries = NUMBERS.map((name, at) => {
    const local = body.integer();
    // Two bindings stand before them.
    body.prologue.push(local.set(i32.load(block.get, 8 * (2 + at))));
    return [name, local] as const;
  });
  return Object.fromEntries(entries) as Record<NumberName, Local>;
}

const FLOATS_AT = 8 * (2 + NUMBERS.length);

/** Defines `run` as a routine has it, for lengths of such factors. */
function defineTransform(module: ModuleBuilder, floatBytes: 4 | 8, radices: readonly number[], change: Change): void {
  const own = new TransformFloats(module, floatBytes);
  const load = defineLoad(own);
  const store = defineStore(own);
  const changed = change === 'none' ? null : CHANGES[change](own);
  // The pass that all other primes share is what is left: it comes first.
  const radicesWithPass = [...new Set(radices.map((radix) => (OWN_RADICES.includes(radix) ? radix : 0)))];
  const passes = radicesWithPass
    .sort((x, y) => x - y)
    .map((radix): [radix: number, pass: Defined] => [radix, definePass(own, radix)]);
  const group = module.define(null, 4, (body, block, number, scratch, table) => {
    const numbers = numbersOf(body, block);
    const [outer, first, lines, from, to, pass, radix, kept] = body.integers(8);
    const exchanged = [kept.set(from.get), from.set(to.get), to.set(kept.get)];
    const address = (binding: number, side: 'source' | 'target'): Code =>
      [
        numbers[`${side}Offset`].get,
        i32.mul(outer.get, numbers[`${side}Outer`].get),
        i32.mul(first.get, numbers[`${side}Inner`].get),
      ].reduce((sum, each) => i32.add(sum, each), i32.load(block.get, 8 * binding));
    const halves = i32.add(table.get, numbers.halves.get);
    const sign = i32.add(block.get, i32.const(FLOATS_AT + 16));
    const ofHalves = [from.get, to.get, numbers.points.get, halves];
    const given =
      change === 'mirror'
        ? [from.get, numbers.points.get, numbers.loadExchange.get]
        : change === 'join'
          ? [...ofHalves, sign]
          : ofHalves;
    const changing = changed ? [changed(...given), change === 'mirror' ? [] : exchanged] : [];
    const room = elementsOn(
      i32.add(scratch.get, i32.const(ELEMENTS)),
      i32.shl(i32.add(numbers.points.get, i32.const(1)), 1),
    );
    const perform = passes.reduce<Code>((otherwise, [each, performOne]) => {
      const [rest, together, roots] = [4, 8, 12].map((at) => i32.load(pass.get, at));
      const ofPass = [from.get, to.get, rest, together, i32.add(table.get, roots)];
      if (each === 0) return performOne(...ofPass, radix.get, room);
      return when(i32.eq(radix.get, i32.const(each)), performOne(...ofPass), otherwise);
    }, []);
    return [
      outer.set(i32.divUnsigned(number.get, numbers.groups.get)),
      first.set(i32.mul(i32.sub(number.get, i32.mul(outer.get, numbers.groups.get)), i32.const(own.lanes))),
      lines.set(i32.min(i32.const(own.lanes), i32.sub(numbers.inner.get, first.get))),
      from.set(i32.add(scratch.get, i32.const(ELEMENTS))),
      to.set(elementsOn(from.get, i32.add(numbers.points.get, i32.const(1)))),
      load(
        address(0, 'source'),
        numbers.sourceInner.get,
        numbers.sourceElement.get,
        numbers.sourceImaginary.get,
        numbers.sourceCount.get,
        lines.get,
        from.get,
        numbers.loadExchange.get,
      ),
      change === 'split' ? [] : changing,
      pass.set(table.get),
      radix.set(i32.load(pass.get)),
      whileTrue(radix.get, [perform, exchanged, pass.advance(PASS_BYTES), radix.set(i32.load(pass.get))]),
      change === 'split' ? changing : [],
      store(
        address(1, 'target'),
        numbers.targetInner.get,
        numbers.targetElement.get,
        numbers.targetImaginary.get,
        numbers.targetCount.get,
        lines.get,
        from.get,
        numbers.storeExchange.get,
        i32.add(block.get, i32.const(FLOATS_AT)),
      ),
    ];
  });
  // No line is so long that it needs a stop within it.
  module.define('run', 6, (_body, block, from, to, scratch, _isWhole, table) => [
    repeatWhile([group(block.get, from.get, scratch.get, table.get), from.advance(1)], i32.lt(from.get, to.get)),
    i32.store(scratch.get, i32.const(LINE_DONE)),
  ]);
}

/** `mirror(elements, count, exchange)`: makes the whole of a real line's spectrum, an odd one, of its first half. */
function defineMirror(own: TransformFloats): Defined {
  return own.module.define(null, 3, (body, elements, count, exchange) => {
    const [at, mirror, re, im] = body.integers(4);
    const part = (element: Local, offset: Local): Code => i32.add(element.get, offset.get);
    const minus = own.constant(-1);
    return [
      re.set(exchange.get),
      im.set(i32.sub(i32.const(PART_BYTES), exchange.get)),
      // The mean of real numbers has no imaginary part.
      v128.store(part(elements, im), v128.zero),
      at.set(i32.add(elements.get, i32.const(ELEMENT_BYTES))),
      mirror.set(elementsOn(elements.get, i32.sub(count.get, i32.const(1)))),
      whileTrue(isBelow(at, mirror.get), [
        v128.store(part(mirror, re), v128.load(part(at, re))),
        v128.store(part(mirror, im), own.product(v128.load(part(at, im)), minus)),
        at.advance(ELEMENT_BYTES),
        mirror.advance(-ELEMENT_BYTES),
      ]),
    ];
  });
}
