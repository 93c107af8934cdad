import type { RandomGenerator } from '@cresset/operators';
import { elementSize, type DeviceBuffer, type DeviceMemory, type ScalarType, type Storage } from '@cresset/tensor';
import type { ComputeDevice, Kernel, LaunchRecorder, RecordedLaunch } from '@cresset/tensorexpr';
import { DeviceLowering } from '../../dispatch/device-lowering.ts';
import type { Execution } from '../../run/execution.ts';

/** A storage that the work makes. */
export interface MadeStorage {
  readonly dtype: ScalarType;
  readonly count: number;
}

/** Makes kernels ready instead of launching them. Whatever goes by more than the arguments' layouts is refused, by an error. */
export class PlannedLowering extends DeviceLowering {
  override readonly device: ComputeDevice;
  /** Their places are of the storages given, and after these of those made. */
  readonly launches: RecordedLaunch[] = [];
  readonly made: MadeStorage[] = [];
  /** Kernels, each of which may be several launches. */
  kernelCount = 0;
  readonly #places: Map<Storage, number>;
  readonly #recorder: LaunchRecorder;
  readonly #given: number;

  /**
   * @param given what stands for the storages of arguments
   * @param keepsKernels whether who describes the work says when a kernel is not changed any more
   */
  constructor(
    execution: Execution,
    name: string,
    recorder: LaunchRecorder,
    given: readonly Storage[],
    keepsKernels: boolean,
  ) {
    super(execution, name, execution.place(), keepsKernels);
    this.device = new PlannedDevice(execution.context.device!) as unknown as ComputeDevice;
    this.#recorder = recorder;
    this.#given = given.length;
    this.#places = new Map(given.map((storage, at) => [storage, at]));
  }

  override get generator(): RandomGenerator {
    throw refused();
  }

  override launchNow(kernel: Kernel): void {
    this.kernelCount++;
    for (const launch of this.#recorder.prepareAll(kernel, (sizes, dtype) => this.temporary(sizes, dtype))) {
      const places = launch.bindings.map(({ operand: { tensor, dtype } }) => this.placeOf(tensor.storage, dtype));
      this.launches.push({ launch, places });
    }
  }

  override launchRoutine(): never {
    throw refused();
  }

  override faults(): never {
    throw refused();
  }

  override fetch(): never {
    throw refused();
  }

  /** Where a storage is: a new one is made each time. */
  placeOf(storage: Storage, dtype: ScalarType): number {
    let place = this.#places.get(storage);
    if (place === undefined) {
      // What was put into memory meanwhile is there once.
      if (storage.isOnHost || !storage.isOnDevice) throw refused();
      place = this.#given + this.made.push({ dtype, count: storage.byteLength / elementSize(dtype) }) - 1;
      this.#places.set(storage, place);
    }
    return place;
  }
}

/** As much of a device as lowerings ask for: its memory is none. */
class PlannedDevice implements Pick<ComputeDevice, 'capabilities'>, Partial<DeviceMemory> {
  constructor(private readonly device: ComputeDevice) {}

  get capabilities(): ComputeDevice['capabilities'] {
    return this.device.capabilities;
  }

  get hasTransforms(): boolean {
    return this.device.hasTransforms === true;
  }

  get launchRoutine(): ComputeDevice['launchRoutine'] {
    return this.device.launchRoutine;
  }

  deviceElementSize(layout: Parameters<DeviceMemory['deviceElementSize']>[0]): number {
    return this.device.deviceElementSize(layout);
  }

  allocate(byteLength: number): DeviceBuffer {
    return { byteLength, isLost: false };
  }

  release(): void {}
}

const refused = (): TypeError => new TypeError('this goes by more than layouts');
