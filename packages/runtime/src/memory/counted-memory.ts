import { CressetError } from '@cresset/ir';
import type { IValue, Storage } from '@cresset/tensor';
import type { RunningProgram } from '../interpreter/program-place.ts';
import type { Execution } from '../run/execution.ts';
import type { MemoryBudget } from '../run/memory-budget.ts';
import type { LedgerEntry } from './storage-ledger.ts';
import { forEachStorage } from './reachable-storages.ts';

/**
 * Holds a program to a limit by counting what it holds: everything reachable from its attributes, its constants, the arguments and the
 * registers of its run, and what the operator in progress made. On the host nobody tells when a tensor is given up, so memory that is
 * made is added up, and counted anew when the sum would pass the limit: a program that holds little is counted once for each limit's worth
 * of tensors it makes.
 */
export class CountedMemory implements MemoryBudget {
  readonly programs = new Set<RunningProgram>();
  #execution: Execution | null = null;
  #held: () => readonly IValue[] = () => [];
  /** Bytes that the program held when it was counted, and those made since. */
  #counted = 0;
  #made = 0;
  /** The instruction in progress, and what it made so far. */
  #program: RunningProgram | null = null;
  #instruction = -1;
  readonly #ofInstruction: Storage[] = [];
  /** Bytes that it works in. */
  #scratch = 0;

  constructor(readonly limit: number) {}

  begin(execution: Execution, held: () => readonly IValue[]): void {
    this.#execution = execution;
    this.#held = held;
    this.#made = Infinity;
  }

  end(): void {
    this.#execution = this.#program = null;
    this.#held = () => [];
    this.#ofInstruction.length = this.#scratch = 0;
    this.programs.clear();
  }

  take(byteLength: number): void {
    // A forked call that nobody waited for may outlive the run.
    if (!this.#execution) return;
    this.#noteInstruction();
    if (this.#counted + this.#made + byteLength > this.limit) this.#count(byteLength);
    this.#made += byteLength;
  }

  takeScratch(byteLength: number): void {
    this.take(byteLength);
    this.#scratch += byteLength;
  }

  giveUpScratch(byteLength: number): void {
    // Nothing is counted twice where another instruction came in between, and forgot what this one works in.
    const counted = Math.min(byteLength, this.#scratch);
    this.#scratch -= counted;
    this.#made -= counted;
  }

  made(storage: Storage): void {
    this.#ofInstruction.push(storage);
  }

  #noteInstruction(): void {
    // Work in pieces goes on while no program runs.
    const { running } = this.#execution!;
    if (!running || (running === this.#program && running.instructions === this.#instruction)) return;
    this.#program = running;
    this.#instruction = running.instructions;
    this.#ofInstruction.length = this.#scratch = 0;
  }

  /** @param asked bytes that are to be made */
  #count(asked: number): void {
    const live = new Set(this.#ofInstruction);
    const values = [...this.#held()];
    for (const program of this.programs) values.push(...program.values());
    forEachStorage(values, (storage) => live.add(storage));
    // On a device there is also what lay in containers that were given up: that is freed now.
    const made = this.#execution!.ledger?.entries ?? new Map<Storage, LedgerEntry>();
    for (const [storage, { holders, pinned }] of made) {
      if (!pinned || holders > 0 || live.has(storage)) live.add(storage);
      else {
        made.delete(storage);
        storage.dispose();
      }
    }
    this.#counted = bytesOf(live) + this.#scratch;
    this.#made = 0;
    if (this.#counted + asked <= this.limit) return;
    throw new CressetError(
      'MEMORY_LIMIT',
      `the program is at its memory limit: tried to allocate ${asked} bytes beside ${this.#counted} bytes that it holds, and the limit is ${this.limit} bytes`,
    );
  }
}

export function bytesOf(storages: Iterable<Storage>): number {
  let bytes = 0;
  for (const { heldBytes } of storages) bytes += heldBytes;
  return bytes;
}
