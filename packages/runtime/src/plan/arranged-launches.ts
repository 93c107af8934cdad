import type { ScalarType, Storage } from '@cresset/tensor';
import type { DeviceCapabilities, LaunchRecorder } from '@cresset/tensorexpr';
import { storeInPlaces } from './in-place-launches.ts';
import { joinLaunches } from './joined-launches.ts';
import type { LaunchNote } from './recording-notes.ts';
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
  /** How much is done in one launch at most (`RuntimeLimits`). */
  readonly joinedNodes: number;
  /** Whether nobody reads a storage after the last launch. */
  isTemporary(storage: Storage): boolean;
  /** What the elements of a storage are on the device. */
  dtypeOf(storage: Storage): ScalarType;
}

/** Decides which launches store over what they read, and which are one because they wait for nothing of each other. */
export function arrangeLaunches(notes: readonly LaunchNote[], arrangement: Arrangement): ArrangedLaunches {
  const { capabilities, recorder, joinedNodes, isTemporary, dtypeOf } = arrangement;
  // The host does one launch after the other.
  const areJoined = joinedNodes > 0 && !capabilities.host;
  const chained = areJoined ? shortenChains(notes, isTemporary, capabilities, recorder) : notes;
  const { homes, launches } = storeInPlaces(chained, isTemporary, dtypeOf, recorder);
  const homeOf = (storage: Storage): Storage => (homes.has(storage) ? homeOf(homes.get(storage)!) : storage);
  const { maxStorageBuffers } = capabilities;
  return {
    launches: areJoined ? joinLaunches(launches, homeOf, { joinedNodes, maxStorageBuffers }, recorder) : launches,
    homeOf,
  };
}
