import type { IValue } from '@cresset/tensor';
import type { Code } from './code/code.ts';
import { plainInt } from './direct-operators.ts';
import type { StorageLedger } from '../memory/storage-ledger.ts';

/** What a register holds: undefined where it holds nothing. */
type Register = IValue | undefined;

/** Registers of calls that have ended, for the next one: there are hundreds, and a short run has one call. */
const spares = new WeakMap<Code, Register[]>();

/** A call in progress: its registers and where it is. */
export class Frame {
  #registers: Register[];
  /** The instruction to run next. */
  programCounter = 0;

  /** @param resultRegisters registers of the calling frame that the results go to. */
  constructor(
    readonly code: Code,
    readonly ledger: StorageLedger | null,
    readonly resultRegisters: readonly number[],
  ) {
    const spare = ledger && spares.get(code);
    this.#registers = spare ?? new Array<Register>(code.registerCount).fill(undefined);
    if (spare) spares.delete(code);
  }

  /** What all registers hold. */
  get values(): readonly Register[] {
    return this.#registers;
  }

  /** A register's value, or a constant where `register` is below 0. */
  get(register: number): IValue {
    if (register < 0) return this.code.constants[~register];
    const value = this.#registers[register] as IValue;
    return typeof value === 'number' && this.code.intRegisters[register] ? BigInt(value) : value;
  }

  /** As `get`, for who takes an int as a bigint or as a number, whichever is there. */
  getPlain(register: number): IValue {
    return register < 0 ? this.code.plainConstants[~register] : (this.#registers[register] as IValue);
  }

  /** What is no matter to a ledger: the register holds numbers, flags and strings only. An int may come as a number. */
  setPlain(register: number, value: IValue): void {
    this.#registers[register] = value;
  }

  getAll(registers: readonly number[]): IValue[] {
    const values = new Array<IValue>(registers.length);
    for (let i = 0; i < registers.length; i++) values[i] = this.get(registers[i]);
    return values;
  }

  set(register: number, value: IValue): void {
    const { ledger } = this;
    const old = this.#registers[register];
    this.#registers[register] = typeof value === 'bigint' && this.code.intRegisters[register] ? plainInt(value) : value;
    // Numbers and strings, of which loops are full, are nothing to a ledger.
    if (!ledger || (typeof value !== 'object' && typeof old !== 'object')) return;
    const counted = this.code.countedLists.has(register);
    ledger.retain(value, counted);
    if (old !== undefined) ledger.release(old, counted);
  }

  setAll(registers: readonly number[], values: readonly IValue[]): void {
    if (!this.ledger || registers.length === 1) {
      for (let i = 0; i < registers.length; i++) this.set(registers[i], values[i]);
      return;
    }
    // A swap takes every value out of some register: all must be held before the first is let go.
    const { ledger } = this;
    const { countedLists } = this.code;
    for (let i = 0; i < registers.length; i++) ledger.retain(values[i], countedLists.has(registers[i]));
    for (let i = 0; i < registers.length; i++) {
      const register = registers[i];
      const old = this.#registers[register];
      this.#registers[register] = values[i];
      if (old !== undefined) ledger.release(old, countedLists.has(register));
    }
  }

  clear(registers: readonly number[]): void {
    for (let i = 0; i < registers.length; i++) {
      const register = registers[i];
      const old = this.#registers[register];
      if (old === undefined) continue;
      this.#registers[register] = undefined;
      if (typeof old === 'object') this.ledger?.release(old, this.code.countedLists.has(register));
    }
  }

  /** Gives up all registers. */
  leave(): void {
    if (!this.ledger) return;
    const registers = this.#registers;
    // Work that an ended run has begun may still set some: not those of another call.
    this.#registers = [];
    for (let register = 0; register < registers.length; register++) {
      const old = registers[register];
      if (old === undefined) continue;
      registers[register] = undefined;
      if (typeof old === 'object') this.ledger.release(old, this.code.countedLists.has(register));
    }
    spares.set(this.code, registers);
  }
}
