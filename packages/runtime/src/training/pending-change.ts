import type { Storage, Tensor } from '@cresset/tensor';
import type { ComputeDevice, TakeBack } from '@cresset/tensorexpr';

/** Tensors that a step is going to change, all of them or none. */
export class PendingChange {
  readonly #before: readonly { readonly tensor: Tensor; readonly writes: Storage['writes'] }[];
  readonly #takeBack: TakeBack | null;

  /** @param tensors as they are before anything of it is enqueued */
  constructor(
    tensors: Iterable<Tensor>,
    private readonly device: ComputeDevice | null,
  ) {
    this.#before = [...tensors].map((tensor) => ({ tensor, writes: tensor.storage.writes }));
    this.#takeBack = device?.revocable?.() ?? null;
  }

  /** Has none of them be changed. False where some were, or will be whatever is done: then all are to be. */
  takeBack(): boolean {
    const written = this.#before.filter(({ tensor, writes }) => tensor.storage.writes !== writes);
    if (written.length === 0) return true;
    const { device } = this;
    if (!device || !this.#takeBack || written.some(({ tensor: { storage } }) => storage.isOnHost)) return false;
    return this.#takeBack(
      written.map(({ tensor: { storage, dtype } }) => storage.deviceBuffer(device, storage.layoutOf(dtype))),
    );
  }
}
