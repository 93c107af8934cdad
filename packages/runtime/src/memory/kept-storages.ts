import { Tensor, type IValue, type ScriptObject, type Storage } from '@cresset/tensor';
import { forEachStorage } from './reachable-storages.ts';
import { UndecidedStorages } from './undecided-storages.ts';

/**
 * Storages that runs of a program made and left in its attributes, where later runs may replace them.
 *
 * Most of them went straight into an attribute of a module, a cell's state for one, and into nothing else: a look into the
 * attributes that runs have set tells whether they are still there. Of what went into a list, say, only a walk through all that
 * attributes hold tells.
 */
export class KeptStorages {
  /** Attributes of modules that runs put tensors in. */
  readonly #places = new Map<ScriptObject, Set<number>>();
  #placeCount = 0;
  /** Storages that lie in those, and in nothing else. */
  readonly #placed = new Set<Storage>();
  /** Storages of which only those places tell whether they are held. */
  readonly #waiting = new Set<Storage>();
  /** All others. */
  readonly #spread = new WeakSet<Storage>();
  readonly #undecided = new UndecidedStorages();

  /** A run that ended made `storage` and may have left it in an attribute. @param isSpread whether in something else too */
  add(storage: Storage, isSpread: boolean): void {
    if (isSpread) this.#undecided.add(storage);
    else this.#waiting.add(storage);
  }

  /** A run put a tensor into an attribute of a module. */
  notePlace(object: ScriptObject, slot: number): void {
    let slots = this.#places.get(object);
    if (!slots) this.#places.set(object, (slots = new Set()));
    if (slots.has(slot)) return;
    slots.add(slot);
    this.#placeCount++;
  }

  /** A run put `storage`, which it did not make, into something else. */
  noteSpread(storage: Storage): void {
    if (this.#placed.delete(storage)) this.#spread.add(storage);
  }

  /** Attributes lost `values`: what nothing else holds is to be freed. */
  takeBack(values: readonly IValue[]): void {
    if (values.length === 0) return;
    forEachStorage(values, (storage) => {
      if (this.#placed.delete(storage)) this.#waiting.add(storage);
      else if (this.#spread.has(storage)) this.#undecided.add(storage);
    });
  }

  /** The caller of a run has it now, and it is never freed here. */
  handOut(storage: Storage): void {
    this.#waiting.delete(storage);
    this.#placed.delete(storage);
    this.#undecided.delete(storage);
    this.#spread.delete(storage);
  }

  /** Frees what `attributes` do not hold any more, where it is time to look. */
  sweep(attributes: readonly IValue[]): void {
    if (this.#waiting.size > 0) this.#lookIntoPlaces();
    this.#undecided.decide(
      attributes,
      (storage) => this.#spread.add(storage),
      (storage) => storage.dispose(),
    );
  }

  #lookIntoPlaces(): void {
    const waiting = this.#waiting;
    const found = new Set<Storage>();
    for (const [{ slots }, numbers] of this.#places) {
      for (const slot of numbers) {
        const value = slots[slot];
        if (value instanceof Tensor) found.add(value.storage);
      }
    }
    for (const storage of waiting) {
      if (found.has(storage)) this.#placed.add(storage);
      else storage.dispose();
    }
    waiting.clear();
    // Others than runs may have put something else in the place of what lay there: it is theirs to free.
    if (this.#placed.size <= this.#placeCount) return;
    for (const storage of this.#placed) if (!found.has(storage)) this.#placed.delete(storage);
  }
}
