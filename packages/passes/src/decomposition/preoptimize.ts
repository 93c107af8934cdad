import type { Graph, GraphFunction } from '@cresset/ir';
import { type ConstantEvaluator, propagateConstants } from '../cleanup/constant-propagation.ts';
import { poolConstants } from '../cleanup/constant-pooling.ts';
import { type BodyOf, inline } from '../cleanup/inliner.ts';
import { peepholeOptimize } from '../peephole/peephole-optimize.ts';

/**
 * What PyTorch does to a function before it is inlined or run: its own calls inlined, what needs no knowledge of arguments simplified
 * (PyTorch: preoptimizeGraph). The body of each function is made once.
 */
export function preoptimizedBodies(evaluate: ConstantEvaluator): BodyOf {
  const bodies = new Map<GraphFunction, Graph>();
  const bodyOf: BodyOf = (fn) => {
    const known = bodies.get(fn);
    if (known) return known;
    const body = fn.graph.copy();
    bodies.set(fn, body);
    inline(body, bodyOf);
    peepholeOptimize(body, { disableShapes: true });
    propagateConstants(body, evaluate, { immutableTypesOnly: true });
    poolConstants(body);
    return body;
  };
  return bodyOf;
}
