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

interface CaseTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data?: string;
  readonly bin?: string;
  readonly offset?: number;
}

type CaseValue =
  | { readonly tensor: CaseTensor }
  | { readonly tuple: readonly CaseValue[] }
  | { readonly list: readonly CaseValue[] }
  | { readonly dict: readonly (readonly [unknown, CaseValue])[] };

interface Case {
  readonly file: string;
  readonly calls: readonly { readonly inputs: readonly CaseValue[]; readonly output: CaseValue }[];
  readonly rtol: number;
  readonly atol: number;
}

export function caseModels(folder: ModelFolder): readonly ModelEntry[] {
  return folder.names.map((name) => ({ name, about: name, open: () => openModel(folder, name) }));
}

async function openModel(folder: ModelFolder, name: string): Promise<BenchModel> {
  const lines = new TextDecoder().decode(await folder.read(`${name}/cases.jsonl`)).split('\n');
  const cases = lines.filter(Boolean).map((line): Case => JSON.parse(line));
  const file = `${name}.pt`;
  const found = cases.find((each) => each.file === file);
  if (!found) throw new Error(`no case of ${file}`);
  const [{ inputs, output }] = found.calls;
  const decode = (value: CaseValue): Promise<BenchTensor[]> =>
    tensorsIn(value, (path) => folder.read(`${name}/${path}`));
  const given = (await Promise.all(inputs.map(decode))).flat();
  const wanted = await decode(output);
  const { rtol, atol } = found;
  const tensors = wanted.map(({ shape, data }) => ({ shape, step: 1, values: Float64Array.from(data, Number) }));
  return {
    name,
    about: name,
    inputs: Object.fromEntries(given.map((value, at) => [`input${at}`, value])),
    expected: { tensors, rtol, atol },
    load: async (options) => load(await folder.read(`${name}/${file}`), options),
    onnx: async () => ({ bytes: await folder.read(`${name}/${name}.onnx`) }),
    tensorflow: null,
  };
}

/** The tensors of a value, those in its containers among them, in order. */
async function tensorsIn(
  value: CaseValue,
  read: (path: string) => Promise<Uint8Array<ArrayBuffer>>,
): Promise<BenchTensor[]> {
  if (!('tensor' in value)) {
    const items = 'tuple' in value ? value.tuple : 'list' in value ? value.list : value.dict.map(([, item]) => item);
    return (await Promise.all(items.map((item) => tensorsIn(item, read)))).flat();
  }
  const { dtype, shape, data, bin, offset = 0 } = value.tensor;
  const bytes = bin === undefined ? Uint8Array.from(atob(data!), (char) => char.charCodeAt(0)) : await read(bin);
  return [tensorOfBytes(dtype, shape, bytes, offset)];
}
