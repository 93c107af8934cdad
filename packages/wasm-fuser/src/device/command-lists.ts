import type { DeviceBuffer, Storage } from '@cresset/tensor';
import {
  runningSoftmaxOf,
  type CommandList,
  type Kernel,
  type LaunchRecorder,
  type PreparedLaunch,
  type RecordedLaunch,
  type TemporaryTensor,
} from '@cresset/tensorexpr';
import { writeParam } from '../nests/launch-block.ts';
import { KeptSides } from './kept-sides.ts';
import type { ListHost } from './list-host.ts';
import { hasLongPoints } from './long-loops.ts';
import { bytesOfBlock, writeParams, writePlaces, type Place } from './launch-memory.ts';
import { PIECE_STEPS, type PreparedKernel } from './programs.ts';
import type { Work } from './turns.ts';
import type { WasmBuffer } from './wasm-buffer.ts';

interface Command {
  readonly prepared: PreparedKernel;
  readonly places: readonly number[];
  /** Which of those given it writes. */
  readonly stored: readonly number[];
  readonly block: number;
  /** Where its bindings lay the last time. */
  readonly last: Place[];
  /** Params that come with each replay: which of its own they are, and which of those given. */
  readonly open: readonly { readonly param: number; readonly number: number }[];
  /** Sides that are the same from replay to replay; null where none can be. */
  readonly kept: KeptSides | null;
}

class WasmCommandList implements CommandList {
  /** Blocks that launches have instead, by their addresses: how large they are. */
  readonly ownBlocks = new Map<number, number>();

  constructor(
    readonly launches: Command[],
    readonly given: number,
    /** Which of those given are written. */
    readonly stored: readonly number[],
    /** Where scratch buffers lie among those of all lists, and how many bytes they have. */
    public scratch: ScratchLayout,
    readonly blocks: number,
    readonly blockBytes: number,
  ) {}

  get byteLength(): number {
    return this.blockBytes + this.launches.reduce((sum, { kept }) => sum + (kept?.byteLength ?? 0), 0);
  }
}

/** Where scratch buffers lie among those of all lists, how large they are, and how large all are. */
interface ScratchLayout {
  readonly places: readonly Place[];
  readonly byteLength: number;
}

function scratchLayout(scratch: readonly number[]): ScratchLayout {
  let end = 0;
  const places = scratch.map((byteLength): Place => {
    const place = { address: end, byteLength };
    end += Math.ceil(byteLength / 64) * 64 + 64;
    return place;
  });
  return { places, byteLength: end };
}

/** Launches as lists: params that are written once, scratch memory for all lists, and packed weights that stay. */
export class CommandLists implements LaunchRecorder {
  listener: ((launch: PreparedLaunch) => void) | null = null;
  #scratch = 0;
  #scratchBytes = 0;

  constructor(private readonly device: ListHost) {}

  /** Bytes that lists share. */
  get scratchBytes(): number {
    return this.#scratchBytes;
  }

  prepare(kernel: Kernel): PreparedLaunch | null {
    return asOne(kernel, this.device.prepare(kernel));
  }

  prepareAgain(kernel: Kernel): PreparedLaunch | null {
    return asOne(kernel, this.device.prepareAgain(kernel));
  }

  prepareAll(kernel: Kernel, temporary: TemporaryTensor): readonly PreparedLaunch[] {
    return this.device.launchesOf(kernel, temporary);
  }

  launch(launch: PreparedLaunch, storages: readonly Storage[]): void {
    this.device.enqueue(launch as PreparedKernel, storages);
  }

  /** The thread does one after the other anyway. */
  together(): null {
    return null;
  }

  record(recorded: readonly RecordedLaunch[], given: number, scratch: readonly number[]): CommandList {
    let byteLength = 0;
    const starts = recorded.map(({ launch }) => {
      const start = byteLength;
      byteLength += bytesOfBlock((launch as PreparedKernel).signature);
      return start;
    });
    const blocks = this.device.takeMemory(byteLength);
    const launches = recorded.map((each, at) => this.#listed(each, blocks + starts[at], given, null));
    const stored = [...new Set(launches.flatMap((launch) => launch.stored))];
    return new WasmCommandList(launches, given, stored, scratchLayout(scratch), blocks, byteLength);
  }

