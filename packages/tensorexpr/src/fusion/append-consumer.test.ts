import type { Storage, Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { appendConsumer } from './append-consumer.ts';
import { accumulator, binary, constant, param, reduce, select } from '../expressions/builders.ts';
import type { Expr } from '../expressions/expr.ts';
import { LinearForms } from '../expressions/linear-form.ts';
import { joinNests } from './join-nests.ts';
import type { Kernel, LoopNest } from '../kernels/kernel.ts';
import { axes, product, tensor } from '../kernels/kernel-fixture.ts';
import { TensorView } from '../expressions/operand.ts';

const storedBy = ({ stores }: Kernel): Storage[] => stores.map(({ operand }) => operand.tensor.storage);

/** The sum of two tensors of one shape, to a third. */
function sum(a: Tensor, b: Tensor, out: Tensor): LoopNest {
  const own = axes(...out.sizes);
  const target = new TensorView(out);
  const value = binary('add', new TensorView(a).at(own), new TensorView(b).at(own));
  const stores = [{ operand: target.operand, offset: target.offsetAt(own), value }];
  return { kind: 'nest', label: 'aten::add', axes: own, innerAxes: [], stores };
}

/** Two tensors side by side. */
function joined(a: Tensor, b: Tensor, out: Tensor): LoopNest {
  const [row, column] = axes(...out.sizes);
  const target = new TensorView(out);
  const first = param('i32', a.sizes[1]);
  const [before, after] = [
    new TensorView(a).at([row, column]),
    new TensorView(b).at([row, binary('sub', column, first)]),
  ];
  const value = select(binary('lt', column, first), before, after);
  const stores = [{ operand: target.operand, offset: target.offsetAt([row, column]), value }];
  return { kind: 'nest', label: 'aten::cat', axes: [row, column], innerAxes: [], stores };
}

describe('appendConsumer', () => {
  const [left, right, between, other] = [tensor(3, 4), tensor(4, 5), tensor(3, 5), tensor(3, 5)];
  const flat = (of: Tensor): Tensor => of.asStrided([15], [1]);

  it('goes over elements when they are made, in whatever shape they were read', () => {
    const out = tensor(15);
    const merged = appendConsumer(
      product(left, right, between),
      sum(flat(between), flat(other), out),
      between.storage,
      () => false,
    )!;
    expect(merged.label).toBe('aten::mm+aten::add');
    expect(storedBy(merged)).toEqual([out.storage]);
    const { value } = merged.stores[0];
    expect(value.kind === 'binary' && value.x).toBe(accumulator);
  });

  it('follows another order', () => {
    const turned = between.asStrided([5, 3], [1, 5]);
    const out = tensor(5, 3);
    const merged = appendConsumer(
      product(left, right, between),
      sum(turned, turned, out),
      between.storage,
      () => false,
    )!;
    expect(storedBy(merged)).toEqual([out.storage]);
  });

  it('keeps the elements where somebody reads them later', () => {
    const out = tensor(3, 5);
    const merged = appendConsumer(
      product(left, right, between),
      sum(between, other, out),
      between.storage,
      () => true,
    )!;
    expect(storedBy(merged)).toEqual([between.storage, out.storage]);
  });

  it('stores the parts of joined tensors where they belong, if it makes all of them', () => {
    const [a, b] = [sum(left, left, tensor(3, 4)), sum(left, other.asStrided([3, 4], [5, 1]), tensor(3, 4))];
    const both = joinNests(a, b)!;
    const [x, y] = both.stores.map(({ operand }) => operand.tensor);
    const out = tensor(3, 8);
    const joining = joined(x, y, out);
    const merged = appendConsumer(both, joining, x.storage, (storage) => storage === y.storage)!;
    expect(storedBy(merged)).toEqual([y.storage, out.storage, out.storage]);
    const forms = new LinearForms();
    expect(merged.stores.slice(1).map(({ offset }) => forms.of(offset).base)).toEqual([0, 4]);
    expect(merged.stores.slice(1).map(({ value }) => value)).toEqual(both.stores.map(({ value }) => value));
    expect(appendConsumer(a, joining, x.storage, () => false)).toBeNull();
  });

  it('stores over what is read at the same place, and nowhere else', () => {
    const onto = sum(between, other, other);
    expect(storedBy(appendConsumer(product(left, right, between), onto, between.storage, () => false)!)).toEqual([
      other.storage,
    ]);
    const overlapping = product(other.asStrided([3, 4], [5, 1]), right, between);
    expect(appendConsumer(overlapping, onto, between.storage, () => false)).toBeNull();
    const [store] = product(left, right, between).stores;
    const value = binary('add', accumulator, new TensorView(other.asStrided([3, 5], [5, 0])).at([...axes(3, 5)]));
    const elsewhere = { ...product(left, right, between), stores: [{ ...store, value }] };
    expect(appendConsumer(elsewhere, onto, between.storage, () => false)).toBeNull();
  });

  it('stores nothing once for a row that is read along it', () => {
    const [rows, x, total, shift] = [tensor(3, 5), tensor(3, 5), tensor(3), tensor(3)];
    const [row, column, each] = axes(3, 5, 5);
    const [given, moved, sums, by] = [x, rows, total, shift].map((of) => new TensorView(of));
    const producer = (isShifted: boolean): LoopNest => ({
      kind: 'nest',
      label: 'aten::layer_norm',
      axes: [row],
      innerAxes: [column],
      stores: [
        { operand: sums.operand, offset: sums.offsetAt([row]), value: reduce('sum', [each], given.at([row, each])) },
        {
          operand: moved.operand,
          offset: moved.offsetAt([row, column]),
          value: isShifted ? binary('add', given.at([row, column]), by.at([row])) : given.at([row, column]),
        },
      ],
    });
    const onto = sum(shift, total, shift);
    expect(storedBy(appendConsumer(producer(false), onto, total.storage, () => true)!)).toContain(shift.storage);
    expect(appendConsumer(producer(true), onto, total.storage, () => true)).toBeNull();
  });

  it('is impossible where elements are read more than once, or not at all', () => {
    const producer = product(left, right, between);
    const spread = between.asStrided([2, 3, 5], [0, 5, 1]);
    expect(appendConsumer(producer, sum(spread, spread, tensor(2, 3, 5)), between.storage, () => false)).toBeNull();
    const part = between.asStrided([2, 5], [5, 1]);
    expect(appendConsumer(producer, sum(part, part, tensor(2, 5)), between.storage, () => false)).toBeNull();
  });

  it('is impossible where not every element is stored', () => {
    const [store] = product(left, right, between).stores;
    const guard: Expr = binary('lt', param('i32', 1), constant('i32', 2));
    const producer = { ...product(left, right, between), stores: [{ ...store, guard }] };
    expect(appendConsumer(producer, sum(between, other, tensor(3, 5)), between.storage, () => false)).toBeNull();
  });
});

describe('joinNests', () => {
  it('does what both do in one loop, where the loops are equally long', () => {
    const [a, b, c, d] = [tensor(3, 5), tensor(3, 5), tensor(3, 5), tensor(3, 5)];
    const joined = joinNests(sum(a, b, c), sum(a, a, d))!;
    expect(storedBy(joined)).toEqual([c.storage, d.storage]);
    expect(joined.stores[1].offset).toEqual(joined.stores[0].offset);
    expect(joinNests(sum(a, b, c), sum(tensor(5, 3), tensor(5, 3), tensor(5, 3)))).toBeNull();
  });
});
