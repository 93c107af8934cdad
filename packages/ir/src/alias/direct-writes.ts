import { constantValue } from '../graph/constants.ts';
import type { Node } from '../graph/node.ts';
import type { Use, Value } from '../graph/value.ts';
import type { Symbol } from '../graph/symbol.ts';
import { hasSideEffectsByKind } from '../schema/operator-registry.ts';
import { MutableTypes } from '../types/mutable-types.ts';

/** Kinds whose outputs are new values and which write to nothing. */
export const CREATORS: ReadonlySet<Symbol> = new Set([
  'prim::TensorExprGroup',
  'prim::TensorExprDynamicGroup',
  'prim::TensorExprDynamicGuard',
  'prim::StaticSubgraph',
  'prim::MKLDNNGroup',
  'prim::ConstantMKLDNNTensor',
  'prim::EmptyListLiteral',
  'prim::Constant',
  'prim::AutogradZero',
  'prim::AutogradAdd',
  'prim::AutogradAnyNonZero',
  'prim::AutogradAllZero',
  'prim::AutogradAllNonZero',
  'prim::FusedConcat',
  'prim::MMTreeReduce',
  'prim::MMBatchSide',
  'prim::BroadcastSizes',
  'prim::ChunkSizes',
  'prim::Closure',
  'prim::CreateObject',
  'prim::tolist',
  'prim::Uninitialized',
]);

/** Kinds that take values out of containers, where they may be anything. */
export const EXTRACTORS: ReadonlySet<Symbol> = new Set([
  'prim::TupleUnpack',
  'prim::TupleIndex',
  'prim::TupleSlice',
  'prim::ListUnpack',
  'prim::PythonOp',
  'prim::GetAttr',
]);

/** Each output is the input of the same index; checks have one more output, whether they hold. */
export const FORWARDERS: ReadonlySet<Symbol> = new Set([
  'prim::unchecked_cast',
  'prim::profile',
  'prim::profile_ivalue',
  'prim::TypeCheck',
  'prim::RequiresGradCheck',
  'prim::Guard',
  'prim::BroadcastMKLDNNTensors',
]);

export const CONTAINERS: ReadonlySet<Symbol> = new Set([
  'prim::TupleConstruct',
  'prim::DictConstruct',
  'prim::ListConstruct',
]);

/** Kinds of which nothing is known: they may write to any input and give any value. */
export const UNKNOWN_EFFECTS: ReadonlySet<Symbol> = new Set([
  'prim::CallFunction',
  'prim::CallMethod',
  'prim::Enter',
  'prim::Exit',
]);

/** Kinds that write to nothing, whatever is in their blocks. */
const WITHOUT_WRITES: ReadonlySet<Symbol> = new Set([
  ...CREATORS,
  ...EXTRACTORS,
  ...FORWARDERS,
  ...CONTAINERS,
  'prim::If',
  'prim::Loop',
  'prim::GradOf',
  'prim::fork',
  'prim::awaitable',
  'prim::rpc_async',
  'prim::rpc_sync',
  'prim::rpc_remote',
  'prim::ConstantChunk',
  'prim::BroadcastingChunk',
  'prim::BailOut',
  'prim::Print',
  'prim::isinstance',
]);

/** Kinds that run, or begin to run, code that is not in the graph: it may write to more than it is given. */
const RUN_UNSEEN_CODE: ReadonlySet<Symbol> = new Set([...UNKNOWN_EFFECTS, 'prim::fork', 'prim::awaitable']);

/** Whether a node, or one in its blocks, runs code that is not in the graph. */
export function runsUnseenCode({ kind, blocks }: Node): boolean {
  return RUN_UNSEEN_CODE.has(kind) || blocks.some((block) => [...block.nodes()].some(runsUnseenCode));
}

/** What is waited for may have written to anything it was given. */
const WAITS: ReadonlySet<Symbol> = new Set(['aten::wait', 'prim::awaitable_wait']);

/** The flag that says, by kind, whether a normalisation writes to its running statistics: its schema does not tell. */
const NORMALIZATION_FLAGS: ReadonlyMap<Symbol, string> = new Map([
  ['aten::batch_norm', 'training'],
  ['aten::instance_norm', 'use_input_stats'],
]);

