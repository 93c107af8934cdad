import type { DeviceBuffer } from '@cresset/tensor';

/** A stretch of the linear memory. */
export class WasmBuffer implements DeviceBuffer {
  readonly isLost = false;
  /** How often it was written. */
  writes = 0;
  isReleased = false;

  constructor(
    readonly byteLength: number,
    readonly address: number,
  ) {}
}
