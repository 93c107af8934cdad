import { elementSize, Tensor, type ScalarType, type Storage } from '@cresset/tensor';
import {
  bindingsFor,
  elsewhere,
  expressionsIn,
  loadsIn,
  normalise,
  param,
  signatureOf,
  type DeviceCapabilities,
  type Elsewhere,
  type Expr,
  type Kernel,
  type LaunchRecorder,
  type Operand,
  type PreparedLaunch,
} from '@cresset/tensorexpr';
import { planMemory } from '../../memory/memory-plan.ts';
import type { KeptLaunches } from './kept-launches.ts';
import { lifetimesOf } from './launch-table.ts';
import { kernelOf, noteOf, type LaunchNote } from '../recording/recording-notes.ts';

/** Regions begin at multiples of so many elements, which vectors of four do too. */
const alignment = 64;

/** What regions are made with. */
export interface RegionLimits {
  readonly capabilities: DeviceCapabilities;
  readonly recorder: LaunchRecorder;
  /** Whether storages share anything. */
  readonly isShared: boolean;
  /** Whether what a launch reads may share a buffer with what it stores, and not its results alone: no vectors are loaded of such a buffer. */
  readonly isWide: boolean;
  /** Whether nobody reads a storage after the last launch. */
  isTemporary(storage: Storage): boolean;
  /** What the elements of a storage are on the device. */
  dtypeOf(storage: Storage): ScalarType;
}

/** Storages that share one buffer. */
type Region = ReadonlySet<Storage>;

/**
 * Storages of a recording that are regions of one buffer of the GPU, which is one binding to a launch: a device has few. Whatever looks at launches
 * before sees the storages, each by itself; what is recorded in the end are kernels with the buffer in their place.
 */
export class Regions {
  readonly #shared = new Map<Storage, Region>();
  /** Storages that launches use which nobody can write anew, or that share memory already. */
  readonly #alone = new Set<Storage>();
  /** What makes of parameters what is kept; small ones may lie together too. */
  parameters: KeptLaunches | null = null;
  /** The storages in which regions lie, once that is decided. */
  readonly homes = new Map<Storage, ScalarType>();

  /** @param pieces storages that stand for disjoint parts of others, with tensors of these */
  constructor(
    launches: readonly LaunchNote[],
    private readonly pieces: ReadonlyMap<Storage, Tensor>,
    private readonly limits: RegionLimits,
  ) {
    for (const note of launches) {
      const kernel = kernelOf(note);
      // Where what has other sizes begins would be another place each time.
      this.leaveAlone(note.storages.filter(({ symBytes }) => symBytes));
      if (!kernel) this.leaveAlone(note.storages);
      else this.leaveAlone(kernel.stores.flatMap((store) => (store.combine ? store.operand.tensor.storage : [])));
    }
  }

  /** Has these storages share no buffer from now on. */
  leaveAlone(storages: Iterable<Storage>): void {
    for (const storage of storages) this.#alone.add(storage);
  }

  /** Whether a storage shares a buffer with others. */
  has(storage: Storage): boolean {
    return this.#shared.has(storage);
  }

