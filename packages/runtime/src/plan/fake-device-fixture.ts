import { CressetError } from '@cresset/ir';
import { elementSize, type DeviceBuffer, type DeviceLayout, type ScalarType, type Storage } from '@cresset/tensor';
import {
  noCounts,
  type CommandList,
  type ComputeDevice,
  type Kernel,
  type LaunchRecorder,
  type PreparedLaunch,
  type RecordedLaunch,
} from '@cresset/tensorexpr';
import { plainGpu } from '../../../../test-setup/plain-gpu.ts';
import { prepared, run, type Contents } from './passes/launches-fixture.ts';
import { launchStep } from './program/launch-program.ts';

/** A buffer that holds bytes as they lie on the host. */
export interface FakeBuffer extends DeviceBuffer {
  readonly bytes: Uint8Array;
}

/** A device that has memory and computes nothing; what is replayed is noted. */
export class FakeDevice {
  readonly counters = noCounts();
  /** Buffers that were given out and not taken back. */
  readonly held = new Set<FakeBuffer>();
  /** Which allocation from now on finds no memory; -1 where all do. */
  failsAt = -1;
  readonly replays: { readonly buffers: readonly DeviceBuffer[]; readonly numbers: readonly (number | bigint)[] }[] =
    [];
  recorded = 0;
  forgotten = 0;

  /** It, as far as who works with memory asks. */
  get device(): ComputeDevice {
    return this as unknown as ComputeDevice;
  }

  readonly recorder = {
    record: () => ({ byteLength: 64 }),
    replay: (_: CommandList, given: readonly DeviceBuffer[], numbers: readonly (number | bigint)[]) => {
      this.replays.push({ buffers: [...given], numbers: [...numbers] });
    },
    forget: () => void this.forgotten++,
  } as unknown as LaunchRecorder;

  deviceElementSize(layout: DeviceLayout): number {
    return elementSize(layout as ScalarType);
  }

  allocate(byteLength: number): FakeBuffer {
    if (this.failsAt >= 0 && this.failsAt-- === 0) throw new CressetError('MEMORY_LIMIT', 'for this test');
    const buffer = { byteLength, isLost: false, bytes: new Uint8Array(byteLength) };
    this.held.add(buffer);
    return buffer;
  }

  release(buffer: FakeBuffer): void {
    if (!this.held.delete(buffer)) throw new TypeError('this buffer was not given out, or is given back twice');
  }

  upload(buffer: FakeBuffer, _layout: DeviceLayout, elements: Uint8Array): void {
    buffer.bytes.set(elements);
  }

  download({ bytes }: FakeBuffer): Promise<ArrayBuffer> {
    return Promise.resolve(bytes.slice().buffer as ArrayBuffer);
  }
}

interface FakeList extends CommandList {
  readonly launches: readonly RecordedLaunch[];
  readonly given: number;
  readonly scratch: readonly FakeBuffer[];
}

/** A device that computes nests, one point after the other, as soon as they are launched. */
export class ComputingDevice extends FakeDevice {
  readonly capabilities = { ...plainGpu, software: true };
  readonly description = 'for this test';
  override readonly recorder: LaunchRecorder = {
    listener: null,
    prepare: (kernel) => prepared([kernel]),
    prepareAll: (kernel) => [prepared([kernel])],
    launch: (launch, storages) => this.#launch(launch, storages),
    together: () => null,
    record: (launches, given, scratch): FakeList => {
      this.recorded++;
      const buffers = scratch.map((byteLength) => ({ byteLength, isLost: false, bytes: new Uint8Array(byteLength) }));
      return { byteLength: 0, launches, given, scratch: buffers };
    },
    replay: (list, buffers, numbers) => {
      this.replays.push({ buffers: [...buffers], numbers: [...numbers] });
      const { launches, given, scratch } = list as FakeList;
      const bound = [...buffers.slice(0, given), ...scratch];
      for (const { launch, places } of launches) {
        compute(
          launch,
          places.map((place) => bound[place]),
          numbers,
        );
      }
    },
    prepareAgain: (kernel) => prepared([kernel]),
    change: (list, changed, scratch) => {
      const own = list as { -readonly [Key in keyof FakeList]: FakeList[Key] };
      own.launches = own.launches.map((launch, at) => changed.get(at) ?? launch);
      own.scratch = scratch.map((byteLength) => ({ byteLength, isLost: false, bytes: new Uint8Array(byteLength) }));
    },
    forget: () => void this.forgotten++,
  };

  launch(kernel: Kernel): void {
    const launch = prepared([kernel]);
    this.#launch(
      launch,
      launch.bindings.map(({ operand: { tensor } }) => tensor.storage),
    );
  }

  #launch(launch: PreparedLaunch, storages: readonly Storage[]): void {
    this.recorder.listener?.(launch);
    this.counters.dispatches++;
    const buffers = launch.bindings.map(({ stored, layout }, at) =>
      stored
        ? storages[at].deviceBufferForWriting(this.device, layout)
        : storages[at].deviceBuffer(this.device, layout),
    );
    compute(launch, buffers, []);
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  failureSince(): null {
    return null;
  }

  room(): null {
    return null;
  }
}

function compute(
  launch: PreparedLaunch,
  buffers: readonly DeviceBuffer[],
  numbers: readonly (number | bigint)[],
): void {
  const contents: Contents = new Map(
    launch.bindings.map(({ operand: { tensor } }, at) => [
      tensor.storage,
      new Float32Array((buffers[at] as FakeBuffer).bytes.buffer as ArrayBuffer),
    ]),
  );
  run([launchStep(launch)], contents, (points) => [...Array(points).keys()], numbers);
}
