import {
  elementSize,
  Storage,
  type DeviceBuffer,
  type DeviceLayout,
  type ScalarType,
  type ScriptObject,
} from '@cresset/tensor';
import {
  normalise,
  signatureOf,
  type Binding,
  type CommandList,
  type ComputeDevice,
  type Kernel,
  type LaunchRecorder,
  type PreparedLaunch,
} from '@cresset/tensorexpr';

/** Bytes that the values of a program may take. */
const maxBytes = 4 << 20;
/** What comes in the place of a parameter so many times, and more often than not, is none. */
const maxChanges = 8;

/** What a storage held when something was made of it. */
interface Version {
  serial: number;
  writes: number;
  /** How often it turned out to hold something else. */
  changes: number;
}

/** What a launch makes of parameters alone, for as long as nobody writes to them or puts others in their place. */
export class KeptValue {
  /** Recordings that read it. */
  users = 0;
  /** How the tensors lie that it is made of. */
  readonly #layouts: readonly DeviceLayout[];
  readonly #versions: readonly Version[];
  readonly #list: CommandList;
  #storage: Storage;
  #uses = 0;
  /** The input in whose place another one comes more often than not; -1 where there is none. */
  varying = -1;

  /** @param launch stores to one tensor, and does not read it */
  constructor(
    readonly key: string,
    readonly made: KeptTensor,
    launch: PreparedLaunch,
    private readonly device: ComputeDevice,
    private readonly recorder: LaunchRecorder,
  ) {
    this.#layouts = inputsOf(launch).map(({ layout }) => layout);
    this.#versions = this.#layouts.map(() => ({ serial: -1, writes: 0, changes: 0 }));
    let inputs = 0;
    const places = launch.bindings.map(({ stored }) => (stored ? this.#layouts.length : inputs++));
    this.#list = recorder.record([{ launch, places }], inputs + 1, []);
    this.#storage = Storage.onDevice(device, made.dtype, made.count);
  }

  /** Where it lies, or lay. */
  get storage(): Storage {
    return this.#storage;
  }

  /** Whether it is still what it was made of; asked once for each use. @param inputs which of `storages` it is made of */
  isFreshForUse(inputs: readonly number[], storages: readonly Storage[]): boolean {
    this.#uses++;
    return this.#isFresh(inputs, storages);
  }

  /** Whether it can be worked out without a trip over the host. */
  canBeMade(inputs: readonly number[], storages: readonly Storage[]): boolean {
    return inputs.every((input, at) => storages[input].canReachDevice(this.device, this.#layouts[at]));
  }

  /** Where it lies, worked out once more if need be. Throws as a launch does. */
  storageOf(inputs: readonly number[], storages: readonly Storage[]): Storage {
    if (!this.#isFresh(inputs, storages)) this.#workOut(inputs, storages);
    return this.#storage;
  }

  #isFresh(inputs: readonly number[], storages: readonly Storage[]): boolean {
    for (let at = 0; at < inputs.length; at++) {
      const { serial, writes } = this.#versions[at];
      const storage = storages[inputs[at]];
      if (storage.serial !== serial || storage.writes !== writes) return false;
    }
    return this.#storage.isOnDevice;
  }

  #workOut(inputs: readonly number[], storages: readonly Storage[]): void {
    const { device } = this;
    const { dtype, count } = this.made;
    // A device that had no memory for it may have some now.
    if (!this.#storage.isOnDevice) this.#storage = Storage.onDevice(device, dtype, count);
    const buffers = inputs.map((input, at): DeviceBuffer => storages[input].deviceBuffer(device, this.#layouts[at]));
    buffers.push(this.#storage.deviceBufferForWriting(device, dtype));
    this.recorder.replay(this.#list, buffers, []);
    inputs.forEach((input, at) => {
      const { serial, writes } = storages[input];
      const version = this.#versions[at];
      if (version.serial === serial && version.writes === writes) return;
      Object.assign(version, { serial, writes });
      if (++version.changes > maxChanges && version.changes * 2 > this.#uses) this.varying = at;
    });
  }

  dispose(): void {
    this.#storage.dispose();
    this.recorder.forget(this.#list);
  }
}

/** A tensor of values, as far as its memory goes. */
export interface KeptTensor {
  readonly dtype: ScalarType;
  readonly count: number;
}

export const bytesOf = ({ dtype, count }: KeptTensor): number => elementSize(dtype) * count;

/** What a launch only reads. */
export const inputsOf = ({ bindings }: PreparedLaunch): readonly Binding[] => bindings.filter(({ stored }) => !stored);

/** The values that recordings of a program have kept: those that are made alike of the same parameters are one. */
export class KeptValues {
  readonly #values = new Map<string, KeptValue>();
  readonly #varying = new WeakMap<ScriptObject, Set<number>>();
  #bytes = 0;

  constructor(
    private readonly device: ComputeDevice,
    private readonly recorder: LaunchRecorder,
  ) {}

  /** Bytes that there is room for. */
  get room(): number {
    return maxBytes - this.#bytes;
  }

  /** Has an attribute be none that parameters are found in: what is made of it had to be made too often. */
  noteVarying(object: ScriptObject, slot: number): void {
    const slots = this.#varying.get(object);
    if (slots) slots.add(slot);
    else this.#varying.set(object, new Set([slot]));
  }

  isVarying(object: ScriptObject, slot: number): boolean {
    return this.#varying.get(object)?.has(slot) === true;
  }

  /** What the launch of a kernel makes. Whoever takes it releases it. @param inputs what it is made of, by keys and serial numbers */
  take(launch: PreparedLaunch, kernel: Kernel, made: KeptTensor, inputs: readonly (string | number)[]): KeptValue {
    const { key: structure, params } = signatureOf(normalise(kernel));
    const key = `${structure}(${params.map(({ value }) => value).join()};${inputs.join()})`;
    let value = this.#values.get(key);
    if (!value) {
      value = new KeptValue(key, made, launch, this.device, this.recorder);
      this.#values.set(key, value);
      this.#bytes += bytesOf(made);
    }
    value.users++;
    return value;
  }

  release(value: KeptValue): void {
    if (--value.users > 0) return;
    this.#values.delete(value.key);
    this.#bytes -= bytesOf(value.made);
    value.dispose();
  }
}
