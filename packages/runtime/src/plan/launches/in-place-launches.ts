import { elementSize, type ScalarType, type Storage, symFloorDiv } from '@cresset/tensor';
import { storeInPlace, type Kernel } from '@cresset/tensorexpr';
import type { Preparation } from './fused-launches.ts';
import { lifetimesOf, type LifetimeOf } from './launch-table.ts';
import { kernelOf, noteOf, type LaunchNote } from '../recording/recording-notes.ts';

/** Where the memory of a recording's values is, when some are stored over others. */
export interface InPlaceLaunches {
  readonly launches: readonly LaunchNote[];
  /** The storages whose memory others take. */
  readonly homes: ReadonlyMap<Storage, Storage>;
}

/** A shader takes time to compile: another one has to save as much, bytes. */
const worthShader = 256 << 10;

/**
 * Has launches store what they make over an operand of the same size that nobody needs any more, where it lowers the most memory that the
 * values between launches take at a time.
 *
 * @param isTemporary whether nobody reads a storage after the last launch
 * @param dtypeOf what the elements of a storage are on the device
 */
export function storeInPlaces(
  notes: readonly LaunchNote[],
  isTemporary: (storage: Storage) => boolean,
  dtypeOf: (storage: Storage) => ScalarType,
  recorder: Preparation,
): InPlaceLaunches {
  const launches = [...notes];
  const homes = new Map<Storage, Storage>();
  const uses = lifetimesOf(launches.map(({ storages }) => storages.filter(isTemporary)));
  const taken = Array.from(launches, () => 0);
  for (const [{ byteLength }, { first, last }] of uses) for (let at = first; at <= last; at++) taken[at] += byteLength;
  const before = Math.max(0, ...taken);
  const changes = new Map<number, Change>();
  for (let most = before; most >= worthShader; most = Math.max(0, ...taken)) {
    const at = taken.indexOf(most);
    const change = changes.has(at) ? null : changeOf(launches[at], at, uses, dtypeOf);
    if (!change) break;
    changes.set(at, change);
    taken[at] -= change.output.byteLength;
  }
  if (Math.max(0, ...taken) === before) return { launches, homes };
  for (const [at, { kernel, output, input }] of changes) {
    const launch = recorder.prepare(kernel);
    if (!launch) continue;
    launches[at] = noteOf(launch);
    homes.set(output, input);
  }
  return { launches, homes };
}

/** A launch that stores in place. */
interface Change {
  readonly kernel: Kernel;
  readonly output: Storage;
  readonly input: Storage;
}

function changeOf(
  note: LaunchNote,
  at: number,
  uses: ReadonlyMap<Storage, LifetimeOf>,
  dtypeOf: (storage: Storage) => ScalarType,
): Change | null {
  const kernel = kernelOf(note);
  if (!kernel) return null;
  const {
    launch: { bindings },
    storages,
  } = note;
  const made = storages.filter((storage, binding) => bindings[binding].stored && uses.get(storage)?.first === at);
  const dead = storages.filter((storage, binding) => !bindings[binding].stored && uses.get(storage)?.last === at);
  for (const output of made) {
    if (output.byteLength < worthShader) continue;
    for (const input of dead) {
      const dtype = dtypeOf(output);
      if (input.byteLength !== output.byteLength || dtypeOf(input) !== dtype) continue;
      if (input.symBytes !== output.symBytes) continue;
      const count = symFloorDiv(output.symBytes ?? output.byteLength, elementSize(dtype));
      const changed = storeInPlace(kernel, output, input, count);
      if (changed) return { kernel: changed, output, input };
    }
  }
  return null;
}
