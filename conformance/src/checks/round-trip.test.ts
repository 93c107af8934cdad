import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readModule } from '@cresset/archive';
import {
  Tensor,
  type Dict,
  type EnumValue,
  type IValue,
  type List,
  type ScriptObject,
  type Tuple,
} from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonIValue, ProgramCase } from '../cases/case.ts';
import { openProgram } from '../cases/program.ts';
import { checkRoundTrip, type CaseOfFile, type RoundTrip } from './round-trip-check.ts';

const fixtures = new URL('../../../packages/archive/fixtures/', import.meta.url);
const models = new URL('../../../../shared/models/', import.meta.url);
const read = (name: string, folder = fixtures): Uint8Array => new Uint8Array(readFileSync(new URL(name, folder)));

const image: JsonIValue = { tensor: { dtype: 'float32', shape: [1, 1, 4, 4], data: btoa('\0\0\x80?'.repeat(16)) } };
const pair: JsonIValue = { tensor: { dtype: 'float32', shape: [2, 2], data: btoa('\0\0\x80?\0\0 A'.repeat(2)) } };
const empty: JsonIValue = { tensor: { dtype: 'float32', shape: [0, 2], data: '' } };

function caseOf(calls: ProgramCase['calls']): CaseOfFile {
  const readFile = (): never => {
    throw new Error('the case has no files');
  };
  return { json: { id: 'case', suite: '', ...(calls ? { calls } : {}) }, readFile };
}

async function roundTrip(bytes: Uint8Array, cases: readonly CaseOfFile[]): Promise<RoundTrip> {
  const found = await checkRoundTrip(bytes, cases, 'file.pt');
  expect(found?.problems).toEqual([]);
  return found!;
}

async function codeOf(bytes: Uint8Array): Promise<[string, string][]> {
  return [...(await readModule(bytes)).code].map(([name, { text }]) => [name, text]);
}

describe('what PyTorch saved', () => {
  it('is saved with every kind of value, class and state, and gives the same answers', async () => {
    const calls = [
      { inputs: [pair] },
      { inputs: [pair, { int: '4' }] },
      { inputs: [empty] },
      { inputs: [], entry: 'facts' },
      { inputs: [pair] },
    ];
    const original = read('everything.pt');
    const { saved } = await roundTrip(original, [caseOf(calls)]);
    expect(await codeOf(saved)).toEqual(await codeOf(original));
  });

  it('keeps constants that are tensors, and code without source', async () => {
    for (const name of ['frozen.pt', 'traced.pt']) {
      const { saved } = await roundTrip(read(name), [caseOf([{ inputs: [image] }])]);
      expect(await codeOf(saved)).toEqual(await codeOf(read(name)));
    }
  });

  it('computes with packed weights of 8 bits, and packs them again', async () => {
    const file = read('quantized.pt');
    const numbers = Float32Array.from({ length: 64 }, (_, index) => index / 16 - 2);
    const data = btoa(String.fromCharCode(...new Uint8Array(numbers.buffer)));
    const x: JsonIValue = { tensor: { dtype: 'float32', shape: [2, 2, 4, 4], data } };
    const { saved } = await roundTrip(file, [caseOf([{ inputs: [x] }])]);
    expect(await codeOf(saved)).toEqual(await codeOf(file));
    const program = await openProgram({ id: '', suite: '', file: 'file' }, { device: null }, async () => saved);
    const input = Tensor.fromArray(numbers, [2, 2, 4, 4], 'float32');
    const [integers, floats] = ((await program.call('forward', [input], new Map())) as Tuple).items as Tensor[];
    // As PyTorch prints them.
    expect([...integers.contiguousArray()]).toEqual([89, 72, 127, 33, 0, 61]);
    expect(Array.from(floats.contiguousArray() as Float32Array, (each) => each.toFixed(4))).toEqual([
      '-0.0697',
      '2.9185',
      '-8.2804',
      '15.6912',
    ]);
  });

  it('computes with quantised layers of every kind what PyTorch does, and packs them again', async () => {
    const file = read('quantized-layers.pt');
    const numbers = Float32Array.from({ length: 240 }, (_, index) => Math.sin(index) * 2);
    const original = await openProgram({ id: '', suite: '', file: 'file' }, { device: null }, async () => file);
    const saved = await original.save('file.pt');
    expect(await codeOf(saved)).toEqual(await codeOf(file));
    for (const bytes of [file, saved]) {
      const program = await openProgram({ id: '', suite: '', file: 'file' }, { device: null }, async () => bytes);
      const input = Tensor.fromArray(numbers, [1, 8, 5, 6], 'float32');
      const [got, expected] = ((await program.call('pair', [input], new Map())) as Tuple).items.map(
        (list) => (list as List).items as Tensor[],
      );
      expect(got).toHaveLength(19);
      got.forEach((tensor, index) => {
        expect([index, tensor.sizes, tensor.dtype]).toEqual([index, expected[index].sizes, expected[index].dtype]);
        const [ours, theirs] = [tensor, expected[index]].map((each) => Array.from(each.contiguousArray(), Number));
        // Integers are the same; of numbers, exponential functions differ in the last place.
        const isInteger = tensor.dtype === 'uint8';
        ours.forEach((value, at) => {
          const difference = Math.abs(value - theirs[at]);
          expect(difference, `element ${at} of result ${index}`).toBeLessThanOrEqual(isInteger ? 0 : 1e-5);
        });
      });
    }
  });

  it('is another file where the program changed its state', async () => {
    const program = await openProgram({ id: '', suite: '', file: 'file' }, { device: null }, async () =>
      read('everything.pt'),
    );
    const before = await program.save('file.pt');
    await program.call('facts', [], new Map());
    const after = await program.save('file.pt');
    const column = async (bytes: Uint8Array): Promise<unknown[]> => {
      const { module } = await readModule(bytes);
      const [rows, view] = ['rows', 'column'].map((name) => module.getAttribute(name) as Tensor);
      expect(view.storage).toBe(rows.storage);
      return [...view.contiguousArray()];
    };
    expect([await column(before), await column(after)]).toEqual([
      [1, 5, 9],
      [2, 5, 9],
    ]);
  });
});

