import {
  AnyType,
  ClassType,
  Complex,
  EnumType,
  FloatType,
  IntType,
  ListType,
  StringType,
  TensorType,
} from '@cresset/ir';
import {
  type DictKey,
  DeviceValue,
  Dict,
  EnumValue,
  type IValue,
  List,
  ScriptObject,
  Storage,
  Tensor,
  Tuple,
} from '@cresset/tensor';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PickleGlobals } from './pickle-globals.ts';
import { StorageReference, type PickleValue } from './pickle-value.ts';
import { Pickler, type PicklerOptions } from './pickler.ts';
import { Unpickler } from './unpickler.ts';

const point = new ClassType('__torch__.Point');
point.addAttribute('x', IntType.get());
point.addAttribute('next', AnyType.get());
const color = new EnumType('__torch__.Color', IntType.get(), [
  ['RED', 1n],
  ['GREEN', 2n],
]);

function makePoint(x: bigint, next: IValue = null): ScriptObject {
  return new ScriptObject(point, [x, next]);
}

/** Reads a pickle as the reader of archives does, without types for containers. */
function unpickle(pickle: Uint8Array): PickleValue {
  const types: Record<string, ClassType | EnumType> = { '__torch__.Point': point, '__torch__.Color': color };
  const context = {
    storage: (key: string, dtype: StorageReference['dtype'], count: number) => new StorageReference(key, dtype, count),
    resolveClass: (name: string) => types[name] ?? null,
    parseType: (text: string) => (text.startsWith('List') ? new ListType(AnyType.get()) : AnyType.get()),
    build(object: ScriptObject, state: PickleValue): void {
      if (!(state instanceof Dict)) object.slots[1] = state as IValue;
      else for (const [name, value] of state.entries) object.setAttribute(String(name), value);
    },
  };
  return new Unpickler(pickle, new PickleGlobals(context, 'test'), 'test').load();
}

const pickle = (value: IValue, options?: PicklerOptions): Uint8Array => new Pickler(options).pickle(value);
const roundTrip = (value: IValue): IValue => unpickle(pickle(value)) as IValue;
/** The pickle as text of one byte a character, in which its strings can be looked for. */
const textOf = (value: IValue): string => Buffer.from(pickle(value)).toString('latin1');

