import { CressetError, type ListType, SourceRange } from '@cresset/ir';
import type { Dict, List, ScriptObject, Tensor } from '@cresset/tensor';
import { strToU8, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import type { LoadedModule } from '../loaded-module.ts';
import { readModule } from '../module-reader.ts';

const floats = (...values: number[]): Uint8Array => new Uint8Array(new Float32Array(values).buffer);
/** A pickle of opcodes in text, one byte a character. */
const pickle = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));
const unicode = (text: string): string => `X${String.fromCharCode(text.length, 0, 0, 0)}${text}`;

const tensor = (key: string, dims: number[], strides: number[], offset = 0): object => ({
  dims: dims.map(String),
  strides: strides.map(String),
  offset: String(offset),
  dataType: 'FLOAT',
  data: { key },
  device: 'cpu',
});

interface Model {
  readonly model?: object | string;
  readonly attributes?: Uint8Array;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

function makeFile({ model, attributes, files = {} }: Model): Uint8Array {
  const contents: Record<string, Uint8Array> = {
    'net/model.json': strToU8(typeof model === 'string' ? model : JSON.stringify(model)),
    'net/version': strToU8('1\n'),
    'net/tensors/0': floats(1, 2, 3, 4),
  };
  if (attributes) contents['net/attributes.pkl'] = attributes;
  for (const [name, text] of Object.entries(files)) {
    contents[`net/${name}`] = typeof text === 'string' ? strToU8(text) : text;
  }
  return zipSync(contents, { level: 0 });
}

const read = (model: Model): Promise<LoadedModule> => readModule(makeFile(model));

async function failure(model: Model): Promise<CressetError> {
  const error = await read(model).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CressetError);
  return error as CressetError;
}

