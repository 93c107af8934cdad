import {
  AliasDb,
  type Block,
  createSingletonSubgraphAndUpdateAliasing,
  type Graph,
  logGraph,
  mayChange,
  mergeNodeIntoSubgraphAndUpdateAliasing,
  type Node,
  TensorType,
  unmergeSubgraph,
  type Value,
} from '@cresset/ir';
import { eliminateCommonSubexpressions } from '../../cleanup/common-subexpression-elimination.ts';
import { poolConstants } from '../../cleanup/constant-pooling.ts';
import type { ConstantEvaluator } from '../../cleanup/constant-propagation.ts';
import { eliminateDeadWrites } from '../../cleanup/dead-code-elimination.ts';
import { ShapeFunctions } from '../../shape-analysis/symbolic/shape-functions.ts';
import { removeOutputsUsedOnlyInSize } from '../size-expressions.ts';
import { generateDynamicGuard } from './dynamic-guard.ts';
import { hasBroadcastSize, isConstant, isSupported, pickDevice, typesAreSupported } from './supported-operators.ts';
import { forgetTensorTypes, insertTypeGuard } from './type-guard.ts';

export interface TensorExprFuserOptions {
  /** Groups of fewer operators are taken apart again. */
  readonly minGroupSize?: number;
  /** Whether sums and softmax can be in groups. */
  readonly reductions?: boolean;
  /** Whether tensors on a device can be in groups; as in PyTorch, those on a CPU cannot unless one says so. */
  readonly canFuseOn?: (device: string) => boolean;
  /** Kinds of operators that stay out. */
  readonly exclude?: ReadonlySet<string>;
  /** Makes groups that take tensors of other sizes too; given is what runs operators on ints. */
  readonly dynamicShapes?: ConstantEvaluator | null;
}

/** Inputs and outputs that a group can have. */
const MAX_ARGUMENTS = 128;

const GROUP = 'prim::TensorExprGroup';

/**
 * Groups operators whose tensors are known by dtype, device, sizes and strides into `prim::TensorExprGroup` nodes, each behind a check of its
 * inputs' types (PyTorch: FuseTensorExprs). Elsewhere types are forgotten where nothing checks them; groups for all sizes leave them.
 */
export function fuseTensorExprs(graph: Graph, options: TensorExprFuserOptions = {}): void {
  eliminateDeadWrites(graph);
  new TensorExprFuser(graph, options).run();
  eliminateCommonSubexpressions(graph);
  eliminateDeadWrites(graph);
  logGraph('tensorexpr_fuser', graph);
}

/** Operators that can be in a group, but are no reason to make one. */
const neverFirst: ReadonlySet<string> = new Set([
  'prim::ListConstruct',
  'aten::slice',
  'aten::unsqueeze',
  'prim::ConstantChunk',
  'prim::Constant',
]);
/** Those that give a view are only taken where nothing else uses it. */
const views: ReadonlySet<string> = new Set(['aten::slice', 'aten::unsqueeze', 'prim::ConstantChunk']);
const conversions: ReadonlySet<string> = new Set([
  'aten::to',
  'aten::_autocast_to_reduced_precision',
  'aten::_autocast_to_full_precision',
]);
const unsupportedDtypes = /^(complex|q)/;

class TensorExprFuser {
  readonly #aliasDb: AliasDb;
  readonly #minGroupSize: number;
  readonly #shapes: ShapeFunctions | null;

  constructor(
    private readonly graph: Graph,
    private readonly options: TensorExprFuserOptions,
  ) {
    this.#aliasDb = AliasDb.of(graph);
    this.#minGroupSize = options.minGroupSize ?? 2;
    this.#shapes = options.dynamicShapes ? new ShapeFunctions(options.dynamicShapes) : null;
  }

  run(): void {
    this.#fuseIn(this.graph.block);
    this.#takeSmallApart(this.graph.block);
    this.#guardIn(this.graph.block);
    if (!this.options.dynamicShapes) forgetTensorTypes(this.graph.block);
  }

