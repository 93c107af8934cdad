import { load } from 'cresset';
import { tensorOfBytes, type BenchTensor } from '../values.ts';
import type { BenchModel, ModelEntry } from './bench-model.ts';

/** Files of a folder with whole models: `NAME/NAME.pt`, `NAME/NAME.onnx`, `NAME/cases.jsonl` and what lies beside. */
export interface ModelFolder {
  /** Of those that have all three. */
  readonly names: readonly string[];
  /** The bytes of a file by its path in the folder. Rejects where there is none. */
  read(path: string): Promise<Uint8Array<ArrayBuffer>>;
}

export type FileReader = (path: string) => Promise<Uint8Array<ArrayBuffer>>;

interface CaseTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data?: string;
  readonly bin?: string;
  readonly offset?: number;
}

export type CaseValue =
  | { readonly tensor: CaseTensor }
  | { readonly tuple: readonly CaseValue[] }
  | { readonly list: readonly CaseValue[] }
  | { readonly dict: readonly (readonly [unknown, CaseValue])[] };

export interface Case {
  readonly file: string;
  readonly calls: readonly { readonly inputs: readonly CaseValue[]; readonly output: CaseValue }[];
  readonly rtol: number;
  readonly atol: number;
}

/** A model that one call says all about: the first of its first case. */
export function caseModel(folder: ModelFolder, name: string): ModelEntry {
  return { name, about: name, open: () => openModel(folder, name) };
}

async function openModel(folder: ModelFolder, name: string): Promise<BenchModel> {
  const read = (path: string): Promise<Uint8Array<ArrayBuffer>> => folder.read(`${name}/${path}`);
  const file = `${name}.pt`;
  const found = (await readCases(read)).find((each) => each.file === file);
  if (!found) throw new Error(`no case of ${file}`);
  const [{ inputs, output }] = found.calls;
  const decode = (value: CaseValue): Promise<BenchTensor[]> => tensorsIn(value, read);
  const given = (await Promise.all(inputs.map(decode))).flat();
  const wanted = await decode(output);
  const { rtol, atol } = found;
  const tensors = wanted.map(({ shape, data }) => ({ shape, step: 1, values: Float64Array.from(data, Number) }));
  return {
    name,
    about: name,
    inputs: Object.fromEntries(given.map((value, at) => [`input${at}`, value])),
    expected: { tensors, rtol, atol },
    load: async (options) => load(await read(file), options),
    onnx: async () => ({ bytes: await read(`${name}.onnx`) }),
    tensorflow: null,
    pytorch: { file: `${name}/${file}` },
  };
}

/** The cases of a model, by what reads the files of its folder. */
export async function readCases(read: FileReader): Promise<Case[]> {
  const lines = new TextDecoder().decode(await read('cases.jsonl')).split('\n');
  return lines.filter(Boolean).map((line) => JSON.parse(line) as Case);
}

/** The tensors of a value, those in its containers among them, in order. */
export async function tensorsIn(value: CaseValue, read: FileReader): Promise<BenchTensor[]> {
  if (!('tensor' in value)) {
    const items = 'tuple' in value ? value.tuple : 'list' in value ? value.list : value.dict.map(([, item]) => item);
    return (await Promise.all(items.map((item) => tensorsIn(item, read)))).flat();
  }
  const { dtype, shape, data, bin, offset = 0 } = value.tensor;
  const bytes = bin === undefined ? Uint8Array.from(atob(data!), (char) => char.charCodeAt(0)) : await read(bin);
  return [tensorOfBytes(dtype, shape, bytes, offset)];
}
