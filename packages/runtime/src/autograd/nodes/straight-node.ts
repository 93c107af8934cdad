import { scalarTypeCode } from '@cresset/ir';
import type { Tensor } from '@cresset/tensor';
import { GradNode, metaOf, type Gradient } from './grad-node.ts';
import { sizeList, type TapeRun } from '../tape-run.ts';
import { historyOf, type Edge } from '../recording/tensor-history.ts';

/** What a gradient comes of that does not change with an input, and yet has gradients by it. */
class StraightNode extends GradNode {
  constructor(gradient: Tensor, input: Edge) {
    super('StraightBackward0', [historyOf(gradient).edge, input], [metaOf(gradient)]);
  }

  async apply([gradient]: readonly Gradient[], isWanted: (edge: number) => boolean, run: TapeRun): Promise<Gradient[]> {
    const { node, output } = this.edges[1]!;
    const meta = node.outputs[output];
    run.retain(gradient);
    const zeros =
      meta && isWanted(1) ? await run.call('zeros', sizeList(meta.sizes), BigInt(scalarTypeCode(meta.dtype))) : null;
    return [gradient, zeros];
  }
}

/** Has a gradient come of an input too, by which its own gradients are zeros. */
export function joinStraight(gradient: Tensor, input: Edge): void {
  const history = historyOf(gradient);
  history.edge = { node: new StraightNode(gradient, input), output: 0 };
  gradient.requiresGrad = true;
}

/** What a gradient comes of that an operator gives together with others: it does not change with what only these are worked out with. */
class TogetherNode extends GradNode {
  constructor(gradient: Tensor, inputs: readonly (Edge | null)[]) {
    super('TogetherBackward0', inputs, [metaOf(gradient)]);
  }

  async apply(): Promise<Gradient[]> {
    return [];
  }
}

/** Has a gradient come of inputs too, by which it has no gradients. */
export function joinTogether(gradient: Tensor, inputs: readonly (Edge | null)[]): void {
  historyOf(gradient).edge = { node: new TogetherNode(gradient, inputs), output: 0 };
  gradient.requiresGrad = true;
}
