import { AnyType, ClassType, CressetError, FloatType, IntType, TensorType } from '@cresset/ir';
import { DeviceValue, List, Dict, type ScalarType, type ScriptObject, type Tensor, type Tuple } from '@cresset/tensor';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PickleGlobals, type PickleContext } from './pickle-globals.ts';
import { PickleSet, StorageReference, type PickleValue } from './pickle-value.ts';
import { Unpickler } from './unpickler.ts';
import { processorSeconds } from '../../../../test-setup/processor-time.ts';

/** A pickle from text (one character a byte) and numbers (one a byte). */
function pickle(...pieces: (string | number)[]): Uint8Array {
  return Uint8Array.from(
    pieces.flatMap((piece) => (typeof piece === 'number' ? [piece] : Array.from(piece, (c) => c.charCodeAt(0)))),
  );
}

const text = (value: string): string => `X${String.fromCharCode(value.length)}\0\0\0${value}`;

const net = new ClassType('__torch__.Net', { isModule: true });
net.addAttribute('scale', FloatType.get());

const context = (): PickleContext => ({
  storage: (key: string, dtype: ScalarType | null, count: number) => new StorageReference(key, dtype, count),
  resolveClass: (name) => (name === '__torch__.Net' ? net : null),
  parseType: () => TensorType.get(),
  build(instance: ScriptObject, state: PickleValue) {
    if (!(state instanceof Dict)) throw new CressetError('PICKLE_MALFORMED', 'the state is no dict');
    for (const [key, value] of state.entries) {
      if (net.hasAttribute(String(key))) instance.setAttribute(String(key), value);
    }
  },
});

function load(bytes: Uint8Array): PickleValue {
  return new Unpickler(bytes, new PickleGlobals(context(), 'data.pkl'), 'data.pkl').load();
}