describe('Pickler', () => {
  it('writes plain values as they were', () => {
    for (const value of [null, true, false, 'text', 'caf\u00c3\u00a9', '', 1.5, -0, Infinity, -Infinity]) {
      expect(roundTrip(value)).toBe(value);
    }
    expect(roundTrip(NaN)).toBeNaN();
    expect(roundTrip(new Complex(1, -2))).toEqual(new Complex(1, -2));
    expect(roundTrip(DeviceValue.parse('cuda:1'))).toBe(DeviceValue.parse('cuda:1'));
  });

  it('writes ints in the shortest of four forms', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        expect(roundTrip(value)).toBe(value);
      }),
    );
    const lengths = [255n, 256n, 65_535n, 65_536n, -1n, 2n ** 31n - 1n, -(2n ** 31n), 2n ** 31n, -(2n ** 31n) - 1n].map(
      (value) => pickle(value).length - 3,
    );
    expect(lengths).toEqual([2, 3, 3, 5, 5, 5, 5, 10, 10]);
  });

  it('writes tuples of every length', () => {
    for (let length = 0; length < 6; length++) {
      const items = Array.from({ length }, (_, at) => BigInt(at));
      expect((roundTrip(new Tuple(items)) as Tuple).items).toEqual(items);
    }
  });

  it('builds lists of some types by functions of their own, and others with their type beside them', () => {
    const ints = roundTrip(new List(IntType.get(), [1n, 2n])) as List;
    expect([ints.elementType, ints.items]).toEqual([IntType.get(), [1n, 2n]]);
    expect(textOf(new List(FloatType.get(), []))).toContain('build_doublelist');
    const nested = new List(new ListType(StringType.get()), [new List(StringType.get(), ['a'])]);
    expect(textOf(nested)).toContain('List[List[str]]');
    expect(((roundTrip(nested) as List).items[0] as List).items).toEqual(['a']);
  });

  it('keeps the order of dicts', () => {
    const entries: [DictKey, IValue][] = [
      ['z', 1n],
      ['a', 2n],
      ['m', null],
    ];
    const dict = new Dict(StringType.get(), IntType.get(), new Map(entries));
    expect([...(roundTrip(dict) as Dict).entries]).toEqual(entries);
    expect(textOf(dict)).toContain('Dict[str, int]');
  });

  it('writes what occurs twice once', () => {
    const shared = new List(IntType.get(), [7n]);
    const [first, second, third] = (roundTrip(new Tuple([shared, shared, makePoint(1n, shared)])) as Tuple).items;
    expect(first).toBe(second);
    expect((third as ScriptObject).slots[1]).toBe(first);
    expect(textOf(new Tuple(['word', 'word'])).split('word').length).toBe(2);
  });

  it('has room for more than 256 values in its memo', () => {
    const lists = Array.from({ length: 300 }, (_, at) => new List(IntType.get(), [BigInt(at)]));
    const { items } = roundTrip(new Tuple([...lists, ...lists])) as Tuple;
    expect(items.slice(0, 300)).toEqual(items.slice(300));
    expect(items[299]).toBe(items[599]);
  });

  it('writes objects with their attributes, or with the state they give', () => {
    const read = roundTrip(makePoint(3n, makePoint(4n))) as ScriptObject;
    expect([read.slots[0], (read.slots[1] as ScriptObject).slots[0]]).toEqual([3n, 4n]);
    const bytes = pickle(makePoint(3n), { stateOf: () => 'state' });
    expect((unpickle(bytes) as ScriptObject).slots[1]).toBe('state');
  });

  it('calls classes as the file does', () => {
    const pickler = new Pickler({ typeName: () => '__torch__.___torch_mangle_0.Point' });
    const bytes = pickler.pickle(makePoint(1n));
    expect(Buffer.from(bytes).toString('latin1')).toContain('c__torch__.___torch_mangle_0\nPoint\n');
    expect(pickler.classTypes).toEqual([point]);
  });

  it('writes members of enums as PyTorch does, the value for the arguments', () => {
    const green = EnumValue.of(color, 'GREEN')!;
    expect(roundTrip(green)).toEqual(green);
    expect(textOf(green).endsWith('K\x02R.')).toBe(true);
  });

  it('writes tensors as views of numbered storages', () => {
    const storage = Storage.onHost(new ArrayBuffer(48));
    const whole = new Tensor(storage, 'float32', [3, 4], [4, 1]);
    const column = new Tensor(storage, 'float32', [3], [4], 2);
    column.requiresGrad = true;
    const bits = new Tensor(storage, 'int32', [12], [1]);
    const pickler = new Pickler();
    const { items } = unpickle(pickler.pickle(new List(TensorType.get(), [whole, column, bits]))) as List;
    expect(pickler.storages).toEqual([storage]);
    const [first, second, third] = items as Tensor[];
    expect([first.sizes, first.strides, first.requiresGrad]).toEqual([[3, 4], [4, 1], false]);
    expect([second.strides, second.storageOffset, second.requiresGrad]).toEqual([[4], 2, true]);
    expect(third.dtype).toBe('int32');
  });

  it('writes how quantised tensors stand for numbers', () => {
    const bytes = (): Storage => Storage.onHost(new ArrayBuffer(4));
    const one = new Tensor(bytes(), 'qint8', [4], [1]);
    one.quantizer = { scale: 0.25, zeroPoint: 3, axis: null };
    const several = new Tensor(bytes(), 'quint8', [2, 2], [2, 1]);
    const [scale, zeroPoint] = [Tensor.empty([2], 'float64'), Tensor.empty([2], 'int64')];
    several.quantizer = { scale, zeroPoint, axis: 1 };
    const pickler = new Pickler();
    const { items } = unpickle(pickler.pickle(new List(TensorType.get(), [one, several]))) as List;
    const [first, second] = items as Tensor[];
    expect([first.dtype, first.quantizer]).toEqual(['qint8', one.quantizer]);
    expect([second.dtype, second.quantizer!.axis, (second.quantizer!.scale as Tensor).dtype]).toEqual([
      'quint8',
      1,
      'float64',
    ]);
    expect(pickler.storages).toEqual([one.storage, several.storage, scale.storage, zeroPoint.storage]);
  });

  it('follows objects to any depth', () => {
    let list = makePoint(0n);
    for (let at = 1n; at < 20_000n; at++) list = makePoint(at, list);
    let depth = 0;
    for (let each = roundTrip(list); each instanceof ScriptObject; each = each.slots[1]) depth++;
    expect(depth).toBe(20_000);
  });

  it('refuses what cannot be saved, by name', () => {
    const loop = makePoint(1n);
    loop.slots[1] = loop;
    expect(() => pickle(loop)).toThrow("class '__torch__.Point' cannot be saved: it contains itself");
    expect(() => pickle(new ScriptObject(point))).toThrow("attribute 'x' of __torch__.Point has no value yet");
    const quantised = new Tensor(Storage.onHost(new ArrayBuffer(4)), 'quint8', [4], [1]);
    expect(() => pickle(quantised)).toThrow('tensors of dtype quint8 cannot be saved');
    const generator = { kind: 'generator', seed: () => undefined } as const;
    expect(() => pickle(generator)).toThrow('Unknown IValue type for pickling: Generator');
  });
});
