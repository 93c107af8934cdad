import { GraphFunction, type Graph } from '@cresset/ir';
import { Tensor, type ScriptObject } from '@cresset/tensor';

/** Multiplications that WebAssembly does in a millisecond, about. */
const HOST_RATE = 10e6;
/** What a GPU takes to answer at all, in milliseconds: to submit, to wait and to map what comes down. */
const ANSWER_MS = 2;
/** Waits of one call beyond which nothing more is looked for. */
const MOST_WAITS = 16;
/**
 * How often a call uses an element of a weight, by its dimensions, as long as nothing is known of inputs: the rows of a batch or a sequence,
 * the samples that a convolution of sound goes over, the pixels of an image.
 */
const USES = [1, 1, 16, 16, 1024, 4096];

/** What one call of a program comes to, as its file lets one expect. */
export interface ExpectedWork {
  readonly multiplications: number;
  /** Whether it is little enough for the host. */
  readonly isSmall: boolean;
}

/**
 * What a call is expected to do: each weight is used so often as its dimensions suggest. It is small where WebAssembly is done before a GPU has
 * answered; programs that go one way or another by the elements of tensors wait for a GPU each time.
 */
export function expectedWork(modules: ReadonlyMap<string, ScriptObject>): ExpectedWork {
  const weights = new Set<Tensor>();
  for (const { slots } of modules.values()) {
    for (const value of slots) if (value instanceof Tensor) weights.add(value);
  }
  let multiplications = 0;
  for (const { numel, dim } of weights) multiplications += numel * USES[Math.min(dim, USES.length - 1)];
  const mostAnswers = multiplications / (ANSWER_MS * HOST_RATE);
  const isSmall = mostAnswers <= 1 || (mostAnswers <= 1 + MOST_WAITS && mostAnswers <= 1 + waitsIn(modules));
  return { multiplications, isSmall };
}

/** Branches and loops of `forward` methods that are decided by a tensor. */
function waitsIn(modules: ReadonlyMap<string, ScriptObject>): number {
  let waits = 0;
  const visit = (graph: Graph): void => {
    for (const node of graph.allNodes()) {
      if (node.kind !== 'prim::If' && node.kind !== 'prim::Loop') continue;
      if (
        node.inputs.some(({ node: { kind, inputs } }) => kind === 'aten::Bool' && inputs[0].type.kind === 'TensorType')
      )
        waits++;
    }
  };
  for (const type of new Set([...modules.values()].map((object) => object.type))) {
    try {
      const forward = type.findMethod('forward');
      if (forward instanceof GraphFunction) visit(forward.graph);
    } catch {
      // What does not compile says so when it is called.
    }
  }
  return waits;
}
