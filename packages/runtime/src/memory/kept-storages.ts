import type { IValue, Storage } from '@cresset/tensor';
import { forEachStorage } from './reachable-storages.ts';
import { UndecidedStorages } from './undecided-storages.ts';

/** Storages that runs of a program made and left in its attributes, where later runs may replace them. */
export class KeptStorages {
  readonly #kept = new WeakSet<Storage>();
  readonly #undecided = new UndecidedStorages();

  /** A run that ended made `storage` and may have left it in an attribute. */
  add(storage: Storage): void {
    this.#undecided.add(storage);
  }

  /** Attributes lost `values`: what nothing else holds is to be freed. */
  takeBack(values: readonly IValue[]): void {
    forEachStorage(values, (storage) => {
      if (this.#kept.has(storage)) this.#undecided.add(storage);
    });
  }

  /** The caller of a run has it now, and it is never freed here. */
  handOut(storage: Storage): void {
    this.#undecided.delete(storage);
    this.#kept.delete(storage);
  }

  /** Frees what `attributes` do not hold any more, where it is time to look. */
  sweep(attributes: readonly IValue[]): void {
    this.#undecided.decide(
      attributes,
      (storage) => this.#kept.add(storage),
      (storage) => storage.dispose(),
    );
  }
}
