import {
  deviceByteLength,
  elementSize,
  List,
  realType,
  Tensor,
  Tuple,
  type IValue,
  type OpenNumber,
  type ScalarType,
  type Storage,
  symFloorDiv,
  SymNode,
} from '@cresset/tensor';
import { isSymbolicKernel, type CommandList, type ComputeDevice, type LaunchRecorder } from '@cresset/tensorexpr';
import { planMemory } from '../memory/memory-plan.ts';
import type { CallInProgress } from '../interpreter/program-place.ts';
import { arrangeLaunches, type ArrangedLaunches } from './launches/arranged-launches.ts';
import { fuseLaunches, type RecordedMemory } from './launches/fused-launches.ts';
import { RepeatedStep } from './recording/host-step.ts';
import { KeptLaunches } from './launches/kept-launches.ts';
import { lifetimesOf } from './launches/launch-table.ts';
import type { KeptValues } from './kept-values.ts';
import { laterReads } from './recording/later-reads.ts';
import { SameLayout } from './recording/live-in.ts';
import type { MadeValue } from './made-value.ts';
import { DerivedNumber } from './recording/open-params.ts';
import type { Recorded } from './recording/recorded.ts';
import type { LaunchNote, StorageNote } from './recording/recording-notes.ts';
import { Regions } from './launches/regions.ts';
import { isSetBy } from './set-attributes.ts';
import { countNames } from '../run/run-counters.ts';
import { onPieces } from './launches/storage-pieces.ts';
import { Stretch, type NumberSource } from './stretch.ts';
import { StretchSizes, type SizedLaunch, type SizedScratch } from './stretch-sizes.ts';
import { StretchStorages, type BoundStorage, type StorageSource } from './stretch-storages.ts';

/** What a stretch may be made of its recording. */
export interface StretchLimits {
  /** Null where it is to keep nothing. */
  readonly kept: KeptValues | null;
  /** How much is done in one launch at most (`RuntimeLimits`). */
  readonly joinedNodes: number;
}

/** Makes a stretch of what was recorded up to the instruction `end`. */
export function makeStretch(
  recording: Recorded,
  end: number,
  callers: readonly CallInProgress[],
  device: ComputeDevice,
  recorder: LaunchRecorder,
  limits: StretchLimits,
): Stretch {
  const build = (sharesBuffers: boolean): Stretch | null =>
    new StretchBuilder(recording, device, limits, sharesBuffers).build(end, callers, recorder);
  return build(true) ?? build(false)!;
}

class StretchBuilder {
  readonly #sources: StorageSource[] = [];
  /** Where a storage of the recording is among the sources. */
  readonly #numbers = new Map<Storage, number>();
  readonly #copies: Storage[] = [];
  /** Storages of live-ins that values lie in when the stretch is over. */
  readonly #outliving = new Set<number>();
  /** Those that the host computes for the stretch alone. */
  readonly #passing = new Set<number>();
  readonly #made: MadeValue[] = [];
  readonly #madeObjects = new Map<object, number>();

  constructor(
    private readonly recording: Recorded,
    private readonly device: ComputeDevice,
    private readonly limits: StretchLimits,
    /** Whether storages may be regions of one buffer. */
    private readonly sharesBuffers: boolean,
  ) {}

