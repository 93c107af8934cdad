import { recordOn, requestWebGpuDevice, WebGpuDevice } from '@cresset/webgpu';
import { gpuSchedules, type GpuSchedules } from './gpu-schedules.ts';

/** Bytes behind each storage buffer that are bound with it and belong to nobody: as many as an offset of a binding is a multiple of. */
const GUARD = 256;
/** What new memory holds, and what lies behind it: no number as a float, and a large one as an integer. */
const NOTHING = 0x7fc0_1234;

/**
 * This machine's GPU with the limits that every adapter has, on which nothing that is read behind a buffer can pass for an element, and what is
 * written there is found: robust access would turn both into an element at the end.
 */
export async function requestGuarded(schedules: GpuSchedules) {
  const { gpuDevice, capabilities } = await requestWebGpuDevice({ defaultLimits: true });
  const sizes = new Map<GPUBuffer, number>();
  const createBuffer = gpuDevice.createBuffer.bind(gpuDevice);
  const createBindGroup = gpuDevice.createBindGroup.bind(gpuDevice);
  gpuDevice.createBuffer = (descriptor) => {
    if (!(descriptor.usage & GPUBufferUsage.STORAGE)) return createBuffer(descriptor);
    const size = descriptor.size + GUARD;
    const usage = descriptor.usage | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const buffer = createBuffer({ size, usage });
    gpuDevice.queue.writeBuffer(buffer, 0, new Uint32Array(size / 4).fill(NOTHING));
    sizes.set(buffer, descriptor.size);
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      sizes.delete(buffer);
      destroy();
    };
    return buffer;
  };
  gpuDevice.createBindGroup = ({ entries, ...rest }) =>
    createBindGroup({
      ...rest,
      entries: [...entries].map((entry) => {
        const { buffer, offset = 0, size } = entry.resource as GPUBufferBinding;
        const whole = sizes.get(buffer);
        if (whole === undefined) return entry;
        const end = size === undefined ? whole : offset + size;
        return { ...entry, resource: { buffer, offset, size: end - offset + (end === whole ? GUARD : 0) } };
      }),
    });

  /** How many words behind buffers were written. */
  async function writtenWords(): Promise<number> {
    let written = 0;
    for (const [buffer, size] of sizes) {
      const copy = createBuffer({ size: GUARD, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      const encoder = gpuDevice.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer, size, copy, 0, GUARD);
      gpuDevice.queue.submit([encoder.finish()]);
      await copy.mapAsync(GPUMapMode.READ);
      written += new Uint32Array(copy.getMappedRange()).filter((word) => word !== NOTHING).length;
      copy.destroy();
    }
    return written;
  }

  const device = new WebGpuDevice(gpuDevice, schedules, { ...capabilities, ...gpuSchedules[schedules] }, true);
  recordOn(device);
  return { device, writtenWords };
}
