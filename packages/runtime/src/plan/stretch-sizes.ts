import { deviceByteLength, hint, type ScalarType, type ShapeEnv, type Storage, type SymInt } from '@cresset/tensor';
import {
  isSymbolicKernel,
  type Binding,
  type CommandList,
  type ComputeDevice,
  type LaunchRecorder,
  type PreparedLaunch,
  type RecordedLaunch,
} from '@cresset/tensorexpr';

/** A launch of a list whose kernel, or one of whose parts, has sizes that may be others. */
export interface SizedLaunch {
  /** Which of the list it is. */
  readonly at: number;
  /** Those that it does the work of: itself, where none were joined. */
  readonly parts: readonly PreparedLaunch[];
  /** What it binds at the sizes that it was recorded at: memory is shared by what others need by then. */
  readonly bindings: readonly Binding[];
  /** Where a storage is among the buffers of the list. */
  placeOf(storage: Storage): number;
}

/** A scratch buffer: as large as the largest of what lies in it one after the other. */
export type SizedScratch = readonly { readonly dtype: ScalarType; readonly bytes: SymInt }[];

/** What of a list is made for some sizes. */
interface MadeForSizes {
  readonly launches: ReadonlyMap<number, RecordedLaunch>;
  readonly scratch: readonly number[];
}

/** Sets of sizes that launches are kept for: those that come in turns are made ready once. */
const MOST_KEPT = 64;

/** The sizes of a stretch that may be others with each replay, and what of its list is made for those of now. */
export class StretchSizes {
  #generation: number;
  /** The sizes that the list is ready for. */
  #last: string;
  /** By the numbers that symbols stand for; what was used last comes last. */
  readonly #made = new Map<string, MadeForSizes>();

  constructor(
    readonly env: ShapeEnv,
    private readonly list: CommandList,
    private readonly recorder: LaunchRecorder,
    private readonly launches: readonly SizedLaunch[],
    private readonly scratch: readonly SizedScratch[],
  ) {
    this.#generation = env.generation;
    this.#last = this.#sizesNow();
  }

  /** Makes the list ready for the sizes of now; false where the device would make something else of a kernel then. */
  fit(device: ComputeDevice): boolean {
    if (this.#generation === this.env.generation) return true;
    const key = this.#sizesNow();
    if (key !== this.#last) {
      const made = this.#made.get(key) ?? this.#make(device);
      if (!made) return false;
      this.#made.delete(key);
      this.#made.set(key, made);
      if (this.#made.size > MOST_KEPT) this.#made.delete(this.#made.keys().next().value!);
      this.recorder.change(this.list, made.launches, made.scratch);
      this.#last = key;
    }
    this.#generation = this.env.generation;
    return true;
  }

  /** Floats are nothing but params of launches, which replays write. */
  #sizesNow(): string {
    return this.env.symbols.map(({ kind, value }) => (kind === 'int' ? value : '')).join();
  }

  #make(device: ComputeDevice): MadeForSizes | null {
    const launches = new Map<number, RecordedLaunch>();
    for (const { at, parts, bindings, placeOf } of this.launches) {
      const launch = this.#prepareAgain(parts);
      if (!launch?.bindings.every((each) => bindings.some((known) => isSameStorage(known, each)))) return null;
      launches.set(at, { launch, places: launch.bindings.map(({ operand }) => placeOf(operand.tensor.storage)) });
    }
    const scratch = this.scratch.map((values) =>
      Math.max(...values.map(({ dtype, bytes }) => deviceByteLength(device, dtype, hint(bytes)))),
    );
    return { launches, scratch };
  }

  #prepareAgain(parts: readonly PreparedLaunch[]): PreparedLaunch | null {
    const again = parts.map((part) => {
      if (!isSized(part)) return part;
      return part.again ? part.again() : this.recorder.prepareAgain(part.kernel!);
    });
    if (!again.every((each) => each !== null)) return null;
    return again.length === 1 ? again[0] : this.recorder.together(again);
  }
}

/** Whether a launch has sizes that may be others. */
export const isSized = ({ kernel, again }: PreparedLaunch): boolean =>
  again !== undefined || (kernel !== null && isSymbolicKernel(kernel));

const isSameStorage = (a: Binding, b: Binding): boolean => a.operand.tensor.storage === b.operand.tensor.storage;
