import type { ScalarType, Storage } from '@cresset/tensor';
import type { DeviceCapabilities, LaunchRecorder } from '@cresset/tensorexpr';
import type { RecordedMemory } from './fused-launches.ts';
import { storeInPlaces } from './in-place-launches.ts';
import { joinLaunches, turnsOf } from './joined-launches.ts';
import type { LaunchNote } from '../recording/recording-notes.ts';
import type { Regions } from './regions.ts';
import { shortenChains } from './shortened-chains.ts';

/** Launches as a list has them. */
export interface ArrangedLaunches {
  readonly launches: readonly LaunchNote[];
  /** The storage in whose memory one lies. */
  homeOf(storage: Storage): Storage;
}

/** What launches are arranged with. */
export interface Arrangement {
  readonly capabilities: DeviceCapabilities;
  readonly recorder: LaunchRecorder;
  readonly regions: Regions;
  /** How much is done in one launch at most; 0 where none are put together. */
  readonly joinedNodes: number;
  readonly memory: RecordedMemory;
  /** What the elements of a storage are on the device. */
  dtypeOf(storage: Storage): ScalarType;
}

/**
 * Decides which launches store over what they read, which are one because they wait for nothing of each other, and where storages lie that share a
 * buffer. Null where launches cannot be made with such buffers after all.
 */
export function arrangeLaunches(notes: readonly LaunchNote[], arrangement: Arrangement): ArrangedLaunches | null {
  const { capabilities, recorder, regions, joinedNodes, memory, dtypeOf } = arrangement;
  const chained = joinedNodes > 0 ? shortenChains(notes, memory, capabilities, regions) : notes;
  const ownsMemory = (storage: Storage): boolean => memory.isTemporary(storage) && !regions.has(storage);
  const { homes, launches } = storeInPlaces(chained, ownsMemory, dtypeOf, regions);
  const homeOf = (storage: Storage): Storage => (homes.has(storage) ? homeOf(homes.get(storage)!) : storage);
  for (const shared of homes) regions.leaveAlone(shared);
  const turns =
    joinedNodes > 0
      ? turnsOf(launches, homeOf, { joinedNodes, mayBind: (storages) => regions.join(storages) })
      : launches.map((note) => [note]);
  const placed = regions.place(turns);
  return placed && { launches: placed.flatMap((turn) => joinLaunches(turn, recorder)), homeOf };
}