describe('readLegacyModule', () => {
  it('makes a class for each module, with submodules, parameters and buffers', async () => {
    const { module, formatVersion } = await read({
      model: {
        protoVersion: '5',
        mainModule: {
          name: 'net',
          submodules: [
            { name: '0', parameters: [{ name: 'weight', tensorId: '0' }] },
            { name: 'a.b', parameters: [{ name: 'mean', tensorId: '1', isBuffer: true }] },
          ],
        },
        tensors: [{ ...tensor('tensors/0', [2, 2], [2, 1]), requiresGrad: true }, tensor('tensors/0', [2], [2], 1)],
      },
    });
    expect(formatVersion).toBe(1);
    expect(module.type.qualifiedName).toBe('__torch__.net');
    expect(module.type.attributes.map(({ name, type }) => [name, type.str()])).toEqual([
      ['0', '__torch__.net._0'],
      ['a.b', '__torch__.net.a.b'],
    ]);
    const [first, second] = module.slots as ScriptObject[];
    expect([first.type.attributes[0].kind, second.type.attributes[0].kind]).toEqual(['parameter', 'buffer']);
    const [weight, mean] = [first.slots[0], second.slots[0]] as Tensor[];
    expect([...weight.contiguousArray()]).toEqual([1, 2, 3, 4]);
    expect([...mean.contiguousArray()]).toEqual([2, 4]);
    expect([weight.requiresGrad, mean.requiresGrad]).toEqual([true, false]);
    expect(mean.storage).toBe(weight.storage);
  });

  it('is told of with the reason', async () => {
    const told: string[][] = [];
    const onPart = (name: string, reason: string): void => void told.push([name, reason]);
    await readModule(makeFile({ model: { protoVersion: 5, mainModule: { name: 'net' }, tensors: [] } }), { onPart });
    expect(told).toEqual([['legacy-module-reader', 'a file in the layout before PyTorch 1.4']]);
  });

  it('reads quantised tensors', async () => {
    const quantised = {
      ...tensor('tensors/0', [16], [1]),
      dataType: 'UINT8',
      isQuantized: true,
      scale: 0.5,
      zeroPoint: '7',
    };
    const { module } = await read({
      model: { protoVersion: 5, mainModule: { name: 'net', parameters: [{ name: 'w' }] }, tensors: [quantised] },
    });
    const [weight] = module.slots as Tensor[];
    expect([weight.dtype, weight.quantizer]).toEqual(['quint8', { scale: 0.5, zeroPoint: 7, axis: null }]);
  });

  it('gives attributes their values and types', async () => {
    const attributes = pickle(
      `\x80\x02(}(${unicode('one')}K\x01uctorch.jit._pickle\nbuild_tensor_from_id\nK\x00\x85R]K\x05at.`,
    );
    const { module } = await read({
      model: {
        proto_version: 4,
        main_module: {
          name: 'net',
          attributes: [
            { name: 'table', type: 'Dict[str, int]', id: '0' },
            { name: 'tensor', type: 'Tensor', id: 1 },
            { name: 'list', type: 'List[int]', id: '2' },
            { name: 'nothing', type: 'Optional[int]', id: '-1' },
          ],
        },
        tensors: [tensor('tensors/0', [4], [1])],
      },
      attributes,
    });
    const [table, values, list, nothing] = module.slots;
    expect([...(table as Dict).entries]).toEqual([['one', 1n]]);
    expect((table as Dict).valueType.kind).toBe('IntType');
    expect([...(values as Tensor).contiguousArray()]).toEqual([1, 2, 3, 4]);
    expect([(list as List).items, (list as List).elementType.kind]).toEqual([[5n], 'IntType']);
    expect(nothing).toBeNull();
  });

  it('knows the names of the first picklers, whose values are a list', async () => {
    const attributes = pickle(`\x80\x02](c__main__\nTensorID\n)\x81K\x00bc__main__\nIntList\n)\x81](K\x07ebe.`);
    const { module } = await read({
      model: {
        protoVersion: 2,
        mainModule: {
          name: 'net',
          attributes: [
            { name: 'tensor', type: 'Tensor', id: 0 },
            { name: 'list', type: 'List[int]', id: 1 },
          ],
        },
        tensors: [tensor('tensors/0', [4], [1])],
      },
      attributes,
    });
    const [values, list] = module.slots;
    expect((values as Tensor).sizes).toEqual([4]);
    expect((list as List).items).toEqual([7n]);
  });

  it('compiles the code of modules, with classes from libs and the author’s source', async () => {
    const { module, unit, code } = await read({
      model: {
        protoVersion: 5,
        mainModule: {
          name: 'net',
          torchscriptArena: { key: 'code/net.py' },
          torchscriptDebugArena: { key: 'debug/net.pkl' },
          attributes: [{ name: 'pairs', type: 'List[Tuple[str, int]]', id: 0 }],
        },
      },
      attributes: pickle('\x80\x02]\x85.'),
      files: {
        'code/net.py':
          'op_version_set = 0\nimport __torch__.shapes\ndef forward(self,\n    p: __torch__.shapes.Pair) -> int:\n  return p.first\n',
        'libs/__torch__/shapes.py': 'op_version_set = 0\nclass Pair(NamedTuple):\n  first : int\n  second : int\n',
        // One range: from byte 0 on, the second line of the author's file.
        'debug/net.pkl': pickle(
          `\x80\x02K\x00${unicode('x = 1\ny = 2\n')}${unicode('net.py')}K\x04\x87K\x06K\x0b\x87\x86\x85.`,
        ),
      },
    });
    const forward = module.type.getMethod('forward');
    expect(String(forward.schema)).toContain('forward(__torch__.net self, __torch__.shapes.Pair p) -> int');
    expect(unit.getType('__torch__.shapes.Pair')).toBeDefined();
    expect((module.type.getAttribute('pairs') as ListType).elementType.str()).toBe('(str, int)');
    const original = new SourceRange(code.get('code/net.py')!, 30, 35).original();
    expect([original?.text(), original?.fileLineCol()?.[1]]).toEqual(['y = 2', 6]);
  });

  it('waits for __setstate__ where a module has a state', async () => {
    const model = {
      protoVersion: 5,
      mainModule: {
        name: 'net',
        torchscriptArena: { key: 'code/net.py' },
        getStateAttributeId: '0',
        attributes: [{ name: 'n', type: 'int', id: '-1' }],
      },
    };
    const attributes = pickle('\x80\x02K\x05\x85.');
    const code = 'def __setstate__(self,\n    state: int) -> None:\n  self.n = state\n';
    const { module, pendingStates } = await read({ model, attributes, files: { 'code/net.py': code } });
    expect(pendingStates.map(({ object, state }) => [object === module, state])).toEqual([[true, 5n]]);
    const without = { ...model, mainModule: { ...model.mainModule, getStateAttributeId: undefined } };
    const error = await failure({ model: without, attributes, files: { 'code/net.py': code } });
    expect(error.message).toContain("The field 'n' was left unitialized after __setstate__");
  });

  it('says what is wrong with a description', async () => {
    const main = (module: object, tensors: object[] = []): Model => ({
      model: { protoVersion: 5, mainModule: { name: 'net', ...module }, tensors },
    });
    const cases: [Model, string, string][] = [
      [{ model: '{' }, 'LEGACY_MODEL', 'it is no JSON'],
      [{ model: '[]' }, 'LEGACY_MODEL', 'the model is no object'],
      [{ model: { protoVersion: 6 } }, 'LEGACY_MODEL', 'it is of version 6'],
      [main({ submodules: {} }), 'LEGACY_MODEL', "'submodules'"],
      [main({ parameters: [{ name: 'w', tensorId: 3 }] }), 'LEGACY_MODEL', "parameter 'w' is number 3 of 0"],
      [main({ attributes: [{ name: 'a', type: 'int', id: 0 }] }), 'LEGACY_MODEL', "attribute 'a' is number 0 of 0"],
      [main({}, [tensor('tensors/9', [1], [1])]), 'ARCHIVE_NO_STORAGE', "no record 'net/tensors/9'"],
      [main({}, [tensor('tensors/0', [5], [1])]), 'ARCHIVE_TENSOR_BOUNDS', 'its storage of 4 elements'],
      [main({}, [{ ...tensor('tensors/0', [1], [1]), dataType: 'STRING' }]), 'LEGACY_MODEL', "data type 'STRING'"],
      [main({}, [{ ...tensor('tensors/0', [1], [1]), isQuantized: true }]), 'LEGACY_MODEL', 'a quantised tensor'],
    ];
    for (const [model, code, message] of cases) {
      const error = await failure(model);
      expect([error.code, error.message]).toEqual([code, expect.stringContaining(message)]);
    }
  });
});
