import type { IValue, Storage, Tensor } from '@cresset/tensor';
import { forEachStorage } from '../../memory/reachable-storages.ts';
import type { LedgerEntry, StorageLedger } from '../../memory/storage-ledger.ts';

/** How many values that steps of tapes keep lie in a storage. */
const holders = new WeakMap<Storage, number>();
/** Storages that nobody has but tapes, the run that made them being over. */
const ownedByTapes = new WeakSet<Storage>();

/** A step keeps `tensor` from here on, beyond the registers of the run. */
export function hold(tensor: Tensor, ledger: StorageLedger): void {
  const { storage } = tensor;
  holders.set(storage, (holders.get(storage) ?? 0) + 1);
  ledger.retain(tensor, false);
}

/** A step gives `tensor` up: what nobody else has is freed. @param ledger that of the run which is under way */
export function letGo(tensor: Tensor, ledger: StorageLedger): void {
  const { storage } = tensor;
  const left = holders.get(storage)! - 1;
  holders.set(storage, left);
  if (ledger.entries.has(storage)) ledger.release(tensor, false);
  else if (left === 0 && ownedByTapes.delete(storage)) storage.dispose();
}

/** A tensor that a step keeps, and what the ledger knew of its storage. */
export interface HeldTensor {
  readonly tensor: Tensor;
  readonly entry: LedgerEntry;
}

/**
 * Takes charge of what steps keep of a run that has ended: what neither its results hold, nor anything that can be changed, is freed with the
 * last of the steps that keep it.
 */
export function takeCharge(held: readonly HeldTensor[], results: readonly IValue[]): void {
  for (const { tensor, entry } of held) if (!entry.pinned) ownedByTapes.add(tensor.storage);
  forEachStorage(results, (storage) => ownedByTapes.delete(storage));
  for (const { storage } of held.map(({ tensor }) => tensor)) {
    if (holders.get(storage) === 0 && ownedByTapes.delete(storage)) storage.dispose();
  }
}

/** As {@link takeCharge}, of steps that nobody goes back to. */
export function giveUp(held: readonly HeldTensor[], results: readonly IValue[]): void {
  takeCharge(held, results);
  for (const { tensor } of held) if (ownedByTapes.delete(tensor.storage)) tensor.storage.dispose();
}
