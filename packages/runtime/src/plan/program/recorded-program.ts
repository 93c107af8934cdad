import { List, SymNode, Tuple, type IValue, type ScalarType, type Storage, type SymKind } from '@cresset/tensor';
import type { KeptValues } from '../kept-values.ts';
import { recipeOf, type MadeValue } from '../made-value.ts';
import { laterReads } from '../recording/later-reads.ts';
import type { LiveIn } from '../recording/live-in.ts';
import type { Recording } from '../recording/recording.ts';
import type { SetNote } from '../recording/recording-notes.ts';
import { isSetBy } from '../set-attributes.ts';
import type { AppendStep, LaunchProgram, ProgramStorage, ResultStep, SetStep } from './launch-program.ts';

/**
 * The program of what was recorded up to the instruction `end`.
 *
 * @param kept null where it is to keep nothing
 */
export function programOf(recording: Recording, end: number, kept: KeptValues | null): LaunchProgram {
  return new ProgramBuilder(recording, kept).build(end);
}

class ProgramBuilder {
  readonly #storages = new Map<Storage, ProgramStorage>();
  /** Where a storage of the recording is among them, of those that values lie in. */
  readonly #numbers = new Map<Storage, number>();
  /** Storages of live-ins that values lie in when the stretch is over. */
  readonly #outliving = new Set<Storage>();
  readonly #made: MadeValue[] = [];
  readonly #madeObjects = new Map<object, number>();

  constructor(
    private readonly recording: Recording,
    private readonly kept: KeptValues | null,
  ) {}

  build(end: number): LaunchProgram {
    const { recording } = this;
    const { env, liveIns, liveInStorages, steps, hostSteps, contents, draws, launches } = recording;
    liveIns.forEach((liveIn, at) => {
      const storage = liveInStorages[at];
      if (!storage) return;
      if (!this.#numbers.has(storage)) this.#add(storage, 'given', liveIn.dtype!);
      liveIn.storage = this.#numbers.get(storage)!;
    });
    const results: ResultStep[] = [];
    const needed = laterReads(recording.frame.code, end);
    for (const [register, value] of recording.registers) {
      // What can lie in memory is given up where the instructions give it up: that is what its storage is freed by.
      const isOver = value === undefined || (typeof value !== 'object' && !needed.has(register));
      results.push({ op: 'result', register, made: isOver ? -1 : this.#resultOfRegister(register, value) });
    }
    const appends = recording.appends.map(({ list, value, source }): AppendStep => ({
      op: 'append',
      list,
      made: source < 0 ? this.#valueOf(value) : this.#make(this.#liveIn(source)),
    }));
    const sets = lastOfEach(recording.attributes.sets).map(({ object, slot, value, source, size }): SetStep => ({
      op: 'set',
      object,
      slot,
      made: this.#resultOf(value, source, size),
    }));
    this.#noteComputed(liveIns);
    for (const { storages } of launches) for (const storage of storages) this.#noteUsed(storage);
    const made = this.#made.map((value) => ({ op: 'make' as const, value }));
    const all = [liveIns, steps, hostSteps, contents, draws, launches, made, appends, sets, results];
    return { steps: all.flat(), storages: this.#storages, env };
  }

  #add(storage: Storage, kind: ProgramStorage['kind'], dtype: ScalarType): number {
    const note = this.recording.storages.get(storage);
    const copy = kind === 'copied' ? storage.copyOnHost() : null;
    // Launches that use what the host computed are given it as it was then.
    const key = copy && note?.kind === 'computed' ? copy : storage;
    const at = this.#storages.size;
    this.#numbers.set(storage, at);
    this.#storages.set(key, {
      kind,
      dtype: note?.dtype ?? dtype,
      layout: note?.layout ?? dtype,
      isParameter: this.#isParameter(storage, kind),
      copy,
    });
    return at;
  }

  /** A storage that launches use, and no value that was found or is left lies in. */
  #noteUsed(storage: Storage): void {
    const { kind, dtype, layout, copy } = this.recording.storages.get(storage)!;
    if (this.#storages.has(storage)) return;
    if (kind === 'made') this.#storages.set(storage, { kind: 'scratch', dtype, layout });
    else {
      const own = this.#kindOfFixed(storage);
      this.#storages.set(storage, { kind: own, dtype, layout, copy, isParameter: !copy && own === 'fixed' });
    }
  }

  #kindOfFixed(storage: Storage): 'fixed' | 'faults' {
    return this.recording.isOfFaults(storage) ? 'faults' : 'fixed';
  }

