import {
  measurePeak,
  type DeviceProfiler,
  type DeviceWork,
  type DevicePeak,
  type DispatchRecord,
  type Kernel,
} from '@cresset/tensorexpr';
import type { WebGpuDevice } from '../webgpu-device.ts';
import type { BatchProbe, WorkProbe } from '../launches/work-probe.ts';
import { PassTimestamps, type PassTime } from './pass-timestamps.ts';

/** A dispatch before its times have come from the GPU. */
type PendingDispatch = Omit<DispatchRecord, 'begin' | 'end'>;

interface PendingBatch {
  readonly dispatches: PendingDispatch[];
  start: number;
  encoded: number;
  submitted: number;
  times: Promise<readonly PassTime[]> | null;
}

const peaks = new WeakMap<WebGpuDevice, Promise<DevicePeak>>();

/** Measures what a WebGPU device does: by the page's clock, and by the GPU's where it has timestamps. */
export class WebGpuProfiler implements DeviceProfiler {
  #run: ProfiledRun | null = null;

  constructor(private readonly device: WebGpuDevice) {}

  async start(kernels: boolean): Promise<void> {
    await this.device.flush();
    const withTimestamps = kernels && this.device.gpuDevice.features.has('timestamp-query');
    this.device.probe = this.#run = new ProfiledRun(this.device, withTimestamps);
  }

  async stop(): Promise<DeviceWork> {
    await this.device.flush();
    this.device.probe = null;
    return this.#run!.work();
  }

  compilations(): ReturnType<DeviceProfiler['compilations']> {
    return this.device.compilations();
  }

  get uploadMilliseconds(): number {
    return this.device.uploadMilliseconds;
  }

  async peak(): Promise<DevicePeak | null> {
    if (!this.device.gpuDevice.features.has('timestamp-query')) return null;
    let peak = peaks.get(this.device);
    if (!peak) peaks.set(this.device, (peak = measurePeak(this.device, this)));
    return peak;
  }
}

class ProfiledRun implements WorkProbe {
  readonly #batches: PendingBatch[] = [];
  readonly #launched: { readonly kernel: Kernel; readonly first: number }[] = [];
  readonly #dispatchesBefore: number;

  constructor(
    private readonly device: WebGpuDevice,
    private readonly withTimestamps: boolean,
  ) {
    this.#dispatchesBefore = device.counters.dispatches;
  }

  launch(kernel: Kernel): void {
    this.#launched.push({ kernel, first: this.device.counters.dispatches - this.#dispatchesBefore });
  }

  batch(dispatches: number): BatchProbe {
    const timestamps =
      this.withTimestamps && dispatches > 0 ? new PassTimestamps(this.device.gpuDevice, dispatches) : undefined;
    const batch: PendingBatch = { dispatches: [], start: performance.now(), encoded: 0, submitted: 0, times: null };
    this.#batches.push(batch);
    return {
      separatesPasses: timestamps !== undefined,
      pass: ({ program, x, y }) => {
        if (!timestamps) return undefined;
        const { label, code, schedules } = program;
        batch.dispatches.push({ label, code, schedules, workgroups: [x, y] });
        return timestamps.next();
      },
      encoded: (encoder) => {
        timestamps?.resolve(encoder);
        batch.encoded = performance.now();
      },
      submitted: () => {
        batch.submitted = performance.now();
        batch.times = timestamps?.read() ?? null;
      },
    };
  }

  async work(): Promise<DeviceWork> {
    const dispatches: DispatchRecord[] = [];
    for (const { dispatches: pending, times } of this.#batches) {
      const passes = (await times) ?? [];
      pending.forEach((each, at) =>
        dispatches.push({ ...each, begin: passes[at]?.begin ?? null, end: passes[at]?.end ?? null }),
      );
    }
    const batches = this.#batches.map(({ start, encoded, submitted }) => ({ start, encoded, submitted }));
    return { clock: 'device', batches, dispatches, launched: this.#launched };
  }
}