  // ---- making groups

  #fuseIn(block: Block): void {
    while (this.#scan(block));
    for (const node of block.nodes()) for (const inner of node.blocks) this.#fuseIn(inner);
    // Groups so far follow uses; two that stand beside each other may become one too.
    const [first, ...others] = [...block.nodes()].filter(({ kind }) => kind === GROUP);
    let previous = first;
    for (const group of others) previous = this.#tryMerge(previous, group) ?? group;
  }

  #scan(block: Block): boolean {
    let changed = false;
    for (let node = block.returnNode.previous; node !== block.paramNode;) {
      const next = this.#scanNode(node);
      changed ||= next.changed;
      node = next.changed ? next.group : next.group.previous;
    }
    return changed;
  }

  #scanNode(node: Node): { readonly group: Node; readonly changed: boolean } {
    const isFirst = !neverFirst.has(node.kind) && !isUnexecuted(node);
    if (!this.#canHandle(node) || !isFirst) return { group: node, changed: false };
    // A convolution is only taken where the fuser's code for it is the faster one.
    const isGroup = this.#minGroupSize === 1 || node.kind === 'aten::conv2d';
    const consumer = isGroup ? this.#groupOf(node) : node;
    const inputs = consumer.inputs.filter((input) => input.node.owningBlock === consumer.owningBlock);
    inputs.sort((a, b) => (a.node === b.node ? 0 : a.node.isAfter(b.node) ? -1 : 1));
    for (const input of inputs) {
      const group = this.#tryMerge(consumer, input.node);
      if (group) return { group, changed: true };
    }
    return { group: consumer, changed: false };
  }

  #groupOf(node: Node): Node {
    return node.kind === GROUP ? node : createSingletonSubgraphAndUpdateAliasing(node, GROUP, this.#aliasDb);
  }

  #tryMerge(consumer: Node, producer: Node): Node | null {
    if (!this.#canMerge(consumer, producer)) return null;
    const nodes = producer.kind === 'aten::cat' ? [producer, producer.input(0).node] : [producer];
    let point = consumer;
    for (const node of nodes) {
      if (!this.#aliasDb.moveBeforeTopologicallyValid(node, point)) return null;
      point = node;
    }
    const group = this.#groupOf(consumer);
    for (const node of nodes) mergeNodeIntoSubgraphAndUpdateAliasing(node, group, this.#aliasDb);
    return group;
  }

  #canMerge(consumer: Node, producer: Node): boolean {
    if (consumer.owningBlock !== producer.owningBlock) return false;
    if (producer.kind !== GROUP && !this.#canHandle(producer)) return false;
    const concat = [producer, consumer].find(({ kind }) => kind === 'aten::cat');
    const listed = concat?.input(0).node.inputs ?? [];
    const counted = argumentsOf(consumer) + argumentsOf(producer);
    if (counted > MAX_ARGUMENTS || counted + listed.length > MAX_ARGUMENTS) return false;
    const device = pickDevice(concat ? listed : producer.inputs);
    if (device === undefined || (consumer !== concat && device !== pickDevice(consumer.inputs))) return false;
    if (!this.#aliasDb.couldMoveBeforeTopologically(producer, consumer)) return false;
    if (views.has(producer.kind) && producer.output(0).uses.some(({ user }) => user !== consumer)) return false;
    if (consumer.kind !== GROUP && (neverFirst.has(consumer.kind) || isConstant(producer.outputs[0]))) return false;
    if (producer === concat) return listed.every(({ node }) => this.#isFusableOnDevice(node));
    return consumer === concat || this.#isFusableOnDevice(producer);
  }

  /** Whether a node can be in a group, as far as it alone tells. */
  #canHandle(node: Node): boolean {
    if (!shapesAreKnown(node) || !this.#isFusableOnDevice(node) || this.options.exclude?.has(node.kind)) return false;
    for (const { type } of node.inputs) {
      if (!(type instanceof TensorType)) continue;
      if (type.scalarType === undefined || unsupportedDtypes.test(type.scalarType)) return false;
    }
    if (node.kind === 'aten::cat' ? !isFusableConcat(node) : pickDevice(node.inputs) === undefined) return false;
    if (node.kind === 'aten::batch_norm' && !isConstantFalse(node.input(5))) return false;
    if (!isSupported(node, this.options.reductions === true) || !typesAreSupported(node)) return false;
    if (this.#shapes && !this.#hasNamedSizes(node, this.#shapes)) return false;
    return mayChange('tensorexpr_fuser', node);
  }

  /** Whether the sizes of results can be computed; products and convolutions are only taken for known ones. */
  #hasNamedSizes(node: Node, shapes: ShapeFunctions): boolean {
    if (node.kind === 'aten::conv2d' || node.kind === 'aten::matmul') return false;
    return node.kind === 'prim::ListConstruct' || node.kind === GROUP || shapes.graphFor(node) !== undefined;
  }

  #isFusableOnDevice(node: Node): boolean {
    return node.inputs.every((input) => {
      if (input.node.kind === 'prim::ListConstruct' && !this.#isFusableOnDevice(input.node)) return false;
      if (!(input.type instanceof TensorType)) return true;
      const { canFuseOn = (device) => device.startsWith('cuda') } = this.options;
      return input.type.device !== undefined && canFuseOn(input.type.device);
    });
  }

  // ---- what becomes of groups

  #takeSmallApart(block: Block): void {
    for (let node = block.paramNode.next; node !== block.returnNode;) {
      const { next } = node;
      for (const inner of node.blocks) this.#takeSmallApart(inner);
      if (node.kind === GROUP) {
        const subgraph = node.g('Subgraph');
        const hasConvolution = [...subgraph.nodes()].some(({ kind }) => kind === 'aten::conv2d');
        if (sizeOf(subgraph.block) < this.#minGroupSize && !hasConvolution) unmergeSubgraph(node);
        else poolConstants(subgraph);
      }
      node = next;
    }
  }

  #guardIn(block: Block): void {
    const groups: Node[] = [];
    for (const node of block.nodes()) {
      for (const inner of node.blocks) this.#guardIn(inner);
      if (node.kind === GROUP) groups.push(node);
    }
    for (const group of groups) {
      removeOutputsUsedOnlyInSize(group, this.#aliasDb, hasBroadcastSize);
      const { dynamicShapes } = this.options;
      if (!dynamicShapes) insertTypeGuard(group);
      else if (!generateDynamicGuard(group, dynamicShapes)) unmergeSubgraph(group);
    }
  }
}

/** A conversion that changes nothing gives its argument: as the result of a group it would be a copy. */
function isUnexecuted(node: Node): boolean {
  return conversions.has(node.kind) && node.input(0).type.equals(node.output().type);
}

function isFusableConcat(node: Node): boolean {
  const list = node.input(0);
  if (list.node.kind !== 'prim::ListConstruct' || list.uses.length !== 1) return false;
  return isConstant(node.input(1)) && pickDevice(list.node.inputs) !== undefined;
}

function isConstantFalse(value: Value): boolean {
  return isConstant(value) && value.node.i('value') === 0n;
}

function shapesAreKnown(node: Node): boolean {
  const isKnown = ({ type }: Value): boolean => !(type instanceof TensorType) || type.isComplete();
  return (
    node.outputs.every(isKnown) &&
    node.inputs.every(
      (input) => isKnown(input) && (input.node.kind !== 'prim::ListConstruct' || shapesAreKnown(input.node)),
    )
  );
}

function argumentsOf(node: Node): number {
  return node.inputs.length + node.outputs.length;
}

/** Operators in a block and the blocks within; constants and lists only come along with others. */
function sizeOf(block: Block): number {
  let size = 0;
  for (const node of block.nodes()) {
    if (node.kind === 'prim::Constant' || node.kind === 'prim::ListConstruct') continue;
    size += 1 + node.blocks.reduce((sum, inner) => sum + sizeOf(inner), 0);
  }
  return size;
}
