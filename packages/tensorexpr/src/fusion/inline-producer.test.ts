import { Tensor, type Storage } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { axis, binary, cast, constant, reduce, select, unary } from '../expressions/builders.ts';
import { loadsIn } from '../expressions/walk.ts';
import type { Expr, LoadExpr } from '../expressions/expr.ts';
import { inlineProducer } from './inline-producer.ts';
import { joinContractions } from './join-contractions.ts';
import { nodesOf } from '../kernels/kernel-work.ts';
import type { Kernel, LoopNest } from '../kernels/kernel.ts';
import { expressionsIn } from '../kernels/kernel.ts';
import { axes, product, tensor } from '../kernels/kernel-fixture.ts';
import { TensorView } from '../expressions/operand.ts';

/** The storages that a kernel reads. */
const readBy = (kernel: Kernel): Set<Storage> =>
  new Set(loadsIn(expressionsIn(kernel)).map(({ operand }) => operand.tensor.storage));

/** The greatest value of each element of `given` along its last dimension, to `out`: a producer with a reduction. */
function rowMaximum(given: Tensor, out: Tensor): LoopNest {
  const own = axes(...given.sizes);
  const line = axis('r', own.at(-1)!.extent);
  const view = new TensorView(given);
  const most = reduce('max', [line], view.at([...own.slice(0, -1), line]));
  const target = new TensorView(out);
  const store = { operand: target.operand, offset: target.offsetAt(own), value: binary('sub', view.at(own), most) };
  return { kind: 'nest', label: 'aten::row', axes: own.slice(0, -1), innerAxes: own.slice(-1), stores: [store] };
}

function doubled(given: Tensor, out: Tensor): LoopNest {
  const own = axes(...given.sizes);
  const target = new TensorView(out);
  const value = binary('mul', new TensorView(given).at(own), constant('float', 2));
  const stores = [{ operand: target.operand, offset: target.offsetAt(own), value }];
  return { kind: 'nest', label: 'aten::mul', axes: own, innerAxes: [], stores };
}

