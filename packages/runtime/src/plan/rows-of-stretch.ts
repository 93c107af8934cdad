import { elementSize, hint, MOST_SYMBOL, type ShapeEnv, type Storage } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { GrowingRows, pitchFor } from './growing-rows.ts';
import type { FoundRows, LaunchProgram } from './program/launch-program.ts';

interface Found {
  /** Its place among the storages of live-ins. */
  readonly at: number;
  readonly found: FoundRows;
  /** Which symbol the distance of its rows is. */
  readonly symbol: number;
  /** Those that it lies in and may stay in; null where it has to be moved to others. */
  now: GrowingRows | null;
}

/** What a stretch finds in rows, or has lie in rows before it begins. */
export class RowsOfStretch {
  readonly #all: Found[] = [];

  constructor(
    { storages, env }: LaunchProgram,
    private readonly device: ComputeDevice,
  ) {
    [...storages.values()].forEach(({ rows: found }, at) => {
      if (found) this.#all.push({ at, found, symbol: env!.symbols.indexOf(found.pitch), now: null });
    });
    // What is read alone stays where it is.
    this.#all.sort((a, b) => Number(a.found.by !== null) - Number(b.found.by !== null));
  }

  /** Whether these storages lie in rows, or may be moved to some; has the symbols stand for how far apart rows are then. */
  match(storages: readonly Storage[], env: ShapeEnv): boolean {
    for (const each of this.#all) each.now = null;
    for (const each of this.#all) {
      const { at, found, symbol } = each;
      const storage = storages[at];
      const [rows, row] = [hint(found.rows), hint(found.row)];
      if (storage.byteLength !== rows * row * elementSize(found.dtype)) return false;
      const known = GrowingRows.under(storage, rows);
      // What has to be brought to the device first is no dearer to join.
      if (!known && (found.by === null || storage.isOnHost || !storage.isOnDevice)) return false;
      const more = found.by === null ? 0 : hint(found.by);
      each.now = found.by === null || (known?.hasRoom(row, more) && !this.#hasOther(each, known)) ? known : null;
      const pitch = each.now?.pitch ?? pitchFor(row + more);
      if (pitch > MOST_SYMBOL) return false;
      env.set(symbol, pitch);
    }
    return true;
  }

  /** Whether these rows are those of another one too: what is stored behind them would be stored to what that reads. */
  #hasOther(own: Found, rows: GrowingRows): boolean {
    return this.#all.some((each) => each !== own && each.now === rows);
  }

  /**
   * Does something with the memory of the rows in the place of what lies in them, which is moved there where it has to be: launches use the one, and values that
   * are left lie in the other.
   */
  inTheirPlace<Result>(storages: Storage[], act: () => Result): Result {
    const before = this.#all.map(({ at }) => storages[at]);
    for (const { at, found, now } of this.#all) {
      const { rows, dtype, pitch } = found;
      const memory = now ?? GrowingRows.house(storages[at], this.device, dtype, hint(rows), hint(pitch));
      storages[at] = memory.storage;
    }
    const result = act();
    this.#all.forEach(({ at }, each) => (storages[at] = before[each]));
    return result;
  }
}
