import { elementSize, Tensor, type Storage } from '@cresset/tensor';
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
import { bytesOf, inputsOf, type KeptTensor, type KeptValue, type KeptValues } from '../kept-values.ts';
import type { LaunchNote } from '../recording/recording-notes.ts';
import { LaunchTable } from './launch-table.ts';

/** A parameter of no more bytes is a bias or a factor of a norm: another copy of it takes little. */
const fewBytes = 64 << 10;

/** A kernel that a recording leaves out, since what it makes is kept. */
interface KeptLaunch {
  readonly launch: PreparedLaunch;
  readonly kernel: Kernel;
  readonly made: KeptTensor;
}

/** Finds what the launches of one recording make of parameters alone. */
export class KeptLaunches {
  /** By the storages that stand for what they make, in the order in which they can be worked out. */
  readonly #launches = new Map<Storage, KeptLaunch>();
  readonly #table: LaunchTable;
  #room: number;

  constructor(
    private readonly values: KeptValues,
    launches: readonly LaunchNote[],
    private readonly isParameter: (storage: Storage) => boolean,
    private readonly recorder: LaunchRecorder,
  ) {
    this.#room = values.room;
    this.#table = new LaunchTable(launches);
  }

  readonly #isKnown = (storage: Storage): boolean =>
    this.#launches.has(storage) || (this.isParameter(storage) && this.#table.storersOf(storage).length === 0);

  /**
   * The launches that do not work with parameters alone.
   *
   * @param isTemporary whether nobody reads a storage after the last launch
   */
  without(launches: readonly LaunchNote[], isTemporary: (storage: Storage) => boolean): LaunchNote[] {
    return launches.filter(({ launch, storages }) => {
      const { kernel, bindings, params } = launch;
      if (!kernel || params.some(({ open }) => open) || isSymbolicKernel(kernel)) return true;
      let read = 0;
      let made: Storage | null = null;
      for (const [binding, { operand, stored }] of bindings.entries()) {
        const storage = storages[binding];
        if (operand.tensor.storage !== storage) return true;
        if (!stored && !this.#isKnown(storage)) return true;
        if (!stored) read += storage.byteLength;
        else if (made || !isTemporary(storage) || this.#table.storersOf(storage).length > 1) return true;
        else made = storage;
      }
      if (!made || made.byteLength > Math.min(read, this.#room)) return true;
      const { dtype } = bindings.find(({ stored }) => stored)!.operand.tensor;
      this.#keep(made, { launch, kernel, made: { dtype, count: made.byteLength / elementSize(dtype) } });
      return false;
    });
  }

  /** A kernel without what it would work out of parameters alone. */
  lighten(kernel: Kernel): Kernel {
    const found = withoutKnownValues(kernel, this.#isKnown, (sizes) => {
      // It stands for the tensors of the values that there will be.
      const tensor = Tensor.planned(sizes, 'float32');
      return tensor.storage.byteLength <= this.#room ? tensor : null;
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
    if (storages.length <= excess || byteLength > this.#room) return null;
    const found = packOperands(kernel, storages, (count) => Tensor.planned([count], 'float32'));
    const launch = this.recorder.prepare(found.producer);
    if (launch) this.#keepNest(found.producer, launch);
    return launch && found.kernel;
  }

  #keepNest(kernel: LoopNest, launch: PreparedLaunch): void {
    const { tensor } = kernel.stores[0].operand;
    this.#keep(tensor.storage, { launch, kernel, made: { dtype: tensor.dtype, count: tensor.numel } });
  }

  #keep(storage: Storage, kept: KeptLaunch): void {
    this.#launches.set(storage, kept);
    this.#room -= bytesOf(kept.made);
  }

  /**
   * The values that launches use after all, each after those that it is made of.
   *
   * @param use what becomes of each: the storage that stands for it, the value, and the storages that it is made of
   */
  take(launches: readonly LaunchNote[], use: (stands: Storage, value: KeptValue, inputs: Storage[]) => void): void {
    const taken = new Map<Storage, KeptValue>();
    const used = new Set(launches.flatMap(({ storages }) => storages));
    const order = [...this.#launches];
    for (const [storage, { launch }] of order.toReversed()) {
      if (used.has(storage)) for (const { operand } of inputsOf(launch)) used.add(operand.tensor.storage);
    }
    for (const [storage, { launch, kernel, made }] of order) {
      if (!used.has(storage)) continue;
      const inputs = inputsOf(launch).map(({ operand }) => operand.tensor.storage);
      const names = inputs.map((input) => taken.get(input)?.key ?? String(input.serial));
      const value = this.values.take(launch, kernel, made, names);
      taken.set(storage, value);
      use(storage, value, inputs);
    }
  }
}
