import { plainGpu } from '../../../test-setup/plain-gpu.ts';
import type { DeviceBuffer, ScalarType } from '@cresset/tensor';
import {
  noCounts,
  normalise,
  signatureOf,
  type ComputeDevice,
  type DeviceMemoryUse,
  type Kernel,
} from '@cresset/tensorexpr';

const MEGABYTE = 2 ** 20;

/** Takes what goes up to it, and computes nothing: what lies in memory is then what loading put there. */
export class CountingDevice implements ComputeDevice {
  readonly description = 'counting';
  readonly capabilities = { ...plainGpu, maxBindingBytes: 2 ** 31 };
  readonly counters = noCounts();
  readonly recorder = null;
  /** First elements of what came up. */
  readonly seen: number[] = [];

  deviceElementSize(): number {
    return 4;
  }

  allocate(byteLength: number): DeviceBuffer {
    return { byteLength, isLost: false };
  }

  release(_buffer: DeviceBuffer): void {}

  upload(_buffer: DeviceBuffer, _dtype: ScalarType, elements: Uint8Array): void {
    this.counters.uploadedBytes += elements.byteLength;
    if (elements.byteLength >= MEGABYTE) this.seen.push(new DataView(elements.buffer).getFloat32(0, true));
  }

  async download(_buffer: DeviceBuffer, _dtype: ScalarType, count: number): Promise<ArrayBuffer> {
    return new ArrayBuffer(4 * count);
  }

  launch(kernel: Kernel): void {
    for (const { operand, stored } of signatureOf(normalise(kernel)).bindings) {
      const { storage, dtype } = operand.tensor;
      if (stored) storage.deviceBufferForWriting(this, dtype);
      else storage.deviceBuffer(this, dtype);
    }
  }

  memory(): DeviceMemoryUse {
    return { live: this.counters.liveBytes, pooled: 0, peak: 0 };
  }

  trim(): void {}

  async flush(): Promise<void> {}

  failureSince(): null {
    return null;
  }

  room(): null {
    return null;
  }

  dispose(): void {}
}
