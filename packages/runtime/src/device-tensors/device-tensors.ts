import { CressetError } from '@cresset/ir';
import { List, Tuple, type IValue, type Storage, type Tensor } from '@cresset/tensor';
import { giveUpCopies, UndecidedStorages } from '../memory/undecided-storages.ts';
import type { HostedModel } from '../worker/hosted-model.ts';
import type { OutputPlace, OutputPlaces, WireDeviceTensor } from '../worker/wire/protocol.ts';
import { reachableTensors, type StayingTensors } from '../worker/wire/wire-value.ts';

interface Entry {
  readonly tensor: Tensor;
  /** The request whose answer told the page of it. */
  readonly request: number;
  /** Its sizes as the page knows them. */
  sizes: readonly number[];
}

/**
 * Tensors of the page that lie here: results of calls that were asked to stay where they were made. The page has a number for each, and the
 * tensor lives until the page gives that up, whatever becomes of the model that made it.
 */
export class DeviceTensors {
  readonly #entries = new Map<number, Entry>();
  /** How many of them have their elements in a storage. */
  readonly #holders = new Map<Storage, number>();
  readonly #released = new UndecidedStorages();
  /** Numbers of another worker, or of another copy of the library, are none of these. */
  #next = Math.floor(Math.random() * 2 ** 48);

  /** @param models whose values may hold what the page gives up */
  constructor(private readonly models: ReadonlyMap<number, HostedModel>) {}

  get size(): number {
    return this.#entries.size;
  }

  /** The tensor of a number; undefined where the page gave it up, or where it is a number of others. */
  get(id: number): Tensor | undefined {
    return this.#entries.get(id)?.tensor;
  }

  /** Whether a storage has elements of one of them. */
  holds(storage: Storage): boolean {
    return this.#holders.has(storage);
  }

  /** The sizes of those that have others than the page knows, by their numbers: operators in place may change them. */
  reshaped(): (readonly [id: number, shape: readonly number[]])[] {
    return [...this.#entries].flatMap(([id, entry]) => {
      const { sizes } = entry.tensor;
      if (entry.sizes === sizes) return [];
      entry.sizes = sizes;
      return [[id, [...sizes]] as const];
    });
  }

  /** The page gives up the tensors of these numbers. */
  release(ids: Iterable<number>): void {
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (!entry) continue;
      this.#entries.delete(id);
      const { storage } = entry.tensor;
      const left = this.#holders.get(storage)! - 1;
      if (left > 0) {
        this.#holders.set(storage, left);
        continue;
      }
      this.#holders.delete(storage);
      if (!storage.isDisposed) this.#released.add(storage);
    }
    this.#released.decide(this.#roots(), () => undefined, giveUpCopies);
  }

  /** Nobody listened to the answer of a request. */
  abandon(request: number): void {
    this.release([...this.#entries].filter(([, entry]) => entry.request === request).map(([id]) => id));
  }

  /** Throws `ARGUMENT` where a place is none. */
  check(outputs: OutputPlaces): void {
    const wrong = [outputs].flat().find((place) => place !== 'page' && place !== 'device');
    if (wrong === undefined) return;
    throw new CressetError(
      'ARGUMENT',
      `option 'outputs' has to name places, 'page' or 'device', but has '${String(wrong)}'`,
    );
  }

  /**
   * The tensors of a result that are to stay, to be put into an answer. What the page is to have the elements of does not stay. Throws `ARGUMENT`
   * where `outputs` does not fit the result.
   */
  staying(result: IValue, outputs: OutputPlaces, request: number): StayingTensors {
    const staying = new Set(this.partsAt('device', result, outputs).flatMap(reachableTensors));
    for (const part of this.partsAt('page', result, outputs))
      for (const tensor of reachableTensors(part)) staying.delete(tensor);
    return { has: (tensor) => staying.has(tensor), take: (tensor) => this.#take(tensor, request) };
  }

  /** The parts of a result that belong in a place. Throws `ARGUMENT` where `outputs` does not fit the result. */
  partsAt(place: OutputPlace, result: IValue, outputs: OutputPlaces): IValue[] {
    if (typeof outputs === 'string') return outputs === place ? [result] : [];
    const items = result instanceof Tuple || result instanceof List ? result.items : null;
    if (items?.length === outputs.length) return items.filter((_, index) => outputs[index] === place);
    const found = items ? `one of ${items.length}` : 'neither';
    throw new CressetError(
      'ARGUMENT',
      `option 'outputs' has ${outputs.length} places, for the values of a tuple or a list, but the result is ${found}`,
    );
  }

  /** Takes a result of a request, for the page to have a number of. */
  #take(tensor: Tensor, request: number): WireDeviceTensor {
    const id = this.#next++;
    const { dtype, sizes, storage } = tensor;
    this.#released.delete(storage);
    this.#entries.set(id, { tensor, request, sizes });
    this.#holders.set(storage, (this.#holders.get(storage) ?? 0) + 1);
    return { kind: 'device-tensor', id, dtype, shape: [...sizes] };
  }

  /** What programs hold: their objects, what their code has, and what is kept beside that. */
  *#roots(): Iterable<IValue> {
    for (const { runner, modules, keeps } of this.models.values()) {
      yield* modules.values();
      yield* runner.constants();
      for (const kept of keeps) yield* kept();
    }
  }
}
