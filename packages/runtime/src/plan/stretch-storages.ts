import {
  deviceByteLength,
  elementSize,
  Storage,
  type DeviceBuffer,
  type DeviceLayout,
  type ScalarType,
  hint,
  symFloorDiv,
  type SymInt,
} from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import type { StorageLedger } from '../memory/storage-ledger.ts';
import { GrowingRows } from './growing-rows.ts';
import { inputsOf, type KeptValue, type KeptValues } from './kept-values.ts';
import { numbersOf, stepsOf, type LaunchProgram } from './program/launch-program.ts';

/** A storage that launches use, and how. */
export interface BoundStorage {
  readonly storage: number;
  readonly layout: DeviceLayout;
  readonly stored: boolean;
  /** Of elements that nobody needs when the stretch is over. */
  readonly isPassing: boolean;
}

/** Made of parameters, of those before it whose numbers are `inputs`. */
interface KeptStorage {
  readonly at: number;
  readonly value: KeptValue;
  readonly inputs: readonly number[];
}

/** Made anew for each replay: on the device, or on the host with the elements of `from`. */
interface NewStorage {
  readonly at: number;
  readonly from: Storage | null;
  readonly dtype: ScalarType;
  readonly count: SymInt;
}

/** Where nothing is yet, or not any more. */
const none = null as never;

/** The storages of a stretch: where they come from with each replay, and the buffers that its launches are given. */
export class StretchStorages {
  /** Those of the replay that is about to be or goes on; the ones that were given are put in by whoever finds them. */
  readonly now: Storage[];
  readonly #fixed: { readonly at: number; readonly storage: Storage }[] = [];
  readonly #kept: KeptStorage[] = [];
  /** Those that have to be worked out once more. */
  readonly #stale: KeptStorage[] = [];
  readonly #fresh: NewStorage[] = [];
  /** Those that lie in the memory of what was found. */
  readonly #grown: { readonly at: number; readonly home: number; readonly row: SymInt }[] = [];
  /** Those that the host computes and that outlive the stretch. */
  readonly #handedOut: number[] = [];
  /** Of what the host computed, for launches to read. */
  readonly #copies: Storage[] = [];
  /** Those that the replay finds as they are. */
  readonly #found: readonly BoundStorage[];
  readonly #buffers: DeviceBuffer[];

  constructor(
    program: LaunchProgram,
    private readonly bound: readonly BoundStorage[],
    kept: Pick<KeptValues, 'take'> | null,
  ) {
    const numbers = numbersOf(program);
    const made = new Set<number>();
    for (const [storage, at] of numbers) {
      const { kind, dtype, copy = null, home, row } = program.storages.get(storage)!;
      if (kind === 'fixed' || kind === 'faults') {
        this.#fixed.push({ at, storage: copy ?? storage });
        if (copy) this.#copies.push(copy);
      } else if (kind === 'computed') this.#handedOut.push(at);
      else if (kind === 'grown') this.#grown.push({ at, home: numbers.get(home!)!, row: row! });
      else if (kind === 'new' || kind === 'copied') {
        const count = symFloorDiv(storage.symBytes ?? storage.byteLength, elementSize(dtype));
        this.#fresh.push({ at, from: copy, dtype, count });
        made.add(at);
      }
    }
    this.now = Array.from(numbers, () => none);
    this.#buffers = bound.map(() => none);
    const recorded = [...numbers.keys()];
    for (const { storage, launch, kernel } of stepsOf(program, 'keep')) {
      const at = numbers.get(storage)!;
      const { dtype } = program.storages.get(storage)!;
      const inputs = inputsOf(launch).map(({ operand }) => numbers.get(operand.tensor.storage)!);
      const names = inputs.map(
        (input) => this.#kept.find((each) => each.at === input)?.value.key ?? recorded[input].serial,
      );
      const value = kept!.take(launch, kernel, { dtype, count: storage.byteLength / elementSize(dtype) }, names);
      this.#kept.push({ at, value, inputs });
      made.add(at);
      // Now rather than with the first replay: those are all alike.
      recorded[at] = value.storageOf(inputs, recorded);
    }
    this.#found = bound.filter(({ storage }) => !made.has(storage));
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
    for (const { at, from, dtype, count } of this.#fresh) {
      const storage = from ? from.copyOnHost() : Storage.onDevice(device, dtype, hint(count));
      now[at] = storage;
      ledger?.own(storage);
    }
    for (const { at, home, row } of this.#grown) {
      now[at] = GrowingRows.of(now[home])!.upTo(hint(row));
      ledger?.own(now[at]);
    }
    if (ledger) for (const at of this.#handedOut) ledger.own(now[at]);
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
    for (const { at } of [...this.#fresh, ...this.#grown]) this.now[at]?.dispose();
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
    for (const copy of this.#copies) copy.dispose();
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