  /** Null where launches cannot be made with the buffers that storages were to share. */
  build(end: number, callers: readonly CallInProgress[], recorder: LaunchRecorder): Stretch | null {
    const { recording } = this;
    const { liveIns, liveInStorages, launches, contents, gradEnabled, instructions } = recording;
    const serials: number[] = [];
    liveIns.forEach((liveIn, at) => {
      const storage = liveInStorages[at];
      if (!storage) return;
      if (!this.#numbers.has(storage)) {
        this.#numbers.set(storage, this.#sources.push({ kind: 'given' }) - 1);
        serials.push(storage.serial);
      }
      liveIn.storage = this.#numbers.get(storage)!;
    });
    const results: { register: number; made: number }[] = [];
    const cleared: number[] = [];
    const needed = laterReads(recording.frame.code, end);
    for (const [register, value] of recording.registers) {
      // What can lie in memory is given up where the instructions give it up: that is what its storage is freed by.
      const isOver = typeof value !== 'object' && !needed.has(register);
      if (value === undefined || isOver) cleared.push(register);
      else results.push({ register, made: this.#resultOf(register, value) });
    }
    const appended = recording.appends.map(({ list, value, source }) => ({
      list,
      made: source < 0 ? this.#valueOf(value) : this.#made.push(this.#liveIn(source)) - 1,
    }));
    const isTemporary = (storage: Storage): boolean =>
      recording.storages.get(storage)?.kind === 'made' && !this.#numbers.has(storage);
    const memory: RecordedMemory = { isTemporary, isOfFaults: (storage) => recording.isOfFaults(storage) };
    const { capabilities } = this.device;
    // The host does one launch after the other, and binds nothing.
    const joinedNodes = capabilities.host || recording.env ? 0 : this.limits.joinedNodes;
    const isGiven = (storage: Storage): boolean => recording.storages.get(storage)?.kind === 'given';
    const mayBePieces = (storage: Storage): boolean => this.sharesBuffers && joinedNodes > 0 && isGiven(storage);
    const { launches: apart, pieces } = onPieces(launches, mayBePieces);
    for (const [piece, { storage }] of pieces) recording.storages.set(piece, recording.storages.get(storage)!);
    const dtypeOf = (storage: Storage): ScalarType => recording.storages.get(storage)!.dtype;
    const regions = new Regions(apart, pieces, {
      capabilities,
      recorder,
      isShared: this.sharesBuffers,
      isWide: joinedNodes > 0,
      isTemporary,
      dtypeOf,
    });
    const fused = this.#fuse(apart, memory, recorder, regions);
    // A kernel may give back what it was given.
    const given = new Set(liveIns.flatMap(({ origin, storage }) => (origin.kind === 'host' ? [] : storage)));
    const handedOut: number[] = [];
    const kept = new Set<number>();
    for (const { origin, storage } of liveIns) {
      if (origin.kind !== 'host' || given.has(storage)) continue;
      if (this.#outliving.has(storage)) handedOut.push(storage);
      else {
        kept.add(origin.step);
        this.#passing.add(storage);
      }
    }
    const arranged = arrangeLaunches(fused, { capabilities, recorder, regions, joinedNodes, memory, dtypeOf });
    if (!arranged) return this.#giveUp();
    for (const [home, dtype] of regions.homes)
      recording.storages.set(home, { kind: 'made', dtype, layout: dtype, copy: null, writes: 0 });
    const numbers = this.#numbersOf(arranged.launches);
    const { bound, list, sizes } = this.#record(arranged, recorder);
    return new Stretch(
      end,
      instructions,
      arranged.launches.length,
      countNames(recording.labels),
      gradEnabled,
      recording.notesFaults ? callers : null,
      liveIns,
      recording.steps,
      recording.hostSteps.map((step, at) => new RepeatedStep(step, kept.has(at))),
      numbers,
      recording.draws,
      contents,
      new StretchStorages(this.#sources, bound, handedOut, this.#copies),
      this.#made,
      appended,
      results,
      cleared,
      list,
      serials,
      sizes,
    );
  }

  // ---- values

  #resultOf(register: number, value: IValue): number {
    const size = this.recording.sizeOf(register);
    if (size) return this.#sizeOf(size);
    const at = this.recording.sourceOf(register);
    return at < 0 ? this.#valueOf(value) : this.#made.push(this.#liveIn(at)) - 1;
  }

  #sizeOf(value: SymNode): number {
    return this.#made.push({ kind: 'size', value }) - 1;
  }

  #valueOf(value: IValue): number {
    if (typeof value !== 'object' || value === null) return this.#made.push({ kind: 'same', value }) - 1;
    let at = this.#madeObjects.get(value);
    if (at === undefined) {
      const made = this.#recipeOf(value);
      at = this.#made.push(made) - 1;
      this.#madeObjects.set(value, at);
    }
    return at;
  }

  #liveIn(at: number): MadeValue {
    this.#outliving.add(this.recording.liveIns[at].storage);
    return { kind: 'live-in', at };
  }