  /** What the host computes in each replay. */
  #noteComputed(liveIns: readonly LiveIn[]): void {
    const keys = [...this.#storages.keys()];
    // A kernel may give back what it was given.
    const given = new Set(liveIns.flatMap(({ origin, storage }) => (origin.kind === 'host' ? [] : storage)));
    for (const { origin, storage: at } of liveIns) {
      if (origin.kind !== 'host' || given.has(at)) continue;
      const kind = this.#outliving.has(keys[at]) ? 'computed' : 'passing';
      this.#storages.set(keys[at], { ...this.#storages.get(keys[at])!, kind });
    }
  }

  /** Whether what a storage holds is likely to be the same each time. */
  #isParameter(storage: Storage, kind: ProgramStorage['kind']): boolean {
    const { recording, kept } = this;
    if (kind !== 'given') return kind === 'fixed';
    const attribute = recording.attributeOf(storage);
    if (!attribute || !kept) return false;
    return !isSetBy(recording.frame.code, attribute) && !kept.isVarying(attribute.object, attribute.slot);
  }

  // ---- values

  #make(value: MadeValue): number {
    return this.#made.push(value) - 1;
  }

  #resultOfRegister(register: number, value: IValue): number {
    return this.#resultOf(value, this.recording.sourceOf(register), this.recording.sizeOf(register));
  }

  #resultOf(value: IValue, source: number, size: SymNode<SymKind> | null): number {
    if (size) return this.#sizeOf(size);
    return source < 0 ? this.#valueOf(value) : this.#make(this.#liveIn(source));
  }

  #sizeOf(value: SymNode<SymKind>): number {
    return this.#make({ kind: 'size', value });
  }

  #valueOf(value: IValue): number {
    if (typeof value !== 'object' || value === null) return this.#make({ kind: 'same', value });
    let at = this.#madeObjects.get(value);
    if (at === undefined) {
      at = this.#make(this.#recipeOf(value));
      this.#madeObjects.set(value, at);
    }
    return at;
  }

  #liveIn(at: number): MadeValue {
    const storage = this.recording.liveInStorages[at];
    if (storage) this.#outliving.add(storage);
    return { kind: 'live-in', at };
  }

  #recipeOf(value: IValue & object): MadeValue {
    const liveIn = this.recording.liveInOf(value);
    if (liveIn >= 0) return this.#liveIn(liveIn);
    if (this.recording.isConstant(value)) return { kind: 'same', value };
    const sizes = value instanceof List || value instanceof Tuple ? this.recording.sizesInList(value) : null;
    return recipeOf(
      value,
      (item, at) => {
        const size = sizes?.[at];
        return size instanceof SymNode ? this.#sizeOf(size) : this.#valueOf(item);
      },
      (storage, dtype) => this.#outlive(storage, dtype),
    );
  }

  /** A storage that is there when the stretch is over. */
  #outlive(storage: Storage, dtype: ScalarType): number {
    this.#outliving.add(storage);
    const known = this.#numbers.get(storage);
    if (known !== undefined) return known;
    const isOld = storage.serial <= this.recording.firstSerial;
    return this.#add(storage, isOld ? this.#kindOfFixed(storage) : storage.isOnHost ? 'copied' : 'new', dtype);
  }
}

/** What attributes hold in the end. */
const lastOfEach = (sets: readonly SetNote[]): SetNote[] =>
  sets.filter(
    ({ object, slot }, at) => !sets.slice(at + 1).some((later) => later.object === object && later.slot === slot),
  );
