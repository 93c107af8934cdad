import {
  deviceByteLength,
  Storage,
  type DeviceBuffer,
  type DeviceLayout,
  type ScalarType,
  hint,
  type SymInt,
} from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import type { StorageLedger } from '../memory/storage-ledger.ts';
import type { KeptValue, KeptValues } from './kept-values.ts';

/** A storage that a replay works with, beside the scratch buffers of its list. */
export type StorageSource =
  /** The storage of live-ins. */
  | { readonly kind: 'given' }
  | { readonly kind: 'fixed'; readonly storage: Storage }
  /** Made of parameters; `inputs` are those before it that it is made of. */
  | { readonly kind: 'kept'; readonly value: KeptValue; readonly inputs: readonly number[] }
  /** Made anew on the device for each replay: it outlives the stretch. */
  | { readonly kind: 'made'; readonly dtype: ScalarType; readonly count: SymInt }
  /** Made anew on the host, with these elements. */
  | { readonly kind: 'copied'; readonly from: Storage };

/** A storage that launches use, and how. */
export interface BoundStorage {
  readonly storage: number;
  readonly layout: DeviceLayout;
  readonly stored: boolean;
  /** Of elements that nobody needs when the stretch is over. */
  readonly isPassing: boolean;
}

/** A source of one kind, and its place among all. */
type Placed<Kind extends StorageSource['kind']> = Extract<StorageSource, { readonly kind: Kind }> & {
  readonly at: number;
};

/** Where nothing is yet, or not any more. */
const none = null as never;

/** The storages of a stretch: where they come from with each replay, and the buffers that its launches are given. */
export class StretchStorages {
  /** Those of the replay that is about to be or goes on; the ones that were given are put in by whoever finds them. */
  readonly now: Storage[];
  readonly #fixed: readonly Placed<'fixed'>[];
  readonly #kept: readonly Placed<'kept'>[];
  /** Those that have to be worked out once more. */
  readonly #stale: Placed<'kept'>[] = [];
  readonly #fresh: readonly (Placed<'made'> | Placed<'copied'>)[];
  /** Those that the replay finds as they are. */
  readonly #found: readonly BoundStorage[];
  readonly #buffers: DeviceBuffer[];

  /**
   * @param sources those of live-ins first
   * @param handedOut storages that the host computes and that outlive the stretch
   * @param copies of what the host computed, for launches to read
   */
  constructor(
    sources: readonly StorageSource[],
    private readonly bound: readonly BoundStorage[],
    private readonly handedOut: readonly number[],
    private readonly copies: readonly Storage[],
  ) {
    this.now = sources.map(() => none);
    this.#buffers = bound.map(() => none);
    const placed = sources.map((source, at) => ({ ...source, at }));
    this.#fixed = placed.filter((source) => source.kind === 'fixed');
    this.#kept = placed.filter((source) => source.kind === 'kept');
    this.#fresh = placed.filter((source) => source.kind === 'made' || source.kind === 'copied');
    this.#found = bound.filter(({ storage }) => sources[storage].kind === 'given' || sources[storage].kind === 'fixed');
  }

  /** Whether launches can be given what they read without a trip over the host. */
  canReachDevice(device: ComputeDevice): boolean {
    const { now } = this;
    for (const { at, storage } of this.#fixed) now[at] = storage;
    if (this.#stale.length > 0) this.#stale.length = 0;
    for (const kept of this.#kept) {
      const { at, value, inputs } = kept;
      // What is made of one that is stale will be stale too.
      const isOutdated = this.#stale.some((other) => inputs.includes(other.at));
      if (!value.isFreshForUse(inputs, now) || isOutdated) {
        if (!value.canBeMade(inputs, now)) return false;
        this.#stale.push(kept);
      }
      now[at] = value.storage;
    }
    return this.#found.every(({ storage, layout }) => now[storage].canReachDevice(device, layout));
  }

  /** Has all there be that a replay works with. @returns the buffers for its launches */
  open(device: ComputeDevice, ledger: StorageLedger | null): readonly DeviceBuffer[] {
    const { now, bound } = this;
    const buffers = this.#buffers;
    for (const { at, value, inputs } of this.#stale) now[at] = value.storageOf(inputs, now);
    for (const source of this.#fresh) {
      const storage =
        source.kind === 'copied'
          ? source.from.copyOnHost()
          : Storage.onDevice(device, source.dtype, hint(source.count));
      now[source.at] = storage;
      ledger?.own(storage);
    }
    if (ledger) for (const at of this.handedOut) ledger.own(now[at]);
    for (let at = 0; at < bound.length; at++) {
      const { storage, layout, stored, isPassing } = bound[at];
      buffers[at] = isPassing
        ? sent(now[storage], layout, device)
        : stored
          ? now[storage].deviceBufferForWriting(device, layout)
          : now[storage].deviceBuffer(device, layout);
    }
    return buffers;
  }

  /** Gives up what was made for a replay that failed. */
  undo(): void {
    for (const { at } of this.#fresh) this.now[at]?.dispose();
  }

  /** Ends a replay, also one that failed on its way: what it worked with is not the stretch's, and may be large. */
  close(device: ComputeDevice): void {
    const buffers = this.#buffers;
    for (let at = 0; at < buffers.length; at++) {
      if (this.bound[at].isPassing && buffers[at] !== none) device.release(buffers[at]);
    }
    this.now.fill(none);
    buffers.fill(none);
  }

  /** Storages that values are made of which had to be made anew more often than not. */
  get varying(): number[] {
    return this.#kept.flatMap(({ value, inputs }) => (value.varying < 0 ? [] : inputs[value.varying]));
  }

  dispose(kept: KeptValues): void {
    for (const copy of this.copies) copy.dispose();
    for (const { value } of this.#kept) kept.release(value);
  }
}

/** A buffer with a storage's elements, which is none of the storage's. */
function sent(storage: Storage, layout: DeviceLayout, device: ComputeDevice): DeviceBuffer {
  const bytes = new Uint8Array(storage.hostBytes());
  const buffer = device.allocate(deviceByteLength(device, layout, storage.byteLength));
  device.upload(buffer, layout, bytes);
  return buffer;
}
