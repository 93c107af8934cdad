import { ListType, TensorType } from '@cresset/ir';
import { List, Tensor, Tuple } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { KeptStorages } from './kept-storages.ts';
import { StorageLedger } from './storage-ledger.ts';

const made = (ledger: StorageLedger): Tensor => {
  const tensor = Tensor.empty([2], 'float32');
  ledger.own(tensor.storage);
  return tensor;
};

describe('StorageLedger', () => {
  it('frees a storage when the last register that holds a view of it gives it up', () => {
    const ledger = new StorageLedger();
    const tensor = made(ledger);
    const view = tensor.asStrided([1], [1], 1);
    ledger.retain(tensor, false);
    ledger.retain(new Tuple([view]), false);
    ledger.release(tensor, false);
    expect(tensor.storage.isDisposed).toBe(false);
    ledger.release(new Tuple([view]), false);
    expect(tensor.storage.isDisposed).toBe(true);
  });

  it('never frees what the run did not make', () => {
    const ledger = new StorageLedger();
    const weight = Tensor.empty([2], 'float32');
    ledger.retain(weight, false);
    ledger.release(weight, false);
    ledger.sweep([], []);
    expect(weight.storage.isDisposed).toBe(false);
  });

  it('leaves pinned storages to the sweep, which spares what can be reached', () => {
    const ledger = new StorageLedger();
    const [lost, inResult] = [made(ledger), made(ledger)];
    const list = new List(TensorType.get(), [lost, inResult]);
    ledger.pinItems(list);
    for (const tensor of [lost, inResult]) {
      ledger.retain(tensor, false);
      ledger.release(tensor, false);
      expect(tensor.storage.isDisposed).toBe(false);
    }
    ledger.sweep([new List(new ListType(TensorType.get()), [new List(TensorType.get(), [inResult])])], []);
    expect(lost.storage.isDisposed).toBe(true);
    expect(inResult.storage.isDisposed).toBe(false);
    expect(ledger.entries.size).toBe(0);
  });

  it('counts through a list that never changes', () => {
    const ledger = new StorageLedger();
    const tensor = made(ledger);
    const list = new List(TensorType.get(), [tensor]);
    ledger.retain(list, true);
    ledger.release(list, true);
    expect(tensor.storage.isDisposed).toBe(true);
  });

  it('frees state that a later run replaces, unless the caller has it', () => {
    const kept = new KeptStorages();
    const first = new StorageLedger(kept);
    const [state, handedOut] = [made(first), made(first)];
    first.sweep([handedOut], [state, handedOut]);
    const second = new StorageLedger(kept);
    second.takeBack(state);
    second.takeBack(handedOut);
    second.sweep([], []);
    expect(state.storage.isDisposed).toBe(true);
    expect(handedOut.storage.isDisposed).toBe(false);
  });
});
