import { Tensor, type Storage } from '@cresset/tensor';
import {
  expressionsIn,
  isSymbolicKernel,
  loadsIn,
  packOperands,
  withoutKnownValues,
  type Kernel,
  type LaunchRecorder,
  type LoopNest,
  type PreparedLaunch,
} from '@cresset/tensorexpr';
import { inputsOf } from '../kept-values.ts';
import {
  isScratch,
  stepsOf,
  withLaunches,
  type KeepStep,
  type LaunchProgram,
  type ProgramStorage,
} from '../program/launch-program.ts';
import { LaunchTable } from './launch-table.ts';

/** A parameter of no more bytes is a bias or a factor of a norm: another copy of it takes little. */
const fewBytes = 64 << 10;

/** Finds what the launches of one program make of parameters alone: a replay finds it, and need not work it out. */
export class KeptParameters {
  /** By the storages that stand for what they make, in the order in which they can be worked out. */
  readonly #steps = new Map<Storage, KeepStep>();
  readonly #table: LaunchTable;

  /** @param room bytes that may be kept */
  constructor(
    private readonly program: LaunchProgram,
    private room: number,
    private readonly recorder: Pick<LaunchRecorder, 'prepare'>,
  ) {
    this.#table = new LaunchTable(program);
  }

  readonly #isKnown = (storage: Storage): boolean =>
    this.#steps.has(storage) ||
    (this.program.storages.get(storage)?.isParameter === true && this.#table.storersOf(storage).length === 0);

  /** The program without launches that work with parameters alone. */
  leaveOut(): LaunchProgram {
    const { program } = this;
    const launches = stepsOf(program, 'launch').filter(({ launch, storages }) => {
      const { kernel, bindings, params } = launch;
      if (!kernel || params.some(({ open }) => open) || isSymbolicKernel(kernel)) return true;
      let read = 0;
      let made: Storage | null = null;
      for (const [binding, { operand, stored }] of bindings.entries()) {
        const storage = storages[binding];
        if (operand.tensor.storage !== storage) return true;
        if (!stored && !this.#isKnown(storage)) return true;
        if (!stored) read += storage.byteLength;
        else if (made || !isScratch(program, storage) || this.#table.storersOf(storage).length > 1) return true;
        else made = storage;
      }
      if (!made || made.byteLength > Math.min(read, this.room)) return true;
      this.#keep(made, launch, kernel);
      return false;
    });
    return withLaunches(
      program,
      launches,
      this.#storages(program, () => true),
    );
  }

  /** A kernel without what it would work out of parameters alone. */
  lighten(kernel: Kernel): Kernel {
    const found = withoutKnownValues(kernel, this.#isKnown, (sizes) => {
      // It stands for the tensors of the values that there will be.
      const tensor = Tensor.planned(sizes, 'float32');
      return tensor.storage.byteLength <= this.room ? tensor : null;
    });
    const launches = found?.producers.map((producer) => this.recorder.prepare(producer));
    if (!found || !launches?.every((launch) => launch !== null)) return kernel;
    found.producers.forEach((producer, at) => this.#keepNest(producer, launches[at]!));
    return found.kernel;
  }

  /**
   * A kernel that reads small parameters from one buffer, where they lie together; null where that makes fewer buffers by less than `excess`.
   *
   * @param most how many buffers a kernel may have
   */
  packed(kernel: Kernel, excess: number, most: number): Kernel | null {
    const small = new Set<Storage>();
    for (const { operand } of loadsIn(expressionsIn(kernel))) {
      const { storage } = operand.tensor;
      if (operand.dtype === 'float32' && storage.byteLength <= fewBytes && this.#isKnown(storage)) small.add(storage);
    }
    const storages = [...small].slice(0, most - 1);
    const byteLength = storages.reduce((sum, storage) => sum + storage.byteLength, 0);
    if (storages.length <= excess || byteLength > this.room) return null;
    const found = packOperands(kernel, storages, (count) => Tensor.planned([count], 'float32'));
    const launch = this.recorder.prepare(found.producer);
    if (launch) this.#keepNest(found.producer, launch);
    return launch && found.kernel;
  }

  #keepNest(kernel: LoopNest, launch: PreparedLaunch): void {
    this.#keep(kernel.stores[0].operand.tensor.storage, launch, kernel);
  }

  #keep(storage: Storage, launch: PreparedLaunch, kernel: Kernel): void {
    this.#steps.set(storage, { op: 'keep', storage, launch, kernel });
    this.room -= storage.byteLength;
  }

  /** A program whose launches use some of it, with what they use, each after what it is made of. */
  addTo(program: LaunchProgram): LaunchProgram {
    const launches = stepsOf(program, 'launch');
    const used = new Set(launches.flatMap(({ storages }) => storages));
    const steps = [...this.#steps.values()].reverse().filter(({ storage, launch }) => {
      if (used.has(storage)) for (const { operand } of inputsOf(launch)) used.add(operand.tensor.storage);
      return used.has(storage);
    });
    return withLaunches(
      program,
      launches,
      this.#storages(program, (storage) => used.has(storage)),
      steps.reverse(),
    );
  }

  #storages({ storages }: LaunchProgram, isKept: (storage: Storage) => boolean): ReadonlyMap<Storage, ProgramStorage> {
    const all = new Map(storages);
    for (const [storage, { launch }] of this.#steps) {
      const { dtype } = launch.bindings.find(({ stored }) => stored)!.operand.tensor;
      if (isKept(storage)) all.set(storage, { kind: 'kept', dtype, layout: dtype });
      else all.delete(storage);
    }
    return all;
  }
}
