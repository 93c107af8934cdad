import { i32, repeatWhile, when, type Code, type Local } from '../code.ts';
import { AT, PIECE, RANGE_BYTES, WAYS, whileTrue, type Defined, type OrderElements } from './order-elements.ts';
import { LINE_DONE } from './routine-functions.ts';
import type { Heap } from './heap-selection.ts';

/** Ranges up to this size are left to insertion by libstdc++. */
const SHORT_RANGE = 16;
const SHORTEST_SELECTION = 3;

/** `partition(first, last, scratch)`: parts a range at the median of three of its elements; where the upper part begins is `cut`. */
export function definePartition(own: OrderElements): Defined {
  return own.module.define(null, 3, (body, first, last, scratch) => {
    const [a, b, c, chosen, low, high, goesOn] = body.integers(7);
    const pivot = body.local(own.keyType);
    const isBefore = (x: Local, y: Local): Code => own.isBefore(x.get, y.get);
    const choose = (x: Local): Code => chosen.set(x.get);
    const size = i32.const(own.size);
    const half = i32.and(i32.shiftRightUnsigned(i32.sub(last.get, first.get), i32.const(1)), i32.const(-own.size));
    return [
      a.set(i32.add(first.get, size)),
      b.set(i32.add(first.get, half)),
      c.set(i32.sub(last.get, size)),
      when(
        isBefore(a, b),
        when(isBefore(b, c), choose(b), when(isBefore(a, c), choose(c), choose(a))),
        when(isBefore(a, c), choose(a), when(isBefore(b, c), choose(c), choose(b))),
      ),
      own.swap(body, first.get, chosen.get),
      pivot.set(own.key(first.get)),
      low.set(a.get),
      high.set(last.get),
      repeatWhile(
        [
          whileTrue(own.isLess(own.key(low.get), pivot.get), low.advance(own.size)),
          high.advance(-own.size),
          whileTrue(own.isLess(pivot.get, own.key(high.get)), high.advance(-own.size)),
          goesOn.set(i32.ltUnsigned(low.get, high.get)),
          when(goesOn.get, [own.swap(body, low.get, high.get), low.advance(own.size)]),
        ],
        goesOn.get,
      ),
      i32.store(scratch.get, low.get, AT.cut),
    ];
  });
}

/** `select(block, keys, scratch)`: stages are filling, selecting, and sorting what was found but for the last of it. */
export function defineSelect(
  own: OrderElements,
  fill: Defined,
  insertion: Defined,
  heap: Heap,
  partition: Defined,
): Defined {
  return own.module.define(null, 3, (body, block, keys, scratch) => {
    const { length, count, way, ...depths } = own.numbers(
      body,
      block,
      'length',
      'count',
      'way',
      'selectDepth',
      'sortDepth',
    );
    const [stage, position, low, high, depth, nth, work, elements, at] = body.integers(9);
    const state = [
      [stage, AT.stage],
      [position, AT.position],
      [low, AT.low],
      [high, AT.high],
      [depth, AT.depth],
    ] as const;
    const cut = i32.load(scratch.get, AT.cut);
    const range = (from: Local, to: Local): Code => i32.sub(to.get, from.get);
    const isAbove = (elementCount: number): Code =>
      i32.gtUnsigned(range(low, high), i32.const(elementCount * own.size));
    const isStage = (number: number): Code => i32.eq(stage.get, i32.const(number));
    const part = [
      depth.advance(-1),
      work.set(i32.add(work.get, range(low, high))),
      partition(low.get, high.get, scratch.get),
    ];
    const goOn = (body_: Code, number: number): Code =>
      repeatWhile(body_, i32.and(isStage(number), i32.ltUnsigned(work.get, i32.const(PIECE * own.size))));

    const fillPiece = [
      at.set(i32.min(i32.add(position.get, i32.const(PIECE)), length.get)),
      fill(block.get, keys.get, scratch.get, position.get, at.get),
      position.set(at.get),
      when(i32.eq(at.get, length.get), [
        stage.set(i32.const(1)),
        low.set(elements.get),
        high.set(own.place(elements.get, length.get)),
        depth.set(depths.selectDepth.get),
        i32.store(scratch.get, i32.const(0), AT.isRight),
      ]),
    ];
    const isFound = [
      stage.set(i32.const(2)),
      low.set(elements.get),
      high.set(nth.get),
      depth.set(depths.sortDepth.get),
      i32.store(scratch.get, i32.const(0), AT.waiting),
      when(i32.eq(way.get, i32.const(WAYS.indexOf('select'))), stage.set(i32.const(LINE_DONE))),
    ];
    const selectPiece = [
      when(
        isAbove(SHORTEST_SELECTION),
        when(
          depth.get,
          [part, when(i32.leUnsigned(cut, nth.get), low.set(cut), high.set(cut))],
          [
            position.set(i32.add(nth.get, i32.const(own.size))),
            work.set(i32.sub(position.get, low.get)),
            work.set(i32.shiftRightUnsigned(work.get, i32.const(own.isLong ? 4 : 3))),
            heap.make(low.get, work.get, scratch.get),
            whileTrue(i32.ltUnsigned(position.get, high.get), [
              when(own.isBefore(position.get, low.get), heap.pop(low.get, work.get, position.get, scratch.get)),
              position.advance(own.size),
            ]),
            own.swap(body, low.get, nth.get),
            isFound,
          ],
        ),
        [insertion(low.get, high.get), isFound],
      ),
    ];
    const waiting = i32.load(scratch.get, AT.waiting);
    const seePlace = at.set(i32.add(scratch.get, i32.mul(waiting, i32.const(RANGE_BYTES))));
    const wait = (change: number): Code => i32.store(scratch.get, i32.add(waiting, i32.const(change)), AT.waiting);
    const sortPiece = [
      when(
        isAbove(SHORT_RANGE),
        when(
          depth.get,
          [
            part,
            seePlace,
            wait(1),
            i32.store(at.get, low.get, AT.ranges),
            i32.store(at.get, cut, AT.ranges + 4),
            i32.store(at.get, depth.get, AT.ranges + 8),
            low.set(cut),
          ],
          [
            at.set(i32.shiftRightUnsigned(range(low, high), i32.const(own.isLong ? 4 : 3))),
            heap.make(low.get, at.get, scratch.get),
            heap.sort(low.get, at.get, scratch.get),
            high.set(low.get),
          ],
        ),
        [
          insertion(low.get, high.get),
          when(
            waiting,
            [
              wait(-1),
              seePlace,
              low.set(i32.load(at.get, AT.ranges)),
              high.set(i32.load(at.get, AT.ranges + 4)),
              depth.set(i32.load(at.get, AT.ranges + 8)),
            ],
            stage.set(i32.const(LINE_DONE)),
          ),
        ],
      ),
    ];
    return [
      elements.set(own.elements(scratch, length)),
      nth.set(own.place(elements.get, i32.sub(count.get, i32.const(1)))),
      state.map(([local, offset]) => local.set(i32.load(scratch.get, offset))),
      when(i32.eqz(stage.get), fillPiece, when(isStage(1), goOn(selectPiece, 1), goOn(sortPiece, 2))),
      state.map(([local, offset]) => i32.store(scratch.get, local.get, offset)),
    ];
  });
}