describe('a saved module', () => {
  let module: ScriptObject;
  beforeAll(async () => {
    const { saved } = await roundTrip(read('everything.pt'), [caseOf([])]);
    ({ module } = await readModule(saved));
  });
  const attribute = (name: string): IValue => module.getAttribute(name);

  it('has the values of its attributes', () => {
    expect((attribute('names') as List).items).toEqual(['\xc3\xa9', '\n"\'\\', '']);
    expect([...(attribute('table') as Dict).entries.keys()]).toEqual(['zebra', 'ant']);
    expect(((attribute('table') as Dict).entries.get('ant') as List).items).toEqual([2n ** 40n]);
    expect(attribute('maybe')).toBeNull();
    expect((attribute('mode') as EnumValue).name).toBe('MEAN');
    expect((attribute('span') as Tuple).items).toEqual([-1.5, Infinity]);
    expect(attribute('long')).toBe(-(2n ** 62n));
  });

  it('knows parameters from buffers, and classes that only an interface names', () => {
    const kinds = Object.fromEntries(module.type.attributes.map(({ name, kind }) => [name, kind]));
    expect(kinds).toMatchObject({ weight: 'parameter', rows: 'buffer', names: 'attribute' });
    expect((attribute('weight') as Tensor).requiresGrad).toBe(true);
    expect((attribute('scorer') as ScriptObject).type.qualifiedName).toContain('Shifted');
  });
});

describe.skipIf(!existsSync(models))('the models beside the project', () => {
  // The whole corpus is the business of scripts/check-round-trip.mjs.
  it.each(['silero-vad/silero_vad.pt', 'lstm_lm/lstm_lm.pt', 'resnet18/resnet18.frozen.pt', 'vae/vae.traced.pt'])(
    '%s gives the same answers',
    async (name) => {
      const folder = new URL(`${name.split('/')[0]}/`, models);
      const file = name.split('/')[1];
      const cases = readdirSync(folder)
        .filter((each) => each.endsWith('.jsonl'))
        .flatMap((each) => readFileSync(new URL(each, folder), 'utf8').trim().split('\n'))
        .map((line) => JSON.parse(line) as ProgramCase)
        .filter((json) => json.file === file)
        .slice(0, 2)
        .map((json) => ({ json, readFile: async (path: string) => read(path, folder) }));
      expect(cases.length).toBeGreaterThan(0);
      await roundTrip(read(file, folder), cases);
    },
    60_000,
  );
});
