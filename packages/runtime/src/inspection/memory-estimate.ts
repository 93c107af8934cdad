import { openSource, readModule, type TransferOptions } from '@cresset/archive';
import type { Storage } from '@cresset/tensor';
import { largestBuffer, type ComputeDevice } from '@cresset/tensorexpr';
import { collectModules } from '../worker/hosted-model.ts';
import type { EstimateRequest, MemoryEstimate } from '../worker/wire/protocol.ts';
import { narrowableStorages } from '../worker/weights/narrow-weights.ts';
import { attributeNames, bytesOnDevice, noneNarrow } from '../worker/weights/weight-sizes.ts';
import { reachableTensors } from '../worker/wire/wire-value.ts';

/** What a model will take, from what stands in its file beside the weights; those of a large file are not read. */
export async function estimateMemory(
  { input, weights: precision }: Pick<EstimateRequest, 'input' | 'weights'>,
  device: ComputeDevice | null,
  options: TransferOptions,
): Promise<MemoryEstimate> {
  const source = await openSource(input, options);
  const { module, weights, constants } = await readModule(source, options);
  weights?.close();
  const modules = collectModules(module);
  const names = attributeNames(modules);
  const narrow = precision === 'float16' && device ? narrowableStorages(modules.values(), constants) : noneNarrow;
  const counted = new Map<Storage, number>();
  let largest: MemoryEstimate['largestTensor'] = null;
  for (const tensor of reachableTensors(module)) {
    const { storage, dtype } = tensor;
    const bytes = bytesOnDevice(storage, tensor, device, narrow);
    counted.set(storage, Math.max(counted.get(storage) ?? 0, bytes));
    if (bytes > (largest?.bytes ?? 0))
      largest = { name: names.get(tensor) ?? '', dtype, shape: [...tensor.sizes], bytes };
  }
  const sum = (of: (entry: [Storage, number]) => number): number =>
    [...counted].reduce((total, entry) => total + of(entry), 0);
  return {
    fileBytes: source.size,
    weightBytes: sum(([{ byteLength }]) => byteLength),
    deviceBytes: sum(([, bytes]) => bytes),
    largestTensor: largest,
    maxTensorBytes: device ? largestBuffer(device.capabilities) : null,
  };
}
