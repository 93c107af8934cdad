import {
  ClassType,
  CompilationUnit,
  IntType,
  parseSchema,
  Source,
  SourceRange,
  TensorType,
  type Type,
} from '@cresset/ir';
import { type IValue, ScriptObject, Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { MemorySource } from './sources/byte-source.ts';
import { DebugRanges } from './debug/debug-ranges.ts';
import { hasValidSetGetState } from './pickle/get-set-state.ts';
import { readModule } from './module-reader.ts';
import { writeModule } from './module-writer.ts';
import { pickleSourceRanges, SourceRangeTags } from './debug/source-range-pickler.ts';
import { ZipReader } from './zip/zip-reader.ts';

type Attributes = Readonly<Record<string, readonly [Type, IValue]>>;

/** A module without methods, of a class in a unit of its own. */
function makeModule(name: string, attributes: Attributes, unit = new CompilationUnit()): ScriptObject {
  const type = new ClassType(name, { isModule: true, compilationUnit: unit });
  unit.registerType(type);
  const object = new ScriptObject(type);
  for (const [attribute, [attributeType, value]] of Object.entries(attributes)) {
    type.addAttribute(attribute, attributeType);
    object.slots.push(value);
  }
  return object;
}

const counter = (count: bigint): ScriptObject => makeModule('__torch__.parts.Counter', { n: [IntType.get(), count] });

const textsOf = async (file: Uint8Array): Promise<Record<string, string>> => {
  const zip = await ZipReader.open(new MemorySource(file));
  const names = [...zip.entries.keys()];
  const contents = await zip.readAll(names);
  return Object.fromEntries(names.map((name, at) => [name, new TextDecoder().decode(contents[at])]));
};

describe('writeModule', () => {
  it('writes the records that PyTorch writes, in its order', async () => {
    const weight = Tensor.fromArray(new Float32Array([1, 2]), [2], 'float32');
    const module = makeModule('__torch__.net.Net', { weight: [TensorType.get(), weight] });
    const extraFiles = new Map<string, Uint8Array | string>([
      ['notes.txt', 'hé'],
      ['raw.bin', new Uint8Array([7])],
    ]);
    const files = await textsOf(await writeModule(module, { name: 'models/net.v2.pt', extraFiles }));
    expect(Object.keys(files)).toEqual([
      'net.v2/extra/notes.txt',
      'net.v2/extra/raw.bin',
      'net.v2/data/0',
      'net.v2/data.pkl',
      'net.v2/code/__torch__/net.py',
      'net.v2/code/__torch__/net.py.debug_pkl',
      'net.v2/constants.pkl',
      'net.v2/version',
      'net.v2/byteorder',
      'net.v2/.data/serialization_id',
    ]);
    expect(files['net.v2/extra/notes.txt']).toBe('hé');
    expect(files['net.v2/version']).toBe('3\n');
    expect(files['net.v2/byteorder']).toBe('little');
    expect(files['net.v2/.data/serialization_id']).toMatch(/^\d{40}$/);
    expect(files['net.v2/code/__torch__/net.py']).toBe(
      'class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  weight : Tensor\n',
    );
  });

  it('gives another file for other contents only', async () => {
    const idOf = async (count: bigint): Promise<string> =>
      (await textsOf(await writeModule(counter(count))))['archive/.data/serialization_id'];
    expect(await idOf(1n)).toBe(await idOf(1n));
    expect(await idOf(1n)).not.toBe(await idOf(2n));
  });

  it('tells classes of one name apart, wherever they are named', async () => {
    const [one, other] = [counter(1n), counter(2n)];
    const module = makeModule('__torch__.Net', {
      one: [one.type, one],
      other: [other.type, other],
      again: [other.type, other],
    });
    const file = await writeModule(module);
    const names = Object.keys(await textsOf(file)).filter((name) => name.endsWith('.py'));
    expect(names).toEqual([
      'archive/code/__torch__.py',
      'archive/code/__torch__/parts.py',
      'archive/code/__torch__/parts/___torch_mangle_0.py',
    ]);
    const read = (await readModule(file)).module;
    const [first, second, third] = read.slots as ScriptObject[];
    expect([first.slots, second.slots]).toEqual([[1n], [2n]]);
    expect(third).toBe(second);
    expect(second.type.qualifiedName).toBe('__torch__.parts.___torch_mangle_0.Counter');
  });

  it('refuses objects that nothing can ask for their state', async () => {
    const module = counter(1n);
    addMethod(module.type, '__getstate__(__torch__.parts.Counter self) -> int');
    await expect(writeModule(module)).resolves.toBeDefined();
    addMethod(module.type, '__setstate__(__torch__.parts.Counter self, int state) -> NoneType');
    await expect(writeModule(module)).rejects.toThrow("are saved by their '__getstate__', which nothing here can call");
    const file = await writeModule(module, { callMethod: async (object) => (object.slots[0] as bigint) + 40n });
    const zip = await ZipReader.open(new MemorySource(file));
    // The state, and BUILD with it.
    expect([...(await zip.read('archive/data.pkl'))].slice(-4)).toEqual([0x4b, 41, 0x62, 0x2e]);
  });
});

/** Adds a method that is there by its schema only: it is printed nowhere. */
function addMethod(type: ClassType, signature: string): void {
  const schema = parseSchema(signature, () => type);
  type.addMethod({ qualifiedName: `${type.qualifiedName}.${schema.name}`, name: schema.name, schema });
}

describe('hasValidSetGetState', () => {
  const stateful = (...signatures: string[]): (() => boolean) => {
    const { type } = counter(1n);
    for (const signature of signatures) addMethod(type, signature);
    return () => hasValidSetGetState(type);
  };

  it('is for classes with both methods', () => {
    const [get, set] = ['__getstate__(int self) -> int', '__setstate__(int self, int? state) -> NoneType'];
    expect(stateful()()).toBe(false);
    expect(stateful(get)()).toBe(false);
    expect(stateful(set)()).toBe(false);
    expect(stateful(get, set)()).toBe(true);
  });

  it('refuses methods that do not fit each other', () => {
    const get = '__getstate__(int self) -> int';
    const cases = [
      [['__getstate__(int self, int n) -> int'], "must have 'self' as its only argument, but found 2"],
      [[get, '__setstate__(int self) -> NoneType'], "must have 'self' and the state as its only arguments"],
      [[get, '__setstate__(int self, int n) -> int'], "'__setstate__' must return None"],
      [[get, '__setstate__(int self, str n) -> NoneType'], "(int) does not match '__setstate__'s argument type (str)"],
    ] as const;
    for (const [signatures, message] of cases) expect(stateful(...signatures)).toThrow(message);
  });
});

describe('pickleSourceRanges', () => {
  it('is read back: ranges of several sources, of bytes, and of none', () => {
    const [first, second] = [new Source('é = 1\ny = é\n', 'a.py', 10), new Source('  File "b.py", in f\n', undefined)];
    const range = (source: Source, start: number, end: number): SourceRange => new SourceRange(source, start, end);
    const tags = new SourceRangeTags();
    const pickle = pickleSourceRanges(
      [
        { offset: 0, range: undefined },
        { offset: 5, range: range(first, 6, 11) },
        { offset: 9, range: range(new Source(''), 0, 0) },
        { offset: 12, range: range(second, 0, 20) },
        { offset: 300, range: range(first, 10, 11) },
      ],
      tags,
    );
    const read = new DebugRanges(pickle, 'table');
    const generated = new Source('x'.repeat(400));
    const at = (offset: number): string | undefined =>
      read.findSourceRangeThatGenerated(range(generated, offset, offset + 1))?.text();
    expect([at(0), at(5), at(8), at(9), at(20), at(399)]).toEqual([
      '',
      'y = é',
      'y = é',
      '',
      '  File "b.py", in f\n',
      'é',
    ]);
    const original = read.findSourceRangeThatGenerated(range(generated, 6, 7))!;
    expect(original.fileLineCol()).toEqual(['a.py', 12, 0]);
    expect(read.findSourceRangeThatGenerated(range(generated, 20, 21))!.source.filename).toBeUndefined();
  });

  it('has one number for a range wherever it occurs', () => {
    const source = new Source('ab');
    const tags = new SourceRangeTags();
    const [one, other] = [new SourceRange(source, 0, 1), new SourceRange(source, 1, 2)];
    expect([one, other, undefined, new SourceRange(source, 0, 1)].map((each) => tags.tagOf(each))).toEqual([
      0n,
      1n,
      2n,
      0n,
    ]);
  });
});
