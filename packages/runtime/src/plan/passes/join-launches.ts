import type { Storage } from '@cresset/tensor';
import { nodesOf, type LaunchRecorder } from '@cresset/tensorexpr';
import {
  homeOf,
  launchStep,
  stepsOf,
  turnsOf,
  withLaunches,
  type LaunchProgram,
  type LaunchStep,
} from '../program/launch-program.ts';
import { placesOf } from './launch-order.ts';

/** What one launch may be. */
export interface JoinLimits {
  /** Nodes of its expressions. */
  readonly joinedNodes: number;
  /** Whether one launch may use all of these. */
  mayBind(storages: ReadonlySet<Storage>): boolean;
  /**
   * Whether a launch is done in its place and by itself. Where there are such launches the others keep their order too, but for what one of them takes
   * along: memory lies between them. Without it all of them go wherever the turns are fewest.
   */
  isHeavy?(step: LaunchStep): boolean;
}

/**
 * Puts launches that may be done at the same time in one turn. In each turn the launch that most others wait for, or the next one, takes along what else
 * can be done by then, as far as one shader and the device's bindings reach: what nothing waits for, such as the update of a parameter, costs no turn of
 * its own.
 */
export function orderLaunches(program: LaunchProgram, limits: JoinLimits): LaunchProgram {
  const launches = stepsOf(program, 'launch');
  const places = placesOf(launches, (storage) => homeOf(program, storage));
  const waiting = places.map(({ before }) => before.size);
  const waitsFor: number[][] = places.map(() => []);
  places.forEach(({ before }, at) => before.forEach((other) => waitsFor[other].push(at)));
  let ready = [...waiting.keys()].filter((at) => waiting[at] === 0);
  const isAlone = (at: number): boolean => limits.isHeavy?.(launches[at]) === true;
  const ordered: LaunchStep[] = [];
  for (let turn = 0; ready.length > 0; turn++) {
    ready.sort((a, b) => (limits.isHeavy ? 0 : places[b].depth - places[a].depth) || a - b);
    const room = new Room(limits);
    const mayGo = isAlone(ready[0]) ? [ready[0]] : ready.filter((at) => !isAlone(at));
    const taken = new Set(mayGo.filter((at) => room.take(launches[at])));
    for (const at of taken) ordered.push(taken.size > 1 ? { ...launches[at], turn } : launches[at]);
    ready = ready.filter((at) => !taken.has(at));
    for (const at of taken) ready.push(...waitsFor[at].filter((other) => --waiting[other] === 0));
  }
  return withLaunches(program, ordered);
}

/** What one launch has room for. */
class Room {
  #used = new Set<Storage>();
  #nodes = 0;

  constructor(private readonly limits: JoinLimits) {}

  /** Takes a launch along, where it may be done with the others; whether it was. */
  take(step: LaunchStep): boolean {
    const nodes = this.#nodes + lengthOf(step);
    const used = new Set([...this.#used, ...step.storages]);
    const { joinedNodes } = this.limits;
    if (this.#nodes > 0 && (nodes > joinedNodes || !this.limits.mayBind(used))) return false;
    this.#nodes = nodes;
    this.#used = used;
    return true;
  }
}

/** Makes one launch of those of a turn, where the device can do that. */
export function joinLaunches(program: LaunchProgram, recorder: Pick<LaunchRecorder, 'together'>): LaunchProgram {
  return withLaunches(
    program,
    turnsOf(program).flatMap((parts) => {
      const launch = parts.length > 1 ? recorder.together(parts.map((step) => step.launch)) : null;
      return launch ? { ...launchStep(launch), parts } : parts;
    }),
  );
}

/** Of one of several launches that a kernel came to. */
const usualNodes = 50;

/** Nodes of a launch's expressions. */
const lengthOf = ({ launch: { kernel } }: LaunchStep): number => (kernel ? nodesOf(kernel) : usualNodes);
