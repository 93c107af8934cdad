import type { Graph } from './graph/graph.ts';
import type { Node } from './graph/node.ts';

/** Passes that put a freshly compiled graph in its canonical form (PyTorch: NormalizeOps and runCleanupPasses). */
export type CleanupPasses = (graph: Graph) => void;

/** Runs a node on constants; null where it cannot be run. */
export type NodeEvaluator = (node: Node, constants: readonly unknown[]) => readonly unknown[] | null;

/**
 * What programs are compiled and run with that is known further down than it is needed, or comes with a part of the library. Immutable: what
 * brings more makes another object of it. A package that needs more than this says so in an interface that extends this one.
 */
export interface CompilerServices {
  readonly cleanUp: CleanupPasses;
  readonly evaluate?: NodeEvaluator;
}

let services: CompilerServices = { cleanUp: () => undefined };

/** What there is in this thread by now. */
export const compilerServices = <Services extends CompilerServices>(): Services => services as Services;

/** Has this in the thread too, from now on: units that were made before keep what they were given. */
export function extendServices<Services extends CompilerServices>(more: Partial<Services>): void {
  services = { ...services, ...more };
}
