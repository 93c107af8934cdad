import type { Storage } from '@cresset/tensor';
import { nodesOf, type LaunchRecorder } from '@cresset/tensorexpr';
import { placesOf } from './launch-order.ts';
import { noteOf, type LaunchNote } from '../recording/recording-notes.ts';

/** What one launch may be. */
export interface JoinLimits {
  /** Nodes of its expressions. */
  readonly joinedNodes: number;
  /** Whether one launch may use all of these. */
  mayBind(storages: ReadonlySet<Storage>): boolean;
}

/**
 * Puts launches together that may be done at the same time. In each turn the launch that most others wait for takes along what else can be done by then,
 * as far as one shader and the device's bindings reach: what nothing waits for, such as the update of a parameter, costs no turn of its own.
 *
 * @param homeOf the storage in whose memory one lies
 */
export function turnsOf(
  notes: readonly LaunchNote[],
  homeOf: (storage: Storage) => Storage,
  limits: JoinLimits,
): LaunchNote[][] {
  const places = placesOf(notes, homeOf);
  const pending = new Set(places.keys());
  const turns: LaunchNote[][] = [];
  while (pending.size > 0) {
    const ready = [...pending].filter((at) => [...places[at].before].every((other) => !pending.has(other)));
    ready.sort((a, b) => places[b].depth - places[a].depth || a - b);
    const turn = new Turn(limits);
    for (const at of ready) if (turn.take(notes[at])) pending.delete(at);
    turns.push(turn.notes);
  }
  return turns;
}

/** What is done at a time. */
class Turn {
  readonly notes: LaunchNote[] = [];
  #used = new Set<Storage>();
  #nodes = 0;

  constructor(private readonly limits: JoinLimits) {}

  /** Takes a launch along, where it may be done with the others; whether it was. */
  take(note: LaunchNote): boolean {
    const nodes = this.#nodes + lengthOf(note);
    const used = new Set([...this.#used, ...note.storages]);
    const { joinedNodes } = this.limits;
    if (this.notes.length > 0 && (nodes > joinedNodes || !this.limits.mayBind(used))) return false;
    this.notes.push(note);
    this.#nodes = nodes;
    this.#used = used;
    return true;
  }
}

/** What is done at a time as one launch, where the device can do that. */
export function joinLaunches(turn: readonly LaunchNote[], recorder: LaunchRecorder): readonly LaunchNote[] {
  const launch = turn.length > 1 ? recorder.together(turn.map((note) => note.launch)) : null;
  return launch ? [noteOf(launch)] : turn;
}

/** Of one of several launches that a kernel came to. */
const usualNodes = 50;

/** Nodes of a launch's expressions. */
const lengthOf = ({ launch: { kernel } }: LaunchNote): number => (kernel ? nodesOf(kernel) : usualNodes);
