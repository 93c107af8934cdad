import { scalarTypeCode } from '@cresset/ir';
import { OperatorError } from '@cresset/operators';
import { isComplex, type Tensor } from '@cresset/tensor';
import type { Gradient, GradientMeta, GradNode } from './nodes/grad-node.ts';
import { sizeList, type TapeRun } from './tape-run.ts';
import type { Edge } from './recording/tensor-history.ts';

/** A walk backwards, from gradients of results. */
export interface BackwardTask {
  /** Each gradient is held once for the walk. */
  readonly roots: readonly (readonly [edge: Edge, gradient: Tensor])[];
  /** The edges whose gradients are wanted, and no others; null to add up those of all leaves. */
  readonly wanted: readonly Edge[] | null;
  readonly keepGraph: boolean;
}

/**
 * Goes through the graph of derivatives from the roots, each node once, when all that flows into it is there (torch::autograd::Engine). Gives the gradients that
 * were wanted, null for those of what the roots do not depend on.
 */
export async function runBackward({ roots, wanted, keepGraph }: BackwardTask, run: TapeRun): Promise<Gradient[]> {
  const uses = countUses(roots.map(([{ node }]) => node));
  const needed = wanted && nodesLeadingTo(wanted, uses);
  const buffers = new Map<GradNode, Gradient[]>();
  const captured: Gradient[] = (wanted ?? []).map(() => null);
  const add = async ({ node, output }: Edge, gradient: Tensor): Promise<void> => {
    let buffer = buffers.get(node);
    if (!buffer) buffers.set(node, (buffer = node.outputs.map(() => null)));
    const known = buffer[output];
    if (!known) {
      buffer[output] = gradient;
      return;
    }
    buffer[output] = await run.call('add', known, gradient);
    run.release(known);
    run.release(gradient);
  };
  const ready = new ReadyQueue();
  for (const [edge, gradient] of roots) await add(edge, gradient);
  for (const node of new Set(roots.map(([{ node }]) => node))) if (!uses.get(node)) ready.push(node);
  for (let node = ready.pop(); node; node = ready.pop()) {
    const gradients = buffers.get(node) ?? node.outputs.map(() => null);
    buffers.delete(node);
    for (const hook of node.preHooks) hook(gradients);
    for (const [output, tensor] of node.retained) {
      if (!gradients[output]) continue;
      tensor.grad = gradients[output];
      run.handOut(tensor.grad);
    }
    wanted?.forEach((edge, at) => {
      if (edge.node !== node) return;
      captured[at] = gradients[edge.output];
      run.retain(captured[at]);
    });
    const isWanted = (at: number): boolean => {
      const edge = node!.edges[at];
      return edge !== null && (!needed || needed.has(edge.node));
    };
    const isRun = !wanted || (needed!.has(node) && node.edges.some((_, at) => isWanted(at)));
    const results = isRun && gradients.some((each) => each) ? await node.apply(gradients, isWanted, run) : [];
    gradients.forEach((gradient) => run.release(gradient));
    if (!keepGraph && isRun) node.release(run.execution.ledger);
    for (const [at, edge] of node.edges.entries()) {
      const gradient = results[at] ?? null;
      if (!edge || !isWanted(at)) run.release(gradient);
      else if (gradient) {
        const complaint = `Function ${node.name} returned an invalid gradient at index ${at}`;
        await add(edge, await fitted(gradient, edge.node.outputs[edge.output], complaint, run));
      }
      if (!edge) continue;
      const left = uses.get(edge.node)! - 1;
      uses.set(edge.node, left);
      if (left === 0) ready.push(edge.node);
    }
  }
  return captured;
}

/** How many edges of what the roots lead to end at each node. */
function countUses(roots: readonly GradNode[]): Map<GradNode, number> {
  const uses = new Map<GradNode, number>();
  const seen = new Set<GradNode>(roots);
  const stack = [...seen];
  for (let node = stack.pop(); node; node = stack.pop()) {
    for (const edge of node.edges) {
      if (!edge) continue;
      uses.set(edge.node, (uses.get(edge.node) ?? 0) + 1);
      if (seen.has(edge.node)) continue;
      seen.add(edge.node);
      stack.push(edge.node);
    }
  }
  for (const node of seen) if (!uses.has(node)) uses.set(node, 0);
  return uses;
}

/** Those of `all` from which a wanted one is reached, or that are wanted. */
function nodesLeadingTo(wanted: readonly Edge[], all: ReadonlyMap<GradNode, number>): Set<GradNode> {
  const users = new Map<GradNode, GradNode[]>();
  for (const node of all.keys()) {
    for (const edge of node.edges) {
      if (!edge) continue;
      const list = users.get(edge.node);
      if (list) list.push(node);
      else users.set(edge.node, [node]);
    }
  }
  const found = new Set(wanted.map(({ node }) => node).filter((node) => all.has(node)));
  const stack = [...found];
  for (let node = stack.pop(); node; node = stack.pop()) {
    for (const user of users.get(node) ?? []) {
      if (found.has(user)) continue;
      found.add(user);
      stack.push(user);
    }
  }
  return found;
}

/**
 * A gradient with the shape and the dtype of what it is the gradient of (validate_outputs); the one that was given is let go of.
 *
 * @param complaint what an error begins with
 */
export async function fitted(
  gradient: Tensor,
  meta: GradientMeta | null,
  complaint: string,
  run: TapeRun,
): Promise<Tensor> {
  if (!meta) return gradient;
  let result = gradient;
  const become = (made: Tensor): void => {
    run.release(result);
    result = made;
  };
  if (!sameSizes(result.sizes, meta.sizes)) {
    if (isExpandable(meta.sizes, result.sizes)) become(await run.call('sumToSize', result, sizeList(meta.sizes)));
    else if (isExpandable(result.sizes, meta.sizes)) become(await run.call('expand', result, sizeList(meta.sizes)));
    else {
      throw new OperatorError(
        `${complaint} - got [${result.sizes.join(', ')}] but expected shape compatible with [${meta.sizes.join(', ')}]`,
      );
    }
  }
  if (isComplex(result.dtype) && !isComplex(meta.dtype)) become(await run.call('realPart', result));
  if (result.dtype !== meta.dtype) become(await run.call('toType', result, BigInt(scalarTypeCode(meta.dtype))));
  return result;
}

const sameSizes = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, dim) => size === b[dim]);

/** Whether a tensor of the first sizes can be expanded to the second. */
const isExpandable = (from: readonly number[], to: readonly number[]): boolean =>
  from.length <= to.length && from.every((size, dim) => size === 1 || size === to[dim + to.length - from.length]);

/** Nodes that can be run, those made last first. */
class ReadyQueue {
  readonly #nodes: GradNode[] = [];

  push(node: GradNode): void {
    let at = this.#nodes.length;
    while (at > 0 && this.#nodes[at - 1].sequence > node.sequence) at--;
    this.#nodes.splice(at, 0, node);
  }

  pop(): GradNode | undefined {
    return this.#nodes.pop();
  }
}
