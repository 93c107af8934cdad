import type { Storage } from '@cresset/tensor';
import { nodesOf, type LaunchRecorder } from '@cresset/tensorexpr';
import { placesOf } from './launch-order.ts';
import type { LaunchNote } from './recording-notes.ts';

/** What one launch may be. */
export interface JoinLimits {
  /** Nodes of its expressions. */
  readonly joinedNodes: number;
  readonly maxStorageBuffers: number;
}

/**
 * Makes one launch of those that may be done at the same time. In each turn the launch that most others wait for takes along what else can be done by then,
 * as far as one shader and the device's bindings reach: what nothing waits for, such as the update of a parameter, costs no turn of its own.
 *
 * @param homeOf the storage in whose memory one lies
 */
export function joinLaunches(
  notes: readonly LaunchNote[],
  homeOf: (storage: Storage) => Storage,
  limits: JoinLimits,
  recorder: LaunchRecorder,
): LaunchNote[] {
  const places = placesOf(notes, homeOf);
  const pending = new Set(places.keys());
  const joined: LaunchNote[] = [];
  while (pending.size > 0) {
    const ready = [...pending].filter((at) => [...places[at].before].every((other) => !pending.has(other)));
    ready.sort((a, b) => places[b].depth - places[a].depth || a - b);
    const turn = new Turn(limits);
    for (const at of ready) if (turn.take(notes[at])) pending.delete(at);
    joined.push(...turn.launches(recorder));
  }
  return joined;
}

/** What is done at a time. */
class Turn {
  readonly #notes: LaunchNote[] = [];
  readonly #bound = new Set<Storage>();
  #nodes = 0;

  constructor(private readonly limits: JoinLimits) {}

  /** Takes a launch along, where it may be done with the others; whether it was. */
  take(note: LaunchNote): boolean {
    const nodes = this.#nodes + lengthOf(note);
    const bound = new Set([...this.#bound, ...note.storages]);
    const { joinedNodes, maxStorageBuffers } = this.limits;
    if (this.#notes.length > 0 && (nodes > joinedNodes || bound.size > maxStorageBuffers)) return false;
    this.#notes.push(note);
    this.#nodes = nodes;
    for (const storage of note.storages) this.#bound.add(storage);
    return true;
  }

  launches(recorder: LaunchRecorder): LaunchNote[] {
    const launch = this.#notes.length > 1 ? recorder.together(this.#notes.map((note) => note.launch)) : null;
    return launch ? [{ launch, storages: launch.bindings.map(({ operand }) => operand.tensor.storage) }] : this.#notes;
  }
}

/** Of one of several launches that a kernel came to. */
const usualNodes = 50;

/** Nodes of a launch's expressions. */
const lengthOf = ({ launch: { kernel } }: LaunchNote): number => (kernel ? nodesOf(kernel) : usualNodes);