function codeOf(bytes: Uint8Array): string {
  try {
    load(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(CressetError);
    return (error as CressetError).code;
  }
  return 'no error';
}

const tensor = (offset: string, sizes: string, strides: string): string =>
  `\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((${text('storage')}ctorch\nFloatStorage\n${text('0')}${text('cuda:0')}K\x06tQ${offset}${sizes}${strides}\x89ccollections\nOrderedDict\n)RtR.`;

describe('Unpickler', () => {
  it('reads numbers of every opcode', () => {
    const value = load(
      pickle(
        '\x80\x02(K\x05M\x01\x02J\xff\xff\xff\xff\x8a\x02\x00\x80\x8b\x03\0\0\0\xff\xff\x7fG',
        0x3f,
        0xf8,
        0,
        0,
        0,
        0,
        0,
        0,
        'I12\nI01\nL-7L\nF2.5\n\x88Nt.',
      ),
    );
    expect((value as Tuple).items).toEqual([5n, 513n, -1n, -32768n, 8388607n, 1.5, 12n, true, -7n, 2.5, true, null]);
  });

  it('reads containers, and keeps shared ones shared', () => {
    const value = load(pickle(`\x80\x02]q\x00(K\x01K\x02e}q\x01(${text('a')}h\x00u\x86h\x01\x86.`)) as Tuple;
    const [pair, dict] = value.items as [Tuple, Dict];
    expect(pair.items[0]).toBeInstanceOf(List);
    expect((pair.items[0] as List).items).toEqual([1n, 2n]);
    expect(dict).toBe(pair.items[1]);
    expect(dict.entries.get('a')).toBe(pair.items[0]);
    expect(load(pickle('\x80\x04\x95\x05\0\0\0\0\0\0\0\x8f(K\x01\x90.'))).toEqual(new PickleSet([1n]));
  });

  it('keeps strings as bytes', () => {
    expect(load(pickle('\x80\x02X\x02\0\0\0\xc3\xa9.'))).toBe('\xc3\xa9');
  });

  it('builds typed lists, complex numbers and devices', () => {
    const ints = load(pickle('\x80\x02ctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02e\x85R.')) as List;
    expect(ints.elementType).toBe(IntType.get());
    expect(ints.items).toEqual([1n, 2n]);
    expect(load(pickle(`\x80\x02ctorch\ndevice\n${text('cuda:1')}\x85R.`))).toBe(DeviceValue.parse('cuda:1'));
    expect((load(pickle('\x80\x02].')) as List).elementType).toBe(AnyType.get());
  });

  it('builds objects of the classes it is given', () => {
    const object = load(
      pickle(`\x80\x02c__torch__\nNet\n)\x81}${text('scale')}G\x40\0\0\0\0\0\0\0sb.`),
    ) as ScriptObject;
    expect(object.type).toBe(net);
    expect(object.getAttribute('scale')).toBe(2);
    expect(codeOf(pickle('\x80\x02c__torch__\nOther\n)\x81.'))).toBe('ARCHIVE_NO_CLASS');
  });

  it('refuses objects without a state: nothing could be done with one', () => {
    const bytes = pickle(`\x80\x02c__torch__\nNet\n)\x81.`);
    expect(codeOf(bytes)).toBe('PICKLE_MALFORMED');
    expect(() => load(bytes)).toThrow("makes an object of class '__torch__.Net' and gives it no state");
  });

  it('makes tensors as views of their storage, wherever it was', () => {
    const value = load(pickle(tensor('K\x01', '(K\x02K\x02t', '(K\x03K\x01t'))) as Tensor;
    expect([value.dtype, value.sizes, value.strides, value.storageOffset]).toEqual(['float32', [2, 2], [3, 1], 1]);
  });

  it('refuses views that reach outside their storage', () => {
    expect(codeOf(pickle(tensor('K\x03', '(K\x02K\x02t', '(K\x03K\x01t')))).toBe('ARCHIVE_TENSOR_BOUNDS');
    expect(codeOf(pickle(tensor('K\x00', '(K\x07t', '(K\x01t')))).toBe('ARCHIVE_TENSOR_BOUNDS');
    expect(codeOf(pickle(tensor('J\xff\xff\xff\xff', '(K\x01t', '(K\x01t')))).toBe('PICKLE_MALFORMED');
    expect(codeOf(pickle(tensor('K\x00', '(K\x02t', '(J\xff\xff\xff\xfft')))).toBe('PICKLE_MALFORMED');
    expect(codeOf(pickle(tensor('K\x00', '(K\x02t', ')')))).toBe('PICKLE_MALFORMED');
  });

  it('refuses every name that is not on its list, and says which', () => {
    for (const [module, name] of [
      ['os', 'system'],
      ['posix', 'system'],
      ['builtins', 'eval'],
      ['torch', 'load'],
      ['torch.jit._pickle', 'toString'],
      ['collections', 'constructor'],
    ]) {
      const bytes = pickle(`\x80\x02c${module}\n${name}\n${text('echo')}\x85R.`);
      expect(codeOf(bytes)).toBe('PICKLE_FORBIDDEN_GLOBAL');
      expect(() => load(bytes)).toThrow(`'${module}.${name}'`);
      expect(codeOf(pickle(`\x80\x04${text(module)}${text(name)}\x93.`))).toBe('PICKLE_FORBIDDEN_GLOBAL');
      expect(codeOf(pickle(`(i${module}\n${name}\n.`))).toBe('PICKLE_FORBIDDEN_GLOBAL');
    }
  });

  it('names what is wrong with a damaged pickle', () => {
    expect(codeOf(pickle('\x80\x02'))).toBe('PICKLE_TRUNCATED');
    expect(codeOf(pickle('\x80\x02X\xff\xff\xff\xffabc.'))).toBe('PICKLE_TRUNCATED');
    expect(codeOf(pickle('\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.'))).toBe('PICKLE_TRUNCATED');
    expect(codeOf(pickle('\x80\x02\x8b\xff\xff\xff\x7f\x01.'))).toBe('PICKLE_MALFORMED');
    expect(codeOf(pickle('\x80\x02.'))).toBe('PICKLE_MALFORMED');
    expect(codeOf(pickle('\x80\x02h\x05.'))).toBe('PICKLE_MALFORMED');
    expect(codeOf(pickle('\x80\x02K\x01K\x02a.'))).toBe('PICKLE_MALFORMED');
    expect(codeOf(pickle('\x80\x02\x82\x01.'))).toBe('PICKLE_UNSUPPORTED_OPCODE');
    expect(codeOf(pickle('\x80\x02}]K\x01s.'))).toBe('PICKLE_MALFORMED');
  });

  it('gives a value or a CressetError for any bytes, in bounded time', () => {
    const samples = [
      pickle(tensor('K\x01', '(K\x02K\x02t', '(K\x03K\x01t')),
      pickle(`\x80\x02c__torch__\nNet\n)\x81}${text('scale')}G\x40\0\0\0\0\0\0\0sb.`),
      pickle(
        '\x80\x02(K\x05M\x01\x02J\xff\xff\xff\xff\x8a\x02\x00\x80\x8b\x03\0\0\0\xff\xff\x7fI12\nI01\nL-7L\nF2.5\n\x88Nt.',
      ),
    ];
    const start = processorSeconds();
    const mutated = fc.tuple(fc.constantFrom(...samples), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 8 }));
    const opcodes = fc.array(
      fc.constantFrom(
        ...Array.from(
          '(.012FIJKLMNPQRSTUVXabcdeghijlopqrstu}])\x80\x81\x85\x86\x87\x88\x89\x8a\x8c\x8f\x90\x91\x93\x94\0\x01',
          (c) => c.charCodeAt(0),
        ),
      ),
      { maxLength: 60 },
    );
    const check = (bytes: Uint8Array): void => {
      try {
        load(bytes);
      } catch (error) {
        if (!(error instanceof CressetError)) throw error;
      }
    };
    fc.assert(
      fc.property(mutated, ([sample, changes]) => {
        const bytes = sample.slice();
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        check(bytes);
      }),
      { numRuns: 4000 },
    );
    fc.assert(
      fc.property(opcodes, (bytes) => check(Uint8Array.from([...bytes, 0x2e]))),
      { numRuns: 4000 },
    );
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), check), { numRuns: 2000 });
    expect(processorSeconds() - start).toBeLessThan(60);
  });
});