describe('inlineProducer', () => {
  it('works a row out where it was read', () => {
    const [given, between, right, out] = [tensor(3, 4), tensor(3, 4), tensor(4, 5), tensor(3, 5)];
    const merged = inlineProducer(product(between, right, out), rowMaximum(given, between), between.storage)!;
    expect(merged.label).toBe('row+mm');
    expect(readBy(merged)).toEqual(new Set([given.storage, right.storage]));
  });

  it('finds the place of an element through other sizes', () => {
    const [given, between, right, out] = [tensor(2, 3, 4), tensor(2, 3, 4), tensor(4, 5), tensor(6, 5)];
    const rows = between.asStrided([6, 4], [4, 1]);
    expect(readBy(inlineProducer(product(rows, right, out), rowMaximum(given, between), between.storage)!)).toEqual(
      new Set([given.storage, right.storage]),
    );
  });

  it('works an element out once that is read twice, in long chains too', () => {
    const squared = (given: Tensor, out: Tensor): LoopNest => {
      const nest = doubled(given, out);
      const [own] = nest.stores;
      const read = (): Expr => new TensorView(given).at(nest.axes);
      return { ...nest, stores: [{ ...own, value: binary('mul', read(), read()) }] };
    };
    const tensors = Array.from({ length: 30 }, () => tensor(3, 4));
    let merged: Kernel = squared(tensors[0], tensors[1]);
    for (let at = 1; at < 29; at++) {
      merged = inlineProducer(squared(tensors[at], tensors[at + 1]), merged as LoopNest, tensors[at].storage)!;
    }
    expect(readBy(merged)).toEqual(new Set([tensors[0].storage]));
    expect(nodesOf(merged)).toBeLessThan(100);
  });

  it('does not know places that are read, gaps, and values of its own making', () => {
    const [given, between, out] = [tensor(3, 4), tensor(3, 4), tensor(3, 4)];
    const reader = doubled(between, out);
    const [store] = reader.stores;
    const load = new TensorView(between).at(axes(3, 4)) as LoadExpr;
    const backwards = { ...load, offset: unary('neg', reader.axes[0]) };
    const back: Kernel = { ...reader, stores: [{ ...store, value: backwards }] };
    expect(inlineProducer(back, doubled(given, between), between.storage)).toBeNull();
    const spread = between.asStrided([3, 2], [4, 2]);
    expect(inlineProducer(reader, doubled(given.asStrided([3, 2], [4, 1]), spread), between.storage)).toBeNull();
    expect(inlineProducer(reader, doubled(between, between), between.storage)).toBeNull();
    expect(inlineProducer(doubled(given, out), doubled(given, between), between.storage)).toBeNull();
  });

  it('takes a note along only where every element is come by', () => {
    const [given, between, out, notes] = [tensor(3, 4), tensor(3, 4), tensor(3, 4), tensor(1)];
    const producer = doubled(given, between);
    const { operand } = new TensorView(notes);
    const guard = binary('lt', producer.axes[0], constant('i32', 0));
    const noting: LoopNest = {
      ...producer,
      stores: [...producer.stores, { operand, offset: constant('i32', 0), value: constant('float', 1), guard }],
    };
    const { storage } = between;
    expect(inlineProducer(doubled(between, out), noting, storage)!.stores).toHaveLength(2);
    const half = between.asStrided([3, 2], [4, 1]);
    expect(inlineProducer(doubled(half, out.asStrided([3, 2], [2, 1])), noting, storage)).toBeNull();
    expect(inlineProducer(product(between, tensor(4, 5), tensor(3, 5)), noting, storage)).toBeNull();
  });

  it('works out what it is asked for, and not what else the producer makes', () => {
    const [given, between, mask, out] = [tensor(3, 4), tensor(3, 4), Tensor.empty([3, 4], 'bool'), tensor(3, 4)];
    const producer = doubled(given, between);
    const { operand } = new TensorView(mask);
    const value = binary('gt', producer.stores[0].value, constant('float', 0));
    const marking: LoopNest = {
      ...producer,
      stores: [...producer.stores, { operand, offset: producer.stores[0].offset, value }],
    };
    expect(readBy(inlineProducer(doubled(between, out), marking, between.storage)!)).toEqual(new Set([given.storage]));
    // What is true is stored as it is computed, but whoever needs it may have `between` stored as well.
    expect(inlineProducer(doubled(between, out), marking, mask.storage)).toBeNull();
    const reader = doubled(between, out);
    const [store] = reader.stores;
    const chosen = select(new TensorView(mask).at(reader.axes), constant('float', 0), store.value);
    const masking: LoopNest = { ...reader, stores: [{ ...store, value: chosen }] };
    expect(inlineProducer(masking, marking, between.storage)).toBeNull();
  });

  it('takes nothing along that the producer stores over what it reads', () => {
    const [given, between, out] = [tensor(3, 4), tensor(3, 4), tensor(3, 4)];
    const producer = doubled(given, between);
    const counts = Tensor.empty([3, 4], 'int32');
    const view = new TensorView(counts);
    const offset = view.offsetAt(producer.axes);
    const counting: LoopNest = {
      ...producer,
      stores: [
        { ...producer.stores[0], value: cast('float', view.at(producer.axes)) },
        { operand: view.operand, offset, value: binary('add', view.at(producer.axes), constant('i32', 1)) },
      ],
    };
    expect(inlineProducer(doubled(between, out), counting, between.storage)).toBeNull();
  });
});

describe('joinContractions', () => {
  it('joins products of one left side, each with its stores', () => {
    const [left, first, second] = [tensor(3, 4), tensor(4, 5), tensor(4, 5)];
    const parts = [first, second].map((right) => product(left, right, tensor(3, 5)));
    const joined = joinContractions(parts)!;
    expect(joined.batch).toHaveLength(1);
    expect(joined.stores.map(({ operand }) => operand.tensor.storage)).toEqual(
      parts.map(({ stores }) => stores[0].operand.tensor.storage),
    );
    expect(readBy(joined)).toEqual(new Set([left, first, second].map(({ storage }) => storage)));
  });

  it('joins neither other sizes nor other left sides', () => {
    const left = tensor(3, 4);
    const first = product(left, tensor(4, 5), tensor(3, 5));
    expect(joinContractions([first, product(left, tensor(4, 6), tensor(3, 6))])).toBeNull();
    expect(joinContractions([first, product(tensor(3, 4), tensor(4, 5), tensor(3, 5))])).toBeNull();
    expect(joinContractions([first, product(left.asStrided([3, 4], [1, 3]), tensor(4, 5), tensor(3, 5))])).toBeNull();
  });
});
