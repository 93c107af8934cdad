import { List, type Tensor } from '@cresset/tensor';
import type { StorageLedger } from '../../memory/storage-ledger.ts';
import type { HeldTensor } from '../recording/held-storages.ts';
import { GradNode, metaOf, type Gradient } from './grad-node.ts';
import { sizeList, type TapeRun } from '../tape-run.ts';
import type { Edge, ViewOrigin } from '../recording/tensor-history.ts';

/** What a tensor becomes when something writes to a view of it (torch::autograd::CopySlices). */
export class CopySlices extends GradNode {
  readonly #strides: readonly number[];

  /**
   * @param views from the tensor to the view that is written
   * @param writer the step of what wrote; its edges from `selfAt` on, `selfCount` of them, are for the view as it was
   */
  constructor(
    root: Tensor,
    rootEdge: Edge | null,
    private readonly views: readonly ViewOrigin[],
    private readonly writer: GradNode,
    private readonly selfAt: number,
  ) {
    super('torch::autograd::CopySlices', [rootEdge, ...writer.edges.filter((_, at) => at !== selfAt)], [metaOf(root)]);
    this.#strides = [...root.strides];
  }

  async apply([gradient]: readonly Gradient[], isWanted: (edge: number) => boolean, run: TapeRun): Promise<Gradient[]> {
    if (!gradient) return this.edges.map(() => null);
    const result = await run.call('laidOut', gradient, sizeList(gradient.sizes), sizeList(this.#strides));
    let part = result;
    for (const { binding, args, parentAt, result: at, node } of this.views) {
      const given = args.map((value, position) => (position === parentAt ? part : value));
      const made = await run.execution.observer!.run(binding, given, node, run.execution);
      const [first] = made;
      part = (first instanceof List ? first.items : made)[at] as Tensor;
    }
    const written = await run.call('own', part);
    const { selfAt } = this;
    const edgeOf = (at: number): number => (at === selfAt ? 0 : at < selfAt || selfAt === -1 ? at + 1 : at);
    const gradients = await this.writer.apply([written], (at) => isWanted(edgeOf(at)), run);
    run.release(written);
    const own = gradients[selfAt] ?? null;
    if (isWanted(0) && this.edges[0])
      run.release(await (own ? run.call('copyTo', part, own) : run.call('clearTo', part)));
    run.release(own);
    return [result, ...gradients.filter((_, at) => at !== selfAt)];
  }

  override hold(ledger: StorageLedger): HeldTensor[] {
    return this.writer.hold(ledger);
  }

  override release(ledger: StorageLedger | null): void {
    this.writer.release(ledger);
  }
}
