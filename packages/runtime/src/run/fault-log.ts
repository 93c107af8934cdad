import { OperatorError, type ErrorKind } from '@cresset/operators';
import { Tensor } from '@cresset/tensor';
import { binary, cast, constant, param, select, type Expr, type Store } from '@cresset/tensorexpr';
import { stackOf, type CallInProgress } from '../interpreter/program-place.ts';
import { TorchScriptError } from '../interpreter/script-error.ts';

const slots = 64;

interface Complaint {
  readonly text: string;
  readonly kind: ErrorKind;
  readonly calls: readonly CallInProgress[];
}

/** More complaints than this are not kept: sizes are in some of them. */
const maxNotes = 16;

/**
 * Where kernels note what they cannot raise: a position that is out of range. The notes travel with the results that are
 * fetched anyway, so that finding errors costs no wait; a run that fetches nothing leaves them to the next one. As long as nothing goes
 * wrong, the same notes serve all runs: recorded launches have their places in them.
 */
export class FaultLog {
  readonly #notes: { readonly tensor: Tensor; readonly complaints: Complaint[] }[] = [];
  #isPending = false;

  /** Launches are made again that note faults. */
  expect(): void {
    this.#isPending = true;
  }

  /**
   * A store that notes `position`, and where `isBad` holds makes the run fail with `text`, `%` being the position.
   *
   * @param calls where the program is
   */
  store(
    isBad: Expr,
    position: Expr,
    text: string,
    kind: ErrorKind = 'IndexError',
    calls: readonly CallInProgress[] = [],
  ): Store {
    this.#isPending = true;
    const isSame = (known: Complaint): boolean => known.text === text && areSameCalls(known.calls, calls);
    let notes = this.#notes.find(({ complaints }) => complaints.some(isSame));
    notes ??= this.#notes.find(({ complaints }) => complaints.length < slots);
    if (!notes) {
      notes = { tensor: Tensor.empty([slots], 'int32'), complaints: [] };
      this.#notes.push(notes);
    }
    let slot = notes.complaints.findIndex(isSame);
    if (slot < 0) slot = notes.complaints.push({ text, kind, calls }) - 1;
    const narrow = cast('i32', position);
    // 0 says that all is well.
    const value = select(binary('lt', narrow, constant('i32', 0)), narrow, binary('add', narrow, constant('i32', 1)));
    const { tensor } = notes;
    return { operand: { tensor, dtype: 'int32' }, offset: param('i32', slot), value, guard: isBad };
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
        const slot = values.findIndex((value) => value !== 0);
        if (slot < 0) continue;
        const { text, kind, calls } = complaints[slot];
        const value = values[slot];
        const error = new OperatorError(text.replace('%', String(value < 0 ? value : value - 1)), kind);
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
