import type { DeviceBuffer } from '@cresset/tensor';

let lastStore = 0;

/** A number for the moment: launches that store later have greater ones. */
export const storesSoFar = (): number => lastStore;

/** A stretch of the linear memory. */
export class WasmBuffer implements DeviceBuffer {
  readonly isLost = false;
  /** How often it was written. */
  writes = 0;
  isReleased = false;
  /** When the launch began that stored here last. */
  storedAt = 0;

  constructor(
    readonly byteLength: number,
    readonly address: number,
  ) {}

  /** A launch begins that stores here. */
  noteStore(): void {
    this.storedAt = ++lastStore;
  }
}
