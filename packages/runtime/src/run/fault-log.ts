import { OperatorError, type Complaint, type ErrorKind } from '@cresset/operators';
import { hint, Tensor, type SymInt } from '@cresset/tensor';
import { binary, cast, constant, param, select, type Expr, type Store } from '@cresset/tensorexpr';
import { stackOf, type CallInProgress } from '../interpreter/program-place.ts';
import { TorchScriptError } from '../interpreter/script-error.ts';

/** Places of notes; the first is the flag. */
const slots = 64;

interface Told {
  readonly text: string;
  readonly size: SymInt;
  readonly kind: ErrorKind;
  readonly calls: readonly CallInProgress[];
}

/** Where complaints are noted, each in a slot of its own behind the flag. */
interface Notes {
  readonly tensor: Tensor;
  readonly complaints: Told[];
}

const emptyNotes = (): Notes => ({ tensor: Tensor.empty([slots], 'int32'), complaints: [] });

/** More complaints than this are not kept: sizes are in some of them. */
const maxNotes = 16;

/**
 * Where kernels note what they cannot raise: a position that is out of range. The notes travel with the results that are
 * fetched anyway, so that finding errors costs no wait; a run that fetches nothing leaves them to the next one. As long as nothing goes
 * wrong, the same notes serve all runs: recorded launches have their places in them.
 */
export class FaultLog {
  readonly #notes: Notes[] = [];
  #isPending = false;
  /**
   * Under which conditions kernels note faults from now on, where anybody wants to know. They raise the flag too then: what comes behind them can go by
   * that one number.
   */
  conditions: Expr[] | null = null;

  /** Whether kernels may have noted faults that nobody has looked at. */
  get isPending(): boolean {
    return this.#isPending;
  }

  /** `[1]`, int32: 0 until a kernel notes a fault that raises the flag. */
  get flag(): Tensor {
    return this.#first.tensor.asStrided([1], [1]);
  }

  get #first(): Notes {
    return (this.#notes[0] ??= emptyNotes());
  }

  /** Launches are made again that note faults. */
  expect(): void {
    this.#isPending = true;
  }

  /**
   * Stores that note `position`, and where `isBad` holds make the run fail with `complaint`, in which `%` is the position.
   *
   * @param calls where the program is
   */
  stores(
    isBad: Expr,
    position: Expr,
    complaint: Complaint | string,
    kind: ErrorKind = 'IndexError',
    calls: readonly CallInProgress[] = [],
  ): Store[] {
    this.#isPending = true;
    this.conditions?.push(isBad);
    const { text, size } = typeof complaint === 'string' ? { text: complaint, size: 0 } : complaint;
    const isSame = (known: Told): boolean =>
      known.text === text && known.size === size && areSameCalls(known.calls, calls);
    let notes = this.#notes.find(({ complaints }) => complaints.some(isSame));
    notes ??= this.#notes.find(({ complaints }) => complaints.length < slots - 1);
    if (!notes) {
      notes = emptyNotes();
      this.#notes.push(notes);
    }
    let slot = 1 + notes.complaints.findIndex(isSame);
    if (slot === 0) slot = notes.complaints.push({ text, size, kind, calls });
    const narrow = cast('i32', position);
    const one = constant('i32', 1);
    // 0 says that all is well.
    const value = select(binary('lt', narrow, constant('i32', 0)), narrow, binary('add', narrow, one));
    const storeAt = ({ tensor }: Notes, offset: number, stored: Expr): Store => {
      return { operand: { tensor, dtype: 'int32' }, offset: param('i32', offset), value: stored, guard: isBad };
    };
    const note = storeAt(notes, slot, value);
    return this.conditions ? [note, storeAt(this.#first, 0, one)] : [note];
  }

  /** Fetches the notes of the work enqueued so far, and throws what they say, with the place where it went wrong. */
  async check(): Promise<void> {
    if (!this.#isPending) return;
    this.#isPending = false;
    const notes = this.#notes;
    try {
      await Promise.all(notes.map(({ tensor }) => tensor.storage.toHost()));
      for (const { tensor, complaints } of notes) {
        const values = tensor.storageArray() as Int32Array;
        const slot = values.findIndex((value, at) => at > 0 && value !== 0);
        if (slot < 0) continue;
        const { text, size, kind, calls } = complaints[slot - 1];
        const value = values[slot];
        const told = text.replace('%', String(value < 0 ? value : value - 1)).replace('#', `${hint(size)}`);
        const error = new OperatorError(told, kind);
        throw calls.length > 0 ? new TorchScriptError(error, stackOf(calls)) : error;
      }
      if (notes.length > maxNotes) this.dispose();
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  /** Begins anew: what was noted is forgotten. */
  dispose(): void {
    this.#isPending = false;
    for (const { tensor } of this.#notes.splice(0)) tensor.dispose();
  }
}

function areSameCalls(a: readonly CallInProgress[], b: readonly CallInProgress[]): boolean {
  return a.length === b.length && a.every(({ node }, depth) => node === b[depth].node);
}