  /** As the recorder does: also where a kernel can be bound only with storages that share a buffer. */
  prepare(kernel: Kernel): PreparedLaunch | null {
    const { recorder, capabilities, isShared } = this.limits;
    const launch = recorder.prepare(kernel);
    if (launch || !isShared || capabilities.host) return launch;
    const stored = new Set(kernel.stores.map(({ operand }) => operand.tensor.storage));
    const used = new Set([...stored, ...loadsIn(expressionsIn(kernel)).map(({ operand }) => operand.tensor.storage)]);
    if (bindingsFor(used, capabilities) <= capabilities.maxStorageBuffers) return null;
    const regions = this.#regionsFor(used, stored);
    const excess = this.#bindingsOf(used, regions) - capabilities.maxStorageBuffers;
    if (excess > 0) {
      const packed = this.parameters?.packed(kernel, excess, capabilities.maxStorageBuffers);
      return packed ? this.prepare(packed) : null;
    }
    // Where they begin is decided later.
    const homes = new Map([...new Set(regions.values())].map((region) => [region, this.#homeFor(region, 0)]));
    const placeOf = (storage: Storage): Place | null => {
      const region = regions.get(storage);
      return region ? { home: homes.get(region)!, first: alignment } : null;
    };
    if (!recorder.prepare(this.#placed(kernel, placeOf))) return null;
    for (const [storage, region] of regions) this.#shared.set(storage, region);
    const { bindings, params } = signatureOf(normalise(kernel));
    return { bindings, params, kernel };
  }

  /** Has storages share buffers where launches that use all of these need it; whether they can be bound then. */
  join(used: ReadonlySet<Storage>): boolean {
    const { maxStorageBuffers } = this.limits.capabilities;
    if (this.#bindingsOf(used, this.#shared) <= maxStorageBuffers) return true;
    if (!this.limits.isShared) return false;
    const regions = this.#regionsFor(used, used);
    if (this.#bindingsOf(used, regions) > maxStorageBuffers) return false;
    for (const [storage, region] of regions) this.#shared.set(storage, region);
    return true;
  }

  #bindingsOf(used: ReadonlySet<Storage>, regions: ReadonlyMap<Storage, Region>): number {
    const bound = new Set([...used].map((each) => regions.get(each) ?? this.pieces.get(each)?.storage ?? each));
    // A region is one binding.
    const alone = [...bound].filter((each) => !(each instanceof Set)) as Storage[];
    return bound.size - alone.length + bindingsFor(alone, this.limits.capabilities);
  }

  /** Those of storages in which they share as much as they may, where too many are bound otherwise; all that change among them. */
  #regionsFor(used: ReadonlySet<Storage>, stored: ReadonlySet<Storage>): ReadonlyMap<Storage, Region> {
    const { capabilities, isWide, isTemporary, dtypeOf } = this.limits;
    if (this.#bindingsOf(used, this.#shared) <= capabilities.maxStorageBuffers) return this.#shared;
    const regions = new Map(this.#shared);
    const byType = new Map<ScalarType, Set<Storage>>();
    for (const storage of isWide ? used : stored) {
      if (this.#alone.has(storage) || !isTemporary(storage)) continue;
      const dtype = dtypeOf(storage);
      const region = byType.get(dtype) ?? new Set();
      byType.set(dtype, region);
      for (const each of regions.get(storage) ?? [storage]) region.add(each);
    }
    for (const [dtype, region] of byType) {
      let elements = 0;
      for (const { byteLength } of region) elements += byteLength / elementSize(dtype) + alignment;
      const fits = elements * Math.max(4, elementSize(dtype)) <= capabilities.maxBindingBytes;
      if (region.size > 1 && fits) for (const storage of region) regions.set(storage, region);
    }
    return regions;
  }

  #homeFor([first]: Region | readonly Storage[], count: number): Tensor {
    return Tensor.planned([count], this.limits.dtypeOf(first));
  }

  #placed(kernel: Kernel, placeOf: (storage: Storage) => Place | null): Kernel {
    const places = new Map<Storage, Elsewhere | null>();
    const find = ({ tensor: { storage }, dtype }: Operand): Elsewhere | null => {
      const piece = this.pieces.get(storage);
      if (piece) return { operand: { tensor: piece, dtype }, base: null };
      const place = placeOf(storage);
      if (!place) return null;
      const base: Expr | null = place.first > 0 ? param('i32', place.first) : null;
      return { operand: { tensor: place.home, dtype }, base };
    };
    return elsewhere(kernel, (operand) => {
      const { storage } = operand.tensor;
      if (!places.has(storage)) places.set(storage, find(operand));
      return places.get(storage)!;
    });
  }

  /**
   * Launches with buffers in the place of the storages that share them. What is done at a time stands together. Null where one cannot be made so after all.
   */
  place(turns: readonly (readonly LaunchNote[])[]): LaunchNote[][] | null {
    const places = this.#placesIn(turns);
    const placed: LaunchNote[][] = [];
    for (const turn of turns) {
      const notes: LaunchNote[] = [];
      for (const note of turn) {
        const isElsewhere = note.storages.some((storage) => places.has(storage) || this.pieces.has(storage));
        const { launch } = note;
        const moved = isElsewhere ? this.#placed(launch.kernel!, (storage) => places.get(storage) ?? null) : null;
        const other = moved && this.limits.recorder.prepare(moved);
        if (moved && !other) return null;
        notes.push(other ? noteOf(other) : note);
      }
      placed.push(notes);
    }
    return placed;
  }

  /** Where each of those that share a buffer lies in it: what does not live at a time lies at one place. */
  #placesIn(turns: readonly (readonly LaunchNote[])[]): Map<Storage, Place> {
    const uses = lifetimesOf(turns.map((turn) => turn.flatMap(({ storages }) => storages)));
    const places = new Map<Storage, Place>();
    for (const region of new Set(this.#shared.values())) {
      const members = [...region].filter((storage) => uses.has(storage));
      if (members.length === 0) continue;
      const dtype = this.limits.dtypeOf(members[0]);
      const lifetimes = members.map((storage) => {
        const count = Math.ceil(storage.byteLength / elementSize(dtype) / alignment) * alignment;
        return { byteLength: count, ...uses.get(storage)! };
      });
      const { buffers, bufferOf } = planMemory(lifetimes);
      const starts: number[] = [];
      const total = buffers.reduce((sum, count, at) => ((starts[at] = sum), sum + count), 0);
      const home = this.#homeFor(members, total);
      this.homes.set(home.storage, dtype);
      members.forEach((storage, at) => places.set(storage, { home, first: starts[bufferOf[at]] }));
    }
    return places;
  }
}

/** Where a region lies, in elements of the tensor that stands for the buffer. */
interface Place {
  readonly home: Tensor;
  readonly first: number;
}
