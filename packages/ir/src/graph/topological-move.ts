import type { MemoryLocations } from '../alias/memory-dag.ts';
import type { Node } from './node.ts';

export type MoveSide = 'before' | 'after';

/** What moving nodes has to know of a node (given by AliasDb): the locations it, or a node within it, reads and writes. */
export interface NodeEffects {
  readsOf(node: Node): MemoryLocations;
  writesOf(node: Node): MemoryLocations;
}

/**
 * Moves a node right before or after another of the same block, taking along or leaving behind the nodes between them that
 * depend on each other (PyTorch: AliasDb::tryMove).
 *
 * Returns false, having changed nothing, where the order of reads, writes and side effects would change.
 *
 * @param dryRun only say whether it could be done
 */
export function tryMove(node: Node, point: Node, side: MoveSide, effects: NodeEffects, dryRun: boolean): boolean {
  if (node.owningBlock !== point.owningBlock) {
    return false;
  }
  if (node === point) {
    return true;
  }
  const backwards = node.isAfter(point);
  const step = (from: Node): Node => (backwards ? from.previous : from.next);
  const isOnSide = (side === 'before') !== backwards;
  let current = step(node);
  if (isOnSide && current === point) {
    return true;
  }
  if (node.hasSideEffects() || (!isOnSide && point.hasSideEffects())) {
    return false;
  }
  const moving = new WorkingSet(node, effects);
  for (; current !== point; current = step(current)) {
    if (current.hasSideEffects()) {
      return false;
    }
    if (moving.dependsOn(current)) {
      moving.add(current);
    }
  }
  // A node that is on its side already stays there; the nodes between, that depend on it, go to the other side.
  if (isOnSide) {
    moving.leaveMoverBehind();
  }
  if (moving.dependsOn(point)) {
    return false;
  }
  if (!dryRun) {
    const otherSide: MoveSide = side === 'before' ? 'after' : 'before';
    move(node, point, side);
    moveInTurn(moving.dependents, isOnSide ? point : node, isOnSide ? otherSide : side);
  }
  return true;
}

function moveInTurn(nodes: readonly Node[], point: Node, side: MoveSide): void {
  let last = point;
  for (const node of nodes) {
    move(node, last, side);
    last = node;
  }
}

function move(node: Node, point: Node, side: MoveSide): void {
  if (side === 'before') {
    node.moveBefore(point);
  } else {
    node.moveAfter(point);
  }
}

/** The nodes that move together: the mover, and those between it and the goal that cannot stay where they are. */
class WorkingSet {
  readonly dependents: Node[] = [];
  readonly #members = new Set<Node>();
  readonly #users = new Set<Node>();
  readonly #reads: MemoryLocations[] = [];
  readonly #writes: MemoryLocations[] = [];
  readonly #effects: NodeEffects;
  #pivot: Node | undefined;

  constructor(mover: Node, effects: NodeEffects) {
    this.#effects = effects;
    this.#pivot = mover;
    this.#enter(mover);
  }

  add(node: Node): void {
    this.dependents.push(node);
    this.#enter(node);
  }

  #enter(node: Node): void {
    this.#members.add(node);
    usersInSameBlock(node).forEach((user) => this.#users.add(user));
    this.#reads.push(this.#effects.readsOf(node));
    this.#writes.push(this.#effects.writesOf(node));
  }

  leaveMoverBehind(): void {
    const rest = [...this.dependents];
    this.dependents.length = 0;
    this.#members.clear();
    this.#users.clear();
    this.#reads.length = 0;
    this.#writes.length = 0;
    this.#pivot = rest[0];
    rest.forEach((node) => this.add(node));
  }

  /** Whether a node has to keep its place relative to a member: it uses, feeds, reads or writes what they do. */
  dependsOn(node: Node): boolean {
    if (this.#pivot === undefined) {
      return false;
    }
    const feeds = node.isAfter(this.#pivot)
      ? this.#users.has(node)
      : [...usersInSameBlock(node)].some((user) => this.#members.has(user));
    if (feeds) {
      return true;
    }
    const writes = this.#effects.writesOf(node);
    const reads = this.#effects.readsOf(node);
    return this.#reads.some((own) => own.intersects(writes)) || this.#writes.some((own) => own.intersects(reads));
  }
}

/** The users of a node's outputs; for a user within a block of a node beside it, that node. */
function usersInSameBlock(node: Node): Set<Node> {
  const users = new Set<Node>();
  for (const output of node.outputs) {
    for (const use of output.uses) {
      let user: Node | undefined = use.user;
      while (user !== undefined && user.owningBlock !== node.owningBlock) {
        user = user.owningBlock.owningNode;
      }
      if (user !== undefined) {
        users.add(user);
      }
    }
  }
  return users;
}