/** `quickselect(block, keys, scratch)`: parts ranges at the median of three until the wanted element is where it belongs. */
export function defineQuickselect(own: OrderElements, fill: Defined): Defined {
  return own.module.define(null, 3, (body, block, keys, scratch) => {
    const { length, first } = own.numbers(body, block, 'length', 'first');
    const [stage, position, left, right, second, low, high, goesOn, wanted] = body.integers(9);
    const pivot = body.local(own.keyType);
    const size = i32.const(own.size);
    const state = [
      [stage, AT.stage],
      [position, AT.position],
      [left, AT.low],
      [right, AT.high],
    ] as const;
    const after = (element: Local, count: number): Code => i32.add(element.get, i32.const(count * own.size));
    const inOrder = (x: Local, y: Local): Code => when(own.isBefore(y.get, x.get), own.swap(body, x.get, y.get));
    const hasMore = i32.gtUnsigned(right.get, after(left, 1));
    const half = i32.and(i32.shiftRightUnsigned(i32.sub(right.get, left.get), i32.const(1)), i32.const(-own.size));
    const part = [
      second.set(after(left, 1)),
      low.set(i32.add(left.get, half)),
      own.swap(body, low.get, second.get),
      inOrder(second, right),
      inOrder(left, right),
      inOrder(second, left),
      pivot.set(own.key(left.get)),
      low.set(after(left, 2)),
      high.set(i32.sub(right.get, size)),
      repeatWhile(
        [
          whileTrue(own.isLess(own.key(low.get), pivot.get), low.advance(own.size)),
          whileTrue(own.isLess(pivot.get, own.key(high.get)), high.advance(-own.size)),
          goesOn.set(i32.leUnsigned(low.get, high.get)),
          when(goesOn.get, [own.swap(body, low.get, high.get), low.advance(own.size), high.advance(-own.size)]),
        ],
        goesOn.get,
      ),
      own.swap(body, left.get, high.get),
      when(i32.leUnsigned(high.get, wanted.get), left.set(low.get)),
      when(i32.geUnsigned(high.get, wanted.get), right.set(i32.sub(high.get, size))),
    ];
    return [
      wanted.set(own.place(own.elements(scratch, length), first.get)),
      state.map(([local, offset]) => local.set(i32.load(scratch.get, offset))),
      when(
        i32.eqz(stage.get),
        [
          low.set(i32.min(i32.add(position.get, i32.const(PIECE)), length.get)),
          fill(block.get, keys.get, scratch.get, position.get, low.get),
          position.set(low.get),
          when(i32.eq(low.get, length.get), [
            stage.set(i32.const(1)),
            left.set(own.elements(scratch, length)),
            right.set(i32.sub(own.place(left.get, length.get), size)),
            i32.store(scratch.get, i32.const(0), AT.isRight),
          ]),
        ],
        [
          position.set(i32.const(0)),
          whileTrue(i32.and(hasMore, i32.ltUnsigned(position.get, i32.const(PIECE * own.size))), [
            position.set(i32.add(position.get, i32.sub(right.get, left.get))),
            part,
          ]),
          when(i32.eqz(hasMore), [
            when(i32.eq(right.get, after(left, 1)), inOrder(left, right)),
            stage.set(i32.const(LINE_DONE)),
          ]),
        ],
      ),
      state.map(([local, offset]) => i32.store(scratch.get, local.get, offset)),
    ];
  });
}
