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
import {
  isScratch,
  kernelOf,
  launchStep,
  stepsOf,
  turnsOf,
  withLaunches,
  type LaunchProgram,
  type LaunchStep,
} from '../program/launch-program.ts';
import type { KeptParameters } from './keep-parameters.ts';
import { lifetimesOf } from './launch-table.ts';

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
  /** What makes of parameters what is kept, small ones that may lie together too; null where nothing is. */
  readonly parameters: KeptParameters | null;
}

/** Storages that share one buffer. */
type Region = ReadonlySet<Storage>;

/**
 * Storages of a program that are regions of one buffer of the GPU, which is one binding to a launch: a device has few. Whatever looks at launches
 * before sees the storages, each by itself; in the end (`place`) there are kernels with the buffer in their place.
 */
export class Regions {
  readonly #shared = new Map<Storage, Region>();
  /** Storages that launches use which nobody can write anew, or that share memory already. */
  readonly #alone = new Set<Storage>();

  constructor(
    private readonly program: LaunchProgram,
    private readonly limits: RegionLimits,
  ) {
    for (const step of stepsOf(program, 'launch')) {
      const kernel = kernelOf(step);
      // Where what has other sizes begins would be another place each time.
      this.leaveAlone(step.storages.filter(({ symBytes }) => symBytes));
      if (!kernel) this.leaveAlone(step.storages);
      else this.leaveAlone(kernel.stores.flatMap((store) => (store.combine ? store.operand.tensor.storage : [])));
    }
  }

  /** Has these storages share no buffer from now on. */
  leaveAlone(storages: Iterable<Storage>): void {
    for (const storage of storages) this.#alone.add(storage);
  }

  /** The tensor of another storage that one stands for. */
  #partOf(storage: Storage): Tensor | undefined {
    return this.program.storages.get(storage)?.part;
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
      const packed = this.limits.parameters?.packed(kernel, excess, capabilities.maxStorageBuffers);
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

  /** Whether a launch that uses all of these can bind them, as they share buffers already. */
  fits(used: ReadonlySet<Storage>): boolean {
    return this.#bindingsOf(used, this.#shared) <= this.limits.capabilities.maxStorageBuffers;
  }

  /** Has storages share buffers where launches that use all of these need it; whether they can be bound then. */
  join(used: ReadonlySet<Storage>): boolean {
    if (this.fits(used)) return true;
    if (!this.limits.isShared) return false;
    const regions = this.#regionsFor(used, used);
    if (this.#bindingsOf(used, regions) > this.limits.capabilities.maxStorageBuffers) return false;
    for (const [storage, region] of regions) this.#shared.set(storage, region);
    return true;
  }

  #bindingsOf(used: ReadonlySet<Storage>, regions: ReadonlyMap<Storage, Region>): number {
    const bound = new Set([...used].map((each) => regions.get(each) ?? this.#partOf(each)?.storage ?? each));
    // A region is one binding.
    const alone = [...bound].filter((each) => !(each instanceof Set)) as Storage[];
    return bound.size - alone.length + bindingsFor(alone, this.limits.capabilities);
  }

  /** Those of storages in which they share as much as they may, where too many are bound otherwise; all that change among them. */
  #regionsFor(used: ReadonlySet<Storage>, stored: ReadonlySet<Storage>): ReadonlyMap<Storage, Region> {
    const { capabilities, isWide } = this.limits;
    if (this.#bindingsOf(used, this.#shared) <= capabilities.maxStorageBuffers) return this.#shared;
    const regions = new Map(this.#shared);
    const byType = new Map<ScalarType, Set<Storage>>();
    for (const storage of isWide ? used : stored) {
      if (this.#alone.has(storage) || !isScratch(this.program, storage)) continue;
      const { dtype } = this.program.storages.get(storage)!;
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
    return Tensor.planned([count], this.program.storages.get(first)!.dtype);
  }

  #placed(kernel: Kernel, placeOf: (storage: Storage) => Place | null): Kernel {
    const places = new Map<Storage, Elsewhere | null>();
    const find = ({ tensor: { storage }, dtype }: Operand): Elsewhere | null => {
      const whole = this.#partOf(storage);
      if (whole) return { operand: { tensor: whole, dtype }, base: null };
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
   * A program with buffers in the place of the storages that share them, and wholes in the place of parts. Launches of one turn are done at a time. Null where
   * one cannot be made so after all.
   */
  place(program: LaunchProgram): LaunchProgram | null {
    const turns = turnsOf(program);
    const storages = new Map([...program.storages].filter(([, { part }]) => !part));
    const places = this.#placesIn(turns);
    for (const { home } of places.values())
      storages.set(home.storage, { kind: 'scratch', dtype: home.dtype, layout: home.dtype });
    const placed: LaunchStep[] = [];
    for (const step of turns.flat()) {
      const { launch } = step;
      const isElsewhere = step.storages.some((storage) => places.has(storage) || this.#partOf(storage));
      const moved = isElsewhere ? this.#placed(launch.kernel!, (storage) => places.get(storage) ?? null) : null;
      const other = moved && this.limits.recorder.prepare(moved);
      if (moved && !other) return null;
      placed.push(other ? { ...step, ...launchStep(other) } : step);
    }
    return withLaunches(program, placed, storages);
  }

  /** Where each of those that share a buffer lies in it: what does not live at a time lies at one place. */
  #placesIn(turns: readonly (readonly LaunchStep[])[]): Map<Storage, Place> {
    const uses = lifetimesOf(turns.map((turn) => turn.flatMap(({ storages }) => storages)));
    const places = new Map<Storage, Place>();
    for (const region of new Set(this.#shared.values())) {
      const members = [...region].filter((storage) => uses.has(storage));
      if (members.length === 0) continue;
      const { dtype } = this.program.storages.get(members[0])!;
      const lifetimes = members.map((storage) => {
        const count = Math.ceil(storage.byteLength / elementSize(dtype) / alignment) * alignment;
        return { byteLength: count, ...uses.get(storage)! };
      });
      const { buffers, bufferOf } = planMemory(lifetimes);
      const starts: number[] = [];
      const total = buffers.reduce((sum, count, at) => ((starts[at] = sum), sum + count), 0);
      const home = this.#homeFor(members, total);
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
