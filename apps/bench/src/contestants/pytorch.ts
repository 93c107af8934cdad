import type { BenchModel } from '../models/bench-model.ts';
import { tensorOfBytes, type BenchTensor } from '../values.ts';
import type { Contestant, Turn } from './contestant.ts';

interface TensorReply {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The bytes in base64. */
  readonly data: string;
}

/**
 * PyTorch itself with one thread, in a process of Python's beside the bench, which tells what its calls took: with programs of the bench's own in eager mode, with files
 * as its TorchScript interpreter runs them. A call goes from a tensor to a tensor.
 */
export function pytorch(): Contestant {
  let address = '';
  const ask = async <Reply>(request: object): Promise<Reply> => {
    const response = await fetch(new URL('pytorch', address), { method: 'POST', body: JSON.stringify(request) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Reply;
  };
  return {
    id: 'pytorch-native',
    library: 'PyTorch',
    device: 'native',
    async start(_threads, from) {
      address = from;
      return ask<string>({});
    },
    async open(model) {
      await ask({ open: requestOf(model) });
      return {
        run: async () => {
          const answer = await ask<readonly TensorReply[]>({ run: 1 });
          return { tensors: () => tensorsOf(answer) };
        },
        turn: (milliseconds) => ask<Turn>({ turn: milliseconds }),
        dispose: () => undefined,
      };
    },
    async openWorkload({ workload }) {
      const { model, learningRate, checked } = workload;
      await ask({ open: { workload: { model, learningRate } } });
      return {
        async begin(kind, at) {
          await ask({ begin: workload[kind][at] });
          return async () => {
            const turn = await ask<Turn>({ go: 1 });
            return { ...turn, tensors: async () => tensorsOf(await ask({ answer: checked })) };
          };
        },
        dispose: () => undefined,
      };
    },
  };
}

const tensorsOf = (answer: readonly TensorReply[]): BenchTensor[] =>
  answer.map(({ dtype, shape, data }) => tensorOfBytes(dtype, shape, bytesOf(data)));

const bytesOf = (text: string): Uint8Array => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

function textOf({ data }: BenchTensor): string {
  let text = '';
  for (const byte of new Uint8Array(data.buffer, data.byteOffset, data.byteLength)) text += String.fromCharCode(byte);
  return btoa(text);
}

function requestOf({ pytorch: twin, inputs, calls }: BenchModel): object {
  if ('program' in twin) return twin;
  const given = calls ?? [{ method: 'forward', inputs: Object.values(inputs) }];
  return {
    ...twin,
    calls: given.map(({ method, inputs: values }) => ({
      method,
      inputs: values.map((value) =>
        typeof value === 'number' ? value : { dtype: value.dtype, shape: value.shape, data: textOf(value) },
      ),
    })),
  };
}
