import {
  type Block,
  constantValue,
  DeviceObjType,
  type Graph,
  IntType,
  isListConstant,
  ListType,
  logGraph,
  mayChange,
  type Node,
  scalarTypeCode,
  TensorType,
  type Value,
} from '@cresset/ir';
import { DeviceValue, List } from '@cresset/tensor';
import { combineConcats } from '../fusion/combine-concats.ts';
import { eliminateDeadCode } from '../cleanup/dead-code-elimination.ts';
import { peepholeAliasSensitive } from './peephole-alias-sensitive.ts';
import { peepholeDictIdioms } from './peephole-dict-idioms.ts';
import { peepholeListIdioms } from './peephole-list-idioms.ts';
import { peepholeNonTensor } from './peephole-non-tensor.ts';

export interface PeepholeOptions {
  /** Uses nothing that is known of shapes, dtypes and devices (PyTorch: disable_shape_peepholes). */
  readonly disableShapes?: boolean;
  /**
   * Takes a tensor whose dtype is not known for one of numbers, as PyTorch does: `x * 1` and `x + 0` go. Of truth values they
   * would make ints; gradients are never those.
   */
  readonly unknownAreNumbers?: boolean;
}

/** How the log calls this file. */
const LOG = 'peephole';

/** Simplifies what can be seen from a few nodes (PyTorch: PeepholeOptimize), then sweeps what that left unused. */
export function peepholeOptimize(
  graph: Graph,
  { disableShapes = false, unknownAreNumbers = false }: PeepholeOptions = {},
): boolean {
  const steps = [
    (!disableShapes || BY_KIND.some((kind) => graph.kinds.has(kind))) && runOn(graph.block, !disableShapes),
    peepholeListIdioms(graph),
    peepholeDictIdioms(graph),
    peepholeAliasSensitive(graph, !disableShapes, unknownAreNumbers),
    peepholeNonTensor(graph),
    combineConcats(graph),
  ];
  const changed = steps.includes(true);
  if (changed) eliminateDeadCode(graph);
  logGraph(LOG, graph);
  return changed;
}

/** What is simplified whatever is known of types. */
const BY_KIND: readonly string[] = ['aten::_grad_sum_to_size', 'aten::t'];

function runOn(block: Block, useShapes: boolean): boolean {
  let changed = false;
  for (const node of block.nodes()) {
    for (const inner of node.blocks) changed = runOn(inner, useShapes) || changed;
    if (node.kind === 'aten::_grad_sum_to_size') changed = simplifySumToSize(node) || changed;
    else if (node.kind === 'aten::t') changed = simplifyTransposition(node) || changed;
    else if (useShapes) changed = simplifyByType(node) || changed;
  }
  return changed;
}

function simplifySumToSize(node: Node): boolean {
  if (node.input(1).mustBeNone()) {
    if (!mayChange(LOG, node)) return false;
    node.output().replaceAllUsesWith(node.input(0));
    return true;
  }
  let changed = false;
  for (const { user } of node.output().uses.slice()) {
    // The later sum goes over what the earlier one did.
    if (user.kind !== node.kind || !user.input(1).type.isSubtypeOf(new ListType(IntType.get()))) continue;
    if (!mayChange(LOG, user)) continue;
    user.replaceInput(0, node.input(0));
    changed = true;
  }
  return changed;
}

function simplifyTransposition(node: Node): boolean {
  const inner = node.input().node;
  if (inner.kind !== 'aten::t' || !mayChange(LOG, node)) return false;
  node.output().replaceAllUsesWith(inner.input());
  return true;
}

/** What the types of tensors tell beforehand. */
function simplifyByType(node: Node): boolean {
  const known = knownResult(node);
  if (known === undefined || !mayChange(LOG, node)) return false;
  const graph = node.owningGraph;
  const value = isValue(known) ? known : graph.withInsertPoint(node, () => graph.insertConstant(known.constant));
  node.output().replaceAllUsesWith(value);
  return true;
}

function isValue(known: Value | { readonly constant: unknown }): known is Value {
  return 'uses' in known;
}

const FLOATING: ReadonlySet<string> = new Set(['float16', 'bfloat16', 'float32', 'float64']);
const COMPLEX: ReadonlySet<string> = new Set(['complex32', 'complex64', 'complex128']);

function knownResult(node: Node): Value | { readonly constant: unknown } | undefined {
  const self = node.inputs[0];
  const type = self?.type;
  if (node.kind === 'aten::len') return lengthOfSizes(node);
  if (node.kind === 'aten::device' && node.inputs.length === 2) return deviceByName(node);
  if (!(type instanceof TensorType)) return undefined;
  const constant = <T>(value: T | undefined, make: (value: T) => unknown) =>
    value === undefined ? undefined : { constant: make(value) };
  switch (node.kind) {
    case 'aten::expand': {
      const sizes = constantValue(node.input(1));
      const own = type.concreteSizes;
      const isSame =
        isListConstant(sizes) &&
        own !== undefined &&
        own.length === sizes.items.length &&
        own.every((size, at) => BigInt(size) === sizes.items[at]);
      return isSame ? self : undefined;
    }
    case 'aten::type_as': {
      const other = node.input(1).type;
      const isSame =
        other instanceof TensorType &&
        type.scalarType !== undefined &&
        type.device !== undefined &&
        type.scalarType === other.scalarType &&
        type.device === other.device;
      return isSame ? self : undefined;
    }
    case 'aten::size':
      return node.inputs.length === 1
        ? constant(type.concreteSizes, (sizes) => new List(IntType.get(), sizes.map(BigInt)))
        : constant(sizeAt(type, constantValue(node.input(1))), BigInt);
    case 'aten::dim':
      return constant(type.dim, BigInt);
    case 'aten::is_floating_point':
      return constant(type.scalarType, (dtype) => FLOATING.has(dtype));
    case 'aten::is_complex':
      return constant(type.scalarType, (dtype) => COMPLEX.has(dtype));
    case 'prim::dtype':
      return constant(type.scalarType, (dtype) => BigInt(scalarTypeCode(dtype)));
    case 'prim::device':
      return constant(type.device, (device) => DeviceValue.parse(device));
    case 'prim::is_cuda':
      return constant(type.device, (device) => device.startsWith('cuda'));
    default:
      return undefined;
  }
}

function sizeAt(type: TensorType, dim: unknown): number | undefined {
  if (type.dim === undefined || typeof dim !== 'bigint') return undefined;
  const index = Number(dim) < 0 ? Number(dim) + type.dim : Number(dim);
  return type.sizes?.[index];
}

/** `len(x.size())` where the list is used for nothing else. */
function lengthOfSizes(node: Node): { readonly constant: unknown } | undefined {
  const list = node.input(0);
  if (list.node.kind !== 'aten::size' || list.node.inputs.length !== 1 || list.uses.length !== 1) return undefined;
  const { type } = list.node.input();
  return type instanceof TensorType && type.dim !== undefined ? { constant: BigInt(type.dim) } : undefined;
}

function deviceByName(node: Node): { readonly constant: unknown } | undefined {
  const type = constantValue(node.input(0));
  const index = constantValue(node.input(1));
  if (typeof type !== 'string' || node.output().type !== DeviceObjType.get()) return undefined;
  return { constant: DeviceValue.parse(`${type}:${typeof index === 'bigint' ? index : 0}`) };
}