  #recipeOf(value: IValue & object): MadeValue {
    const liveIn = this.recording.liveInOf(value);
    if (liveIn >= 0) return this.#liveIn(liveIn);
    if (this.recording.isConstant(value)) return { kind: 'same', value };
    if (value instanceof Tensor) {
      const { dtype, symSizes: sizes, symStrides: strides, symStorageOffset: offset, requiresGrad, storage } = value;
      return { kind: 'tensor', storage: this.#outlive(storage, dtype), dtype, sizes, strides, offset, requiresGrad };
    }
    if (value instanceof List || value instanceof Tuple) {
      const sizes = value instanceof List ? this.recording.sizesInList(value) : null;
      const items = value.items.map((item, at) => {
        const size = sizes?.[at];
        return size instanceof SymNode ? this.#sizeOf(size) : this.#valueOf(item);
      });
      return value instanceof List
        ? { kind: 'list', elementType: value.elementType, items }
        : { kind: 'tuple', type: value.type, items };
    }
    return { kind: 'same', value };
  }

  /** A storage that is there when the stretch is over. */
  #outlive(storage: Storage, tensorType: ScalarType): number {
    let at = this.#numbers.get(storage);
    if (at !== undefined) {
      this.#outliving.add(at);
      return at;
    }
    const note = this.recording.storages.get(storage);
    at = this.#sources.push(this.#sourceOf(storage, note, realType(tensorType))) - 1;
    this.#numbers.set(storage, at);
    return at;
  }

  #sourceOf(storage: Storage, note: StorageNote | undefined, tensorType: ScalarType): StorageSource {
    if (storage.serial <= this.recording.firstSerial) return { kind: 'fixed', storage };
    if (storage.isOnHost) return { kind: 'copied', from: storage.copyOnHost() };
    const dtype = note?.dtype ?? tensorType;
    return { kind: 'made', dtype, count: symFloorDiv(storage.symBytes ?? storage.byteLength, elementSize(dtype)) };
  }

  // ---- launches

  #fuse(
    launches: readonly LaunchNote[],
    memory: RecordedMemory,
    recorder: LaunchRecorder,
    regions: Regions,
  ): LaunchNote[] {
    const { capabilities } = this.device;
    const { kept: values } = this.limits;
    if (!values) return fuseLaunches(launches, memory, capabilities, regions, (kernel) => kernel);
    const kept = new KeptLaunches(values, launches, (storage) => this.#isParameter(storage), recorder);
    const needed = kept.without(launches, (storage) => memory.isTemporary(storage));
    regions.parameters = kept;
    const fused = fuseLaunches(needed, memory, capabilities, regions, (kernel) => kept.lighten(kernel));
    const storages: Storage[] = [];
    const numberOf = (storage: Storage): number => {
      const known = this.#numbers.get(storage);
      const at = known ?? this.#sources.push({ kind: 'fixed', storage }) - 1;
      this.#numbers.set(storage, at);
      storages[at] ??= storage;
      return at;
    };
    kept.take(fused, (stands, value, of) => {
      const inputs = of.map(numberOf);
      const at = this.#sources.push({ kind: 'kept', value, inputs }) - 1;
      this.#numbers.set(stands, at);
      this.recording.storages.set(stands, {
        kind: 'fixed',
        dtype: value.made.dtype,
        layout: value.made.dtype,
        copy: null,
        writes: 0,
      });
      // Now rather than with the first replay: those are all alike.
      storages[at] = value.storageOf(inputs, storages);
    });
    return fused;
  }

  #giveUp(): null {
    for (const source of this.#sources) if (source.kind === 'kept') this.limits.kept!.release(source.value);
    for (const copy of this.#copies) copy.dispose();
    return null;
  }

  /** Whether what a storage holds is likely to be the same each time. */
  #isParameter(storage: Storage): boolean {
    if (this.recording.isOfFaults(storage)) return false;
    const kind = this.recording.storages.get(storage)?.kind;
    const attribute = kind === 'given' ? this.recording.attributeOf(storage) : null;
    if (!attribute) return kind === 'fixed';
    const { object, slot } = attribute;
    return !isSetBy(this.recording.frame.code, attribute) && !this.limits.kept!.isVarying(object, slot);
  }

  /** Numbers what launches take along. */
  #numbersOf(launches: readonly LaunchNote[]): NumberSource[] {
    const { liveIns, draws } = this.recording;
    const known = new Map<OpenNumber, NumberSource>();
    liveIns.forEach(({ open }, at) => {
      if (open) known.set(open, { kind: 'live-in', at, isScalar: !(liveIns[at] instanceof SameLayout) });
    });
    draws.forEach(({ key, first }, draw) => {
      known.set(key, { kind: 'draw', draw, part: 'key' }).set(first, { kind: 'draw', draw, part: 'first' });
    });
    const taken = new Set(launches.flatMap(({ launch }) => launch.params.flatMap(({ open }) => open ?? [])));
    return [...taken].map((open, index) => {
      open.index = index;
      return open instanceof DerivedNumber
        ? ({ ...known.get(open.base)!, of: open.of } as NumberSource)
        : known.get(open)!;
    });
  }

  #record(
    { launches, homeOf }: ArrangedLaunches,
    recorder: LaunchRecorder,
  ): { bound: BoundStorage[]; list: CommandList; sizes: StretchSizes | null } {
    const { env, storages } = this.recording;
    const uses = lifetimesOf(launches.map(({ storages: used }) => used.map(homeOf)));
    const stored = new Set(
      launches.flatMap(({ launch: { bindings }, storages: used }) =>
        used.filter((_, binding) => bindings[binding].stored).map(homeOf),
      ),
    );
    const bound: BoundStorage[] = [];
    const places = new Map<Storage, number>();
    const scratch: { storage: Storage; dtype: ScalarType; byteLength: number; first: number; last: number }[] = [];
    for (const [storage, { first, last }] of uses) {
      const { kind, dtype, layout, copy } = storages.get(storage)!;
      const outlives = this.#numbers.has(storage) && kind !== 'computed';
      if (kind === 'made' && !outlives) {
        const byteLength = deviceByteLength(this.device, dtype, storage.byteLength);
        scratch.push({ storage, dtype, byteLength, first, last });
        continue;
      }
      const number = outlives
        ? this.#numbers.get(storage)!
        : this.#sources.push({ kind: 'fixed', storage: copy ?? storage }) - 1;
      if (copy) this.#copies.push(copy);
      const isPassing = this.#passing.has(number);
      places.set(storage, bound.push({ storage: number, layout, stored: stored.has(storage), isPassing }) - 1);
    }
    const { buffers, bufferOf } = planMemory(scratch);
    scratch.forEach(({ storage }, at) => places.set(storage, bound.length + bufferOf[at]));
    const placeOf = (storage: Storage): number => places.get(homeOf(storage))!;
    const recorded = launches.map(({ launch, storages: used }) => ({ launch, places: used.map(placeOf) }));
    const list = recorder.record(recorded, bound.length, buffers);
    if (!env) return { bound, list, sizes: null };
    const sized = launches.flatMap(({ launch: { kernel, bindings } }, at): SizedLaunch[] =>
      kernel && isSymbolicKernel(kernel) ? [{ at, kernel, bindings, placeOf }] : [],
    );
    const sizedScratch = buffers.map((_, buffer): SizedScratch => {
      const within = scratch.filter((_each, at) => bufferOf[at] === buffer);
      const fixed = within.flatMap(({ storage, byteLength }) => (storage.symBytes ? [] : byteLength));
      const values = within.flatMap(({ storage: { symBytes: bytes }, dtype }) => (bytes ? { dtype, bytes } : []));
      return { byteLength: Math.max(0, ...fixed), values };
    });
    return { bound, list, sizes: new StretchSizes(env, list, recorder, sized, sizedScratch) };
  }
}
