import { existsSync, readFileSync } from 'node:fs';
import { IntType, operatorRegistry, parseSchema } from '@cresset/ir';
import { halfToNumber, List, numberToHalf, Storage, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { elements, longs, run, tensor } from './operator-fixture.ts';
import { allRows, registerAllOperators } from './register-all.ts';

registerAllOperators();

describe('schemas', () => {
  const schemas = allRows().map((row) => row.schema);

  it('parse, and each is there once', () => {
    for (const schema of schemas) expect(parseSchema(schema).name).toBe(schema.slice(0, schema.search(/[.(]/)));
    const names = schemas.map((schema) => schema.slice(0, schema.indexOf('(')));
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('of derived forms carry the alias annotations', () => {
    const text = (name: string, overload: string): string | undefined =>
      operatorRegistry.find(name, overload)?.schemaText;
    expect(text('aten::add_', 'Tensor')).toBe(
      'aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)',
    );
    expect(text('aten::add', 'out')).toBe(
      'aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
    );
    expect(text('aten::__iand__', 'Scalar')).toBe('aten::__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)');
    expect(text('aten::max', 'dim_max')).toBe(
      'aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)',
    );
  });

  // PyTorch's list of schemas lies beside the working tree on machines that have it.
  const listing = new URL('../../../../shared/reference/aten-schemas.txt', import.meta.url);
  it.skipIf(!existsSync(listing))('are PyTorch’s where PyTorch lists the overload', () => {
    const known = new Map(
      readFileSync(listing, 'utf8')
        .split('\n')
        .filter((line) => line.includes('::'))
        .map((line) => [line.slice(0, line.indexOf('(')), line]),
    );
    expect(schemas.filter((schema) => (known.get(schema.slice(0, schema.indexOf('('))) ?? schema) !== schema)).toEqual(
      [],
    );
  });
});

describe('pointwise operators', () => {
  it('broadcast, and say so as PyTorch does where they cannot', () => {
    const sum = run('aten::add.Tensor', tensor([1, 2, 3], [3, 1]), tensor([10, 20]), 1n) as Tensor;
    expect(sum.sizes).toEqual([3, 2]);
    expect(elements(sum)).toEqual([11, 21, 12, 22, 13, 23]);
    expect(() => run('aten::add.Tensor', tensor([1, 2, 3]), tensor([1, 2, 3, 4]), 1n)).toThrow(
      'The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0',
    );
  });

  it('promote by category: a number or 0-dim tensor only where it is of a higher one', () => {
    const dtypeOf = (a: Tensor, b: Tensor): ScalarType => (run('aten::mul.Tensor', a, b) as Tensor).dtype;
    expect(dtypeOf(tensor([1], [1], 'int32'), tensor([1], [], 'int64'))).toBe('int32');
    expect(dtypeOf(tensor([1], [1], 'int32'), tensor([1], [], 'float64'))).toBe('float64');
    expect(dtypeOf(tensor([1], [1], 'float16'), tensor([1], [1], 'float32'))).toBe('float32');
    expect((run('aten::mul.Scalar', tensor([1], [1], 'int64'), 0.5) as Tensor).dtype).toBe('float32');
    expect((run('aten::div.Tensor', tensor([1], [1], 'int64'), tensor([2], [1], 'int64')) as Tensor).dtype).toBe(
      'float32',
    );
  });

  it('keep int64 exact and let it wrap', () => {
    expect(elements(run('aten::mul.Tensor', longs(2n ** 62n, -5n, 7n), longs(4n, 3n, 2n ** 40n + 1n)))).toEqual([
      0n,
      -15n,
      7696581394439n,
    ]);
    expect(elements(run('aten::add.Scalar', longs(2n ** 53n, 1n), 1n, 1n))).toEqual([2n ** 53n + 1n, 2n]);
    expect(elements(run('aten::bitwise_xor.Tensor', longs(2n ** 40n), longs(2n ** 40n + 3n)))).toEqual([3n]);
  });

  it('go on exactly where a later block leaves the range of doubles, in place too', () => {
    const self = longs(...Array.from({ length: 1500 }, (_, at) => (at === 1400 ? 2n ** 60n : BigInt(at))));
    run('aten::add_.Scalar', self, 1n, 1n);
    expect(elements(self)[3]).toBe(4n);
    expect(elements(self)[1399]).toBe(1400n);
    expect(elements(self)[1400]).toBe(2n ** 60n + 1n);
  });

  it('wrap narrow integers at the store', () => {
    expect(
      elements(run('aten::add.Tensor', tensor([200, 100], [2], 'uint8'), tensor([100, 3], [2], 'uint8'), 1n)),
    ).toEqual([44, 103]);
  });

  it('divide integers down, towards zero, and with Python’s and C’s rest', () => {
    const [a, b] = [longs(7n, -7n, 5n), longs(2n, 2n, -3n)];
    expect(elements(run('aten::div.Tensor_mode', a, b, 'floor'))).toEqual([3n, -4n, -2n]);
    expect(elements(run('aten::div.Tensor_mode', a, b, 'trunc'))).toEqual([3n, -3n, -1n]);
    expect(elements(run('aten::remainder.Tensor', a, b))).toEqual([1n, 1n, -1n]);
    expect(elements(run('aten::fmod.Tensor', a, b))).toEqual([1n, -1n, 2n]);
    expect(() => run('aten::remainder.Scalar', a, 0n)).toThrow('ZeroDivisionError');
  });

  it('compute float32 in single precision', () => {
    expect(elements(run('aten::add.Tensor', tensor([16777216]), tensor([1]), 1n))).toEqual([16777216]);
    expect(elements(run('aten::gelu', tensor([-1, 0, 2]), 'none'))[0]).toBeCloseTo(-0.15865526, 7);
  });

  it('keep the layout of their operands', () => {
    const columns = tensor([0, 1, 2, 3, 4, 5], [2, 3]).asStrided([3, 2], [1, 3]);
    expect((run('aten::add.Scalar', columns, 1n, 1n) as Tensor).strides).toEqual([1, 3]);
    const permuted = Tensor.empty([2, 3, 4], 'float32').asStrided([4, 2, 3], [1, 12, 4]);
    expect((run('aten::mul.Tensor', permuted, tensor([1, 1, 1])) as Tensor).strides).toEqual([1, 12, 4]);
  });

  it('write in place only what fits, and not over themselves', () => {
    expect(() => run('aten::add_.Tensor', tensor([1, 2], [1, 2]), tensor([1, 2, 3, 4], [2, 2]), 1n)).toThrow(
      "output with shape [1, 2] doesn't match the broadcast shape [2, 2]",
    );
    expect(() => run('aten::add_.Tensor', longs(1n, 2n), tensor([1, 1]), 1n)).toThrow(
      "result type Float can't be cast to the desired output type Long",
    );
    const expanded = tensor([1]).asStrided([3], [0]);
    expect(() => run('aten::add_.Scalar', expanded, 1n, 1n)).toThrow(
      'more than one element of the written-to tensor refers to a single memory location',
    );
    const row = tensor([1, 2, 3, 4]);
    expect(() => run('aten::add_.Tensor', row.asStrided([3], [1], 1), row.asStrided([3], [1], 0), 1n)).toThrow(
      'some elements of the input tensor',
    );
  });

  it('write through a view', () => {
    const matrix = tensor([1, 2, 3, 4], [2, 2]);
    const column = run('aten::select.int', matrix, 1n, 1n) as Tensor;
    expect(run('aten::mul_.Scalar', column, 10n)).toBe(column);
    expect(elements(matrix)).toEqual([1, 20, 3, 40]);
  });

  it('give an out argument of other sizes new memory', () => {
    const out = Tensor.empty([0], 'float32');
    run('aten::add.out', tensor([1, 2]), tensor([3, 4]), 1n, out);
    expect([out.sizes, elements(out)]).toEqual([[2], [4, 6]]);
  });

  it('round float16 at the store', () => {
    expect(elements(run('aten::mul.Tensor', tensor([0.1], [1], 'float16'), tensor([3], [1], 'float16')))[0]).toBe(
      halfToNumber(numberToHalf(halfToNumber(numberToHalf(0.1)) * 3)),
    );
  });

  it.each([
    ['repeated', 'aten::repeat', [2, 1], [0xfe01, 0x7c01, 0xfe01, 0x7c01]],
    ['turned around', 'aten::flip', [0], [0x7c01, 0xfe01]],
  ] as const)('move the bits of a NaN of float16 that is %s', (_, operator, numbers, expected) => {
    const given = new Tensor(Storage.onHost(new Uint16Array([0xfe01, 0x7c01]).buffer), 'float16', [2, 1], [1, 1]);
    const moved = run(operator, given, new List(IntType.get(), numbers.map(BigInt))) as Tensor;
    expect([...moved.storageArray()]).toEqual(expected);
  });
});

describe('reductions', () => {
  const matrix = (): Tensor => tensor([1, 2, 4, 0, 0, 5], [2, 3]);
  const dims = (...items: bigint[]): IValue => run('aten::size', Tensor.empty(items.map(Number), 'float32'));

  it('go over any dimensions and keep them on request', () => {
    const sum = run('aten::sum.dim_IntList', matrix(), dims(0n), true, null) as Tensor;
    expect([sum.sizes, elements(sum)]).toEqual([
      [1, 3],
      [1, 2, 9],
    ]);
    expect(elements(run('aten::sum', matrix(), null))).toEqual([12]);
    expect(
      elements(run('aten::std.dim', matrix(), dims(1n), true, false)).map((value) => Number(value).toFixed(6)),
    ).toEqual(['1.527525', '2.886751']);
    expect(
      elements(run('aten::logsumexp', matrix(), dims(0n), false)).map((value) => Number(value).toFixed(5)),
    ).toEqual(['1.31326', '2.12693', '5.31326']);
  });

  it('take both ways through: many groups, and long ones', () => {
    const many = tensor(
      Array.from({ length: 4000 }, (_, at) => at % 7),
      [1000, 4],
    );
    expect(elements(run('aten::amax', many, dims(1n), false)).slice(0, 4)).toEqual([3, 6, 4, 6]);
    expect(elements(run('aten::sum', many, null))).toEqual([
      Array.from({ length: 4000 }, (_, at) => at % 7).reduce((a, b) => a + b),
    ]);
  });

  it('find the first extreme, and NaN before all', () => {
    expect(elements(run('aten::argmax', tensor([1, 3, 3, 2]), null, false))).toEqual([1n]);
    expect(elements(run('aten::argmax', tensor([1, NaN, 3, NaN]), null, false))).toEqual([1n]);
    expect(elements(run('aten::max', tensor([1, NaN, 3])))).toEqual([NaN]);
  });

  it('sum int64 with its wraparound', () => {
    expect(elements(run('aten::sum', longs(2n ** 62n, 2n ** 62n, 5n), null))).toEqual([-(2n ** 63n) + 5n]);
    expect((run('aten::sum', tensor([1, 1], [2], 'bool'), null) as Tensor).dtype).toBe('int64');
  });

  it('of nothing are neutral or refused', () => {
    expect(elements(run('aten::sum', Tensor.empty([0], 'float32'), null))).toEqual([0]);
    expect(() => run('aten::amax', Tensor.empty([0], 'float32'), dims(), false)).toThrow(
      'amax(): Expected reduction dim to be specified for input.numel() == 0',
    );
  });
});

describe('views and copies', () => {
  it('view what strides allow and copy the rest', () => {
    const turned = run('aten::t', tensor([1, 2, 3, 4, 5, 6], [2, 3])) as Tensor;
    const flat = run('aten::reshape', turned, run('aten::size', Tensor.empty([6], 'float32'))) as Tensor;
    expect(flat.storage).not.toBe(turned.storage);
    expect(elements(flat)).toEqual([1, 4, 2, 5, 3, 6]);
    expect(() => run('aten::view', turned, run('aten::size', Tensor.empty([6], 'float32')))).toThrow(
      'view size is not compatible',
    );
  });

  it('count dimensions from the end, within bounds', () => {
    expect((run('aten::unsqueeze', tensor([1, 2]), -1n) as Tensor).sizes).toEqual([2, 1]);
    expect(() => run('aten::squeeze.dim', tensor([1, 2]), 4n)).toThrow(
      'Dimension out of range (expected to be in range of [-1, 0], but got 4)',
    );
  });

  it('convert as C++ does', () => {
    expect(elements(run('aten::to.dtype', tensor([-1.7, 2.9, 300]), 4n, false, false, null))).toEqual([-1n, 2n, 300n]);
    expect(elements(run('aten::to.dtype', tensor([0, 0.5, NaN]), 11n, false, false, null))).toEqual([0, 1, 1]);
    const same = tensor([1]);
    expect(run('aten::to.dtype', same, 6n, false, false, null)).toBe(same);
  });
});
