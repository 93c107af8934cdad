import {
  AnyType,
  BoolType,
  CressetError,
  DeviceObjType,
  DictType,
  EnumType,
  FloatType,
  IntType,
  ListType,
  NoneType,
  NumberType,
  OptionalType,
  StringType,
  TensorType,
  TupleType,
  UnionType,
  type Type,
} from '@cresset/ir';
import { DeviceValue, EnumValue, List, Tensor, Tuple, type Dict, type IValue } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import type { WireValue } from './protocol.ts';
import { toWire, WireReader } from './wire-value.ts';

const read = (value: WireValue, type: Type): IValue => new WireReader().value(value, type, 'forward', 'x');

function messageOf(value: WireValue, type: Type): string {
  try {
    read(value, type);
  } catch (error) {
    expect(error).toBeInstanceOf(CressetError);
    return (error as CressetError).message;
  }
  return 'no error';
}

const ints = new ListType(IntType.get());

describe('WireReader', () => {
  it('makes of a number what the schema says', () => {
    expect(read(3, IntType.get())).toBe(3n);
    expect(read(3n, IntType.get())).toBe(3n);
    expect(read(3, FloatType.get())).toBe(3);
    expect(read(3n, FloatType.get())).toBe(3);
    expect(read(3, AnyType.get())).toBe(3);
    expect(read(3n, AnyType.get())).toBe(3n);
    expect(messageOf(3.5, IntType.get())).toContain("Expected a value of type 'int' for argument 'x'");
    expect(messageOf(2 ** 60, IntType.get())).toContain('Expected');
    expect(messageOf(2n ** 63n, IntType.get())).toContain('Expected');
    expect(messageOf(1, BoolType.get())).toContain("type 'bool'");
  });

  it('takes what a value is, where a Union leaves that open', () => {
    const union = (...members: Type[]): Type => UnionType.create(members);
    const [int, float, text] = [IntType.get(), FloatType.get(), StringType.get()];
    const number = union(int, float);
    expect([3, 3n, 3.5, NaN, 2 ** 60].map((value) => read(value, number))).toEqual([3n, 3n, 3.5, NaN, 2 ** 60]);
    expect([3, 3n, 2.5, 'a'].map((value) => read(value, union(float, text)))).toEqual([3, 3, 2.5, 'a']);
    expect([3, true].map((value) => read(value, union(int, BoolType.get())))).toEqual([3n, true]);
    expect([null, 3, 2.5].map((value) => read(value, union(number, NoneType.get())))).toEqual([null, 3n, 2.5]);
    expect([3, 3n, 2.5].map((value) => read(value, NumberType.get()))).toEqual([3n, 3n, 2.5]);
    expect((read([3, 2.5, 4n], new ListType(number)) as List).items).toEqual([3n, 2.5, 4n]);
    const dict: WireValue = {
      kind: 'dict',
      entries: [
        ['a', 3],
        ['b', 2.5],
      ],
    };
    expect([...(read(dict, new DictType(text, number)) as Dict).entries]).toEqual([
      ['a', 3n],
      ['b', 2.5],
    ]);
    const lists = union(new ListType(float), new ListType(int));
    expect([[1, 2], [1.5, 2], []].map((value) => (read(value, lists) as List).elementType.str())).toEqual([
      'int',
      'float',
      'float',
    ]);
    const device = union(DeviceObjType.get(), text);
    expect(read('cpu', device)).toBe('cpu');
    expect(read({ kind: 'device', name: 'cpu' }, device)).toBe(DeviceValue.parse('cpu'));
    expect(messageOf(true, number)).toContain("type 'Union[float, int]'");
    expect(messageOf('a', NumberType.get())).toContain("type 'number'");
  });

  it('keeps strings as bytes', () => {
    expect(read('é', StringType.get())).toBe('\xc3\xa9');
    expect(toWire('\xc3\xa9', null)).toBe('é');
  });

  it('makes containers', () => {
    expect((read([1, 2], ints) as List).items).toEqual([1n, 2n]);
    expect(read(null, OptionalType.create(ints))).toBeNull();
    const pair = read([1, 'a'], new TupleType([IntType.get(), StringType.get()])) as Tuple;
    expect(pair.items).toEqual([1n, 'a']);
    const dict: WireValue = { kind: 'dict', entries: [['7', 1.5]] };
    expect((read(dict, new DictType(IntType.get(), FloatType.get())) as Dict).entries.get(7n)).toBe(1.5);
    const point = TupleType.createNamed('__torch__.Point', ['x', 'y'], [IntType.get(), IntType.get()]);
    const object: WireValue = {
      kind: 'dict',
      entries: [
        ['y', 2],
        ['x', 1],
      ],
    };
    expect((read(object, point) as Tuple).items).toEqual([1n, 2n]);
    expect(messageOf([1, 'a'], ints)).toContain("type 'int'");
    expect(messageOf([1], new TupleType([IntType.get(), IntType.get()]))).toContain('Expected');
  });

  it('knows devices and members of enums by name', () => {
    expect(read('cuda:1', DeviceObjType.get())).toBe(DeviceValue.parse('cuda:1'));
    const color = new EnumType('__torch__.Color', IntType.get(), [['RED', 1n]]);
    expect(read('RED', color)).toEqual(EnumValue.of(color, 'RED'));
    expect(messageOf('BLUE', color)).toContain('Color');
  });

  it('says how to make a tensor, and checks its size', () => {
    expect(messageOf([1], TensorType.get())).toMatch(/found type 'list'\..*tensor\(data/);
    expect(messageOf(2 ** 60, IntType.get())).toContain('given as a bigint');
    expect(messageOf(1.5, IntType.get())).toMatch(/found type 'float'\.$/);
    const short: WireValue = { kind: 'tensor', dtype: 'float32', shape: [3], data: new ArrayBuffer(8) };
    expect(messageOf(short, TensorType.get())).toContain('takes 12 bytes, but 8 were given');
  });
});

describe('toWire', () => {
  it('writes views as contiguous elements of their own', () => {
    const base = Tensor.fromArray(new Float32Array([1, 2, 3, 4, 5, 6]), [2, 3], 'float32');
    const column = base.asStrided([2], [3], 1);
    const wire = toWire(column, null);
    expect(wire).toMatchObject({ kind: 'tensor', dtype: 'float32', shape: [2] });
    expect([...new Float32Array((wire as { data: ArrayBuffer }).data)]).toEqual([2, 5]);
  });

  it('names the fields of a named tuple that only its type tells', () => {
    const point = TupleType.createNamed('__torch__.Point', ['x', 'y'], [IntType.get(), IntType.get()]);
    expect(toWire(new Tuple([1n, 2n]), point)).toEqual({ kind: 'tuple', items: [1n, 2n], fields: ['x', 'y'] });
  });

  it('ends values that contain themselves with an error', () => {
    const list = new List(AnyType.get(), []);
    list.items.push(list);
    expect(() => toWire(list, null)).toThrow('without end');
  });
});
