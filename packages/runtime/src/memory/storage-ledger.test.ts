import { ClassType, ListType, TensorType } from '@cresset/ir';
import { List, ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';
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

  describe('of what attributes hold', () => {
    const type = new ClassType('__torch__.M', { isModule: true });
    type.addAttribute('state', TensorType.get());
    type.addAttribute('other', TensorType.get());
    type.addAttribute('all', new ListType(TensorType.get()));

    /** An object, and what runs do with it that begin and end. */
    const program = (of = type) => {
      const kept = new KeptStorages();
      const object = new ScriptObject(of, [null, null, null]);
      const run = (body: (ledger: StorageLedger, set: (slot: number, value: IValue) => void) => readonly IValue[]) => {
        const ledger = new StorageLedger(kept);
        const results = body(ledger, (slot, value) => {
          ledger.setAttribute(object, slot, value);
          object.slots[slot] = value;
        });
        ledger.sweep(results, [object]);
      };
      return { object, run };
    };

    /** Leaves a new tensor in an attribute. */
    const leave = ({ run }: ReturnType<typeof program>): Tensor => {
      let tensor: Tensor;
      run((ledger, set) => {
        set(0, (tensor = made(ledger)));
        return [];
      });
      return tensor!;
    };

    const lose = ({ run }: ReturnType<typeof program>): void =>
      run((_ledger, set) => {
        set(0, null);
        return [];
      });

    it('frees state that a later run replaces, unless the caller has it', () => {
      const stateful = program();
      const state = leave(stateful);
      expect(state.storage.isDisposed).toBe(false);
      let handedOut: Tensor;
      stateful.run((ledger, set) => {
        set(0, (handedOut = made(ledger)));
        return [handedOut];
      });
      expect(state.storage.isDisposed).toBe(true);
      lose(stateful);
      expect(handedOut!.storage.isDisposed).toBe(false);
    });

    it('spares what the derivatives of a later run need, which replaces it', () => {
      const stateful = program();
      const state = leave(stateful);
      stateful.run((ledger, set) => {
        ledger.handOut(state.storage);
        set(0, made(ledger));
        return [];
      });
      lose(stateful);
      expect(state.storage.isDisposed).toBe(false);
    });

    it('spares what another attribute holds, until that one loses it too', () => {
      const stateful = program();
      const state = leave(stateful);
      stateful.run((_ledger, set) => {
        set(1, state.asStrided([1], [1], 1));
        set(0, null);
        return [];
      });
      expect(state.storage.isDisposed).toBe(false);
      stateful.run((_ledger, set) => {
        set(1, null);
        return [];
      });
      expect(state.storage.isDisposed).toBe(true);
    });

    it('spares what a later run put into a list that an attribute holds', () => {
      const stateful = program();
      const state = leave(stateful);
      const list = new List(TensorType.get(), []);
      stateful.run((ledger, set) => {
        set(2, list);
        list.items.push(state);
        ledger.pin(state);
        return [];
      });
      lose(stateful);
      expect(state.storage.isDisposed).toBe(false);
      stateful.run((_ledger, set) => {
        set(2, null);
        return [];
      });
      expect(state.storage.isDisposed).toBe(true);
    });

    it('frees what an object held that is no module, and that nothing holds', () => {
      const holder = new ClassType('__torch__.Holder');
      holder.addAttribute('value', TensorType.get());
      const stateful = program();
      const object = new ScriptObject(holder, [null]);
      let value: Tensor;
      stateful.run((ledger) => {
        ledger.setAttribute(object, 0, (value = made(ledger)));
        object.slots[0] = value;
        return [];
      });
      expect(value!.storage.isDisposed).toBe(true);
    });

    it('looks into attributes that runs set, and walks through no others', () => {
      const stateful = program();
      // The getter stands for whatever a module holds beside its state.
      let looks = 0;
      Object.defineProperty(stateful.object.slots, 1, {
        get: () => {
          looks++;
          return null;
        },
      });
      for (let time = 0; time < 3; time++) leave(stateful);
      expect(looks).toBe(0);
    });
  });
});