  #listed({ launch, places }: RecordedLaunch, block: number, given: number, before: KeptSides | null): Command {
    const prepared = launch as PreparedKernel;
    writeParams(this.device.linear, block, prepared.signature);
    const open = prepared.params.flatMap(({ open: number }, param) =>
      number ? [{ param, number: number.index }] : [],
    );
    const kept = open.length === 0 ? KeptSides.of(this.device, prepared, block, places, given, before) : null;
    const stored = places.filter((place, binding) => place < given && prepared.bindings[binding].stored);
    return { prepared, places, stored, block, last: [], open, kept };
  }

  change(listed: CommandList, changed: ReadonlyMap<number, RecordedLaunch>, scratch: readonly number[]): void {
    const list = listed as WasmCommandList;
    // Replays that wait go by what the list was.
    this.device.turns.after(() => {
      for (const [at, launch] of changed) {
        const { block, kept } = list.launches[at];
        const own = this.#blockFor(list, block, bytesOfBlock((launch.launch as PreparedKernel).signature));
        list.launches[at] = this.#listed(launch, own, list.given, kept);
      }
      list.scratch = scratchLayout(scratch);
    });
  }

  /** A block of its own for a launch that may have more params than it had. */
  #blockFor({ ownBlocks }: WasmCommandList, block: number, byteLength: number): number {
    if ((ownBlocks.get(block) ?? 0) >= byteLength) return block;
    if (ownBlocks.delete(block)) this.device.linear.give(block);
    const own = this.device.takeMemory(byteLength);
    ownBlocks.set(own, byteLength);
    return own;
  }

  replay(listed: CommandList, given: readonly DeviceBuffer[], open: readonly (number | bigint)[]): void {
    const list = listed as WasmCommandList;
    const buffers = (given as readonly WasmBuffer[]).slice(0, list.given);
    for (const place of list.stored) buffers[place].writes++;
    this.device.counters.dispatches += list.launches.length;
    this.device.turns.take(this.#run(list, buffers, [...open]), () => ({
      reads: buffers,
      stores: list.stored.map((place) => buffers[place]),
    }));
  }

  *#run(list: WasmCommandList, given: readonly WasmBuffer[], numbers: readonly (number | bigint)[]): Work {
    const scratch = this.#takeScratch(list.scratch.byteLength);
    const bound: Place[] = [...given];
    for (const { address, byteLength } of list.scratch.places) bound.push({ address: scratch + address, byteLength });
    const { launches, linear: memory } = this.device;
    let steps = 0;
    try {
      for (const { prepared, places, stored, block, last, open, kept } of list.launches) {
        let isMoved = false;
        for (let at = 0; at < places.length; at++) {
          const place = bound[places[at]];
          isMoved ||= last[at]?.address !== place.address || last[at].byteLength !== place.byteLength;
          last[at] = place;
        }
        if (isMoved) writePlaces(memory, block, last);
        for (const { param, number } of open)
          writeParam(memory.view, block, prepared.signature, param, numbers[number]);
        for (const place of stored) given[place].noteStore();
        if (launches.isShort(prepared)) {
          launches.runPoints(prepared, block, 0, prepared.points);
          steps += prepared.steps;
          if (steps < PIECE_STEPS) continue;
        } else {
          if (kept) yield* kept.see(given, last);
          yield* launches.run(prepared, block, last, kept);
        }
        steps = 0;
        yield;
      }
    } catch (error) {
      // Some of them may have stored already: nobody is to do them again.
      this.device.fail(error);
    }
  }

  forget(listed: CommandList): void {
    const { launches, blocks, ownBlocks } = listed as WasmCommandList;
    this.device.turns.after(() => {
      for (const block of [blocks, ...ownBlocks.keys()]) this.device.linear.give(block);
      for (const { kept } of launches) kept?.dispose();
    });
  }

  /** Gives up what lists share, behind the work that waits; the next replay takes it anew. */
  trim(): void {
    this.device.turns.after(() => this.#giveScratch());
  }

  #giveScratch(): void {
    if (this.#scratchBytes > 0) this.device.linear.give(this.#scratch);
    this.#scratchBytes = 0;
  }

  #takeScratch(byteLength: number): number {
    if (byteLength > this.#scratchBytes) {
      this.#giveScratch();
      this.#scratch = this.device.takeMemory(byteLength);
      this.#scratchBytes = byteLength;
    }
    return this.#scratch;
  }
}

/** A launch that is one piece of work; null where it would be several, or is done better as several. */
function asOne(kernel: Kernel, prepared: PreparedKernel): PreparedKernel | null {
  // As a nest, attention works out each score anew for each column.
  const isDear = prepared.kind === 'nest' && kernel.kind === 'contraction' && runningSoftmaxOf(kernel) !== null;
  return isDear || hasLongPoints(prepared) ? null : prepared;
}
