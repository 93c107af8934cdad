import {
  measurePeak,
  type DevicePeak,
  type DeviceProfiler,
  type DeviceWork,
  type DispatchRecord,
  type Kernel,
  type Routine,
} from '@cresset/tensorexpr';
import type { LaunchProbe } from '../device/launch-probe.ts';
import type { Interval, PreparedKernel } from '../device/programs.ts';
import type { Work } from '../device/turns.ts';
import type { WasmDevice } from '../device/wasm-device.ts';
import { moduleText } from '../text/module-text.ts';

/** A dispatch, of which the time is known when it is done. */
interface PendingDispatch {
  readonly prepared: PreparedKernel;
  begin: number;
  /** Milliseconds: the event loop may have had its turn in between. */
  spent: number;
}

const peaks = new WeakMap<WasmDevice, Promise<DevicePeak>>();

/** Measures what the host's device does, by the page's clock. */
export class WasmProfiler implements DeviceProfiler {
  #run = new ProfiledRun();
  /** Texts of modules, and when those were compiled. */
  readonly #texts = new WeakMap<PreparedKernel, string>();
  readonly #compilations = new Map<string, Interval>();

  constructor(private readonly device: WasmDevice) {}

  async start(kernels: boolean): Promise<void> {
    await this.device.flush();
    this.#run = new ProfiledRun();
    if (kernels) this.device.probe = this.#run;
  }

  async stop(): Promise<DeviceWork> {
    await this.device.flush();
    this.device.probe = null;
    const { dispatches, launched } = this.#run;
    return { clock: 'page', batches: [], dispatches: dispatches.map((each) => this.#recordOf(each)), launched };
  }

  #recordOf({ prepared, begin, spent }: PendingDispatch): DispatchRecord {
    const { label } = prepared;
    const code = this.#textOf(prepared);
    return { label, code, schedules: [], workgroups: [1, 1], begin: 1e6 * begin, end: 1e6 * (begin + spent) };
  }

  #textOf(prepared: PreparedKernel): string {
    let text = this.#texts.get(prepared);
    if (text === undefined) {
      this.#texts.set(prepared, (text = this.device.modulesOf(prepared).map(moduleText).join('\n')));
      this.#compilations.set(text, prepared.compilation);
    }
    return text;
  }

  compilations(): ReadonlyMap<string, Interval> {
    return this.#compilations;
  }

  get uploadMilliseconds(): number {
    return this.device.uploadMilliseconds;
  }

  peak(): Promise<DevicePeak> {
    let peak = peaks.get(this.device);
    if (!peak) peaks.set(this.device, (peak = measurePeak(this.device, this)));
    return peak;
  }
}

class ProfiledRun implements LaunchProbe {
  readonly dispatches: PendingDispatch[] = [];
  readonly launched: { readonly kernel: Kernel | Routine; readonly first: number }[] = [];

  launch(kernel: Kernel | Routine): void {
    this.launched.push({ kernel, first: this.dispatches.length });
  }

  measured(prepared: PreparedKernel, work: Work): Work {
    const dispatch: PendingDispatch = { prepared, begin: 0, spent: 0 };
    this.dispatches.push(dispatch);
    return timed(work, dispatch);
  }
}

function* timed(work: Work, dispatch: PendingDispatch): Work {
  dispatch.begin = performance.now();
  for (;;) {
    const start = performance.now();
    const { done } = work.next();
    dispatch.spent += performance.now() - start;
    if (done) return;
    yield;
  }
}