/** Kinds without blocks that do nothing but give their outputs, and which no schema tells of. */
const PLAIN_KINDS: ReadonlySet<Symbol> = new Set([
  'prim::Constant',
  'prim::GetAttr',
  'prim::TupleUnpack',
  'prim::TupleIndex',
  'prim::TupleSlice',
  'prim::ListUnpack',
  ...CONTAINERS,
]);

/** Whether a node certainly does nothing but give its outputs: what passes ask of every node, answered for most of them with what is known of their kind. */
export function isPlain(node: Node): boolean {
  const { kind } = node;
  if (PLAIN_KINDS.has(kind)) return true;
  const operator = node.maybeOperator();
  return (
    operator?.isPlain === true &&
    node.blocks.length === 0 &&
    !NORMALIZATION_FLAGS.has(kind) &&
    !hasSideEffectsByKind(kind)
  );
}

/** The values that a node itself writes to, those in its blocks not asked; null where it may write to anything. */
export function directlyWritten(node: Node): readonly Value[] | null {
  const { kind } = node;
  if (WITHOUT_WRITES.has(kind)) return NOTHING;
  if (kind === 'prim::SetAttr') return [node.input(0)];
  const flag = NORMALIZATION_FLAGS.get(kind);
  if (flag !== undefined) {
    const isInference = node.hasNamedInput(flag) && constantValue(node.namedInput(flag)) === false;
    return isInference ? NOTHING : node.inputs.slice(3, 5);
  }
  const operator = UNKNOWN_EFFECTS.has(kind) || WAITS.has(kind) ? undefined : node.maybeOperator();
  if (operator?.aliasAnalysis === 'pure-function') return NOTHING;
  if (operator?.aliasAnalysis !== 'from-schema') return null;
  const { schema } = operator;
  if (!schema.tellsAliases) return NOTHING;
  return node.inputs.filter((_, index) => schema.arguments.at(index)?.isWrittenInto);
}

/** Whether a value comes from outside the graph or out of a container, and may be anything of its type. */
export function isFromOutside(value: Value): boolean {
  const { node } = value;
  if (FORWARDERS.has(node.kind) || node.kind === 'prim::unchecked_unwrap_optional') {
    const input = node.inputs.at(value.offset);
    return input !== undefined && isFromOutside(input);
  }
  return EXTRACTORS.has(node.kind) || (node.kind === 'prim::Param' && node.owningBlock.owningNode === undefined);
}

/**
 * Whether a value that is new where it is made, and can be written to, is nowhere but where it is read: nothing else ever has it or what it holds.
 *
 * @param taker a node that may also have it
 */
export function isOnlyRead(value: Value, taker?: Node): boolean {
  const types = new MutableTypes();
  if (value.type.containedTypes().some((type) => types.isMutable(type))) return false;
  return value.uses.every((use) => use.user === taker || readsOnly(use));
}

/** Whether a user neither writes to the tensor that it uses, nor gives it, a view of it or something that holds it. */
export function readsOnly({ user, offset }: Use): boolean {
  const operator = user.maybeOperator();
  if (operator?.aliasAnalysis === 'pure-function') return true;
  if (operator?.aliasAnalysis !== 'from-schema' || operator.mayGiveArguments) return false;
  if (user.blocks.length > 0 || (NORMALIZATION_FLAGS.has(user.kind) && offset > 0)) return false;
  const argument = operator.schema.arguments.at(offset);
  return argument !== undefined && argument.aliasInfo === undefined;
}

/** Whether an operator made a value, which is neither an argument of it nor a view or a part of one. */
export function isNew({ node, offset, type }: Value): boolean {
  if (type.kind !== 'TensorType' || node.kind.startsWith('prim::') || WAITS.has(node.kind)) return false;
  const operator = node.maybeOperator();
  if (operator?.aliasAnalysis !== 'from-schema' || operator.mayGiveArguments) return false;
  const result = operator.schema.returns.at(offset);
  return result !== undefined && result.aliasInfo === undefined;
}

const NOTHING: readonly Value[] = [];
