import { abortable, throwIfAborted, type TransferProgress, type WeightReader } from '@cresset/archive';
import { largestBuffer, type ComputeDevice } from '@cresset/tensorexpr';
import { KEPT_ON_HOST_BYTES, type Storage, type Tensor } from '@cresset/tensor';
import { READ_AHEAD_BYTES } from '../../script-module.ts';
import { bytesOnDevice } from './weight-sizes.ts';

/** The weights of a model, and where they go. */
interface UnreadWeights {
  readonly weights: WeightReader;
  readonly tensors: readonly Tensor[];
  /** Storages of layers with packed weights, which serve on the host alone. */
  readonly packed: readonly Storage[];
  readonly device: ComputeDevice | null;
}

/**
 * Reads the weights that nothing needed so far, each to where the model runs: to the device, without staying on the host, or to the
 * host. Rejects with a CressetError.
 */
export async function preloadWeights(
  { weights, tensors, packed, device }: UnreadWeights,
  signal: AbortSignal,
  onProgress?: (progress: TransferProgress) => void,
): Promise<void> {
  const tensorOf = new Map(tensors.map((tensor) => [tensor.storage, tensor]));
  const ofPacked = new Set(packed);
  const { unread } = weights;
  const unfollow = onProgress && weights.follow(unread, onProgress);
  try {
    weights.prefetch(unread, [], device ? READ_AHEAD_BYTES : Infinity);
    for (const storage of unread) {
      throwIfAborted(signal);
      if (storage.isDisposed) continue;
      await abortable(storage.toHost(), signal);
      const tensor = tensorOf.get(storage);
      // Small ones serve on the host, and go up with the first kernel that reads them.
      if (!device || !tensor || storage.byteLength <= KEPT_ON_HOST_BYTES || ofPacked.has(storage)) continue;
      const bytes = bytesOnDevice(storage, tensor, device);
      if (bytes > 0 && bytes <= largestBuffer(device.capabilities))
        storage.deviceBuffer(device, storage.layoutOf(tensor.dtype));
    }
  } finally {
    unfollow?.();
  }
}
