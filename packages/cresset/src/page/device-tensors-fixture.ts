import { script, tensor, type DeviceTensor, type ScriptModule, type Tensor } from '../index.ts';

const SOURCE = `
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(50, 32)
        self.head = nn.Linear(32, 50)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(2, 3)) * 0.25, -1), v)

    def forward(self, ids: Tensor, cache: List[Tuple[Tensor, Tensor]]):
        x = self.embedding(ids)
        grown: List[Tuple[Tensor, Tensor]] = []
        for keys, values in cache:
            h = torch.tanh(x).view(1, ids.size(0), 2, 16).transpose(1, 2)
            keys, values = torch.cat([keys, h * 0.5], 2), torch.cat([values, h + 1.0], 2)
            x = x + self.attend(h, keys, values).transpose(1, 2).reshape(ids.size(0), 32)
            grown.append((keys, values))
        return self.head(x[-1]), grown
`;

/** The cache of a decoder of two layers: keys and values of each. */
export type Cache<Kind> = readonly (readonly [Kind, Kind])[];

/** A decoder of two layers, which is freed with its program. */
export async function decoderOn(device: 'cpu' | 'webgpu'): Promise<ScriptModule & AsyncDisposable> {
  const unit = await script(SOURCE, { device, worker: false });
  const decoder = await unit.construct('Decoder');
  return Object.assign(decoder, { [Symbol.asyncDispose]: () => unit.dispose() });
}

export const emptyCache = (): Cache<Tensor> => Array.from({ length: 2 }, () => [emptyRows(), emptyRows()] as const);

const emptyRows = (): Tensor => tensor(new Float32Array(0), { shape: [1, 2, 0, 16] });

export const token = (...ids: number[]): Tensor => tensor(BigInt64Array.from(ids, BigInt));

/** Gives up the tensors of a cache. */
export const release = (cache: Cache<DeviceTensor>): void => cache.flat().forEach((each) => each.dispose());
