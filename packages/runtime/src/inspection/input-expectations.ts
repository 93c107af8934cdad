import { AliasDb, type Block, type Graph, type GraphFunction, type Node, type Value } from '@cresset/ir';
import {
  eliminateDeadCode,
  foldModuleAttributes,
  inline,
  lowerSimpleTuples,
  peepholeOptimize,
  propagateConstants,
} from '@cresset/passes';
import { List, ScriptObject, Tensor, type IValue } from '@cresset/tensor';
import { evaluateConstant } from '../executor/constant-evaluator.ts';
import { constantValue } from '../interpreter/code/constant-value.ts';
import type { InputExpectation, InputExpectations } from '../worker/wire/protocol.ts';
import { sizeRelation, type Sizes } from './size-inverses.ts';

const MAX_RANK = 8;
/** Numbers in a program up to this one may be sizes of its inputs. */
const MAX_SIZE = 1 << 16;

/** A tensor that was made of an input, and how its sizes lead back to the input's. */
interface Derived {
  readonly input: Finding;
  /** Innermost last: the input's sizes from those of this tensor. */
  readonly undo: readonly ((sizes: Sizes) => Sizes | null)[];
  /** What is known of its own. */
  readonly sizes: Sizes | null;
}

/** What is known of an input so far. */
class Finding {
  dtype: InputExpectation['dtype'] = null;
  below: number | null = null;
  value: number | null = null;
  #sizes: Sizes | null = null;
  /** Sizes of its last dimensions, where their number is not known. */
  #tail: Sizes = [];
  /** Sizes that checks name, by dimension. */
  readonly #checked = new Map<number, number>();

  constructor(readonly name: string) {}

  /** What comes first counts: later uses see what the program made of the input. */
  learnSizes(sizes: Sizes): void {
    if (!this.#sizes) this.#sizes = sizes;
    else if (this.#sizes.length === sizes.length) this.#sizes = this.#sizes.map((size, dim) => size ?? sizes[dim]);
  }

  learnTail(sizes: Sizes): void {
    if (this.#tail.length === 0) this.#tail = sizes;
  }

  learnChecked(dim: number, size: number): void {
    if (!this.#checked.has(dim)) this.#checked.set(dim, size);
  }

  get result(): InputExpectation {
    const { name, dtype, below, value } = this;
    const rank =
      this.#sizes?.length ?? Math.max(this.#tail.length + 1, ...[...this.#checked.keys()].map((dim) => dim + 1));
    const isKnown = this.#sizes !== null || this.#tail.length > 0 || this.#checked.size > 0;
    const shape = Array.from({ length: rank }, (_, dim): number | null => {
      const checked = this.#checked.get(dim) ?? this.#checked.get(dim - rank);
      return checked ?? this.#sizes?.[dim] ?? this.#tail[dim - rank + this.#tail.length] ?? null;
    });
    return { name, dtype, below, value, shape: isKnown ? shape : null };
  }
}

/**
 * What a method tells of its inputs: what its first convolution, linear layer or embedding of each wants, and what its checks name. Sizes
 * that it leaves open are null. Nothing is run.
 *
 * @param self the object whose method it is; null for a function
 */
export function expectedInputs(fn: GraphFunction, self: ScriptObject | null): InputExpectations {
  const graph = fn.graph.copy();
  inline(graph);
  if (self) foldModuleAttributes(graph, self);
  lowerSimpleTuples(graph);
  propagateConstants(graph, evaluateConstant);
  peepholeOptimize(graph, { disableShapes: true });
  eliminateDeadCode(graph);
  const names = fn.schema.arguments.map(({ name }) => name);
  const walk = new ExpectationWalk(graph, self, names);
  return { inputs: walk.findings.map(({ result }) => result), sizes: [...walk.numbers], isPure: isPure(graph, self) };
}

class ExpectationWalk {
  readonly findings: readonly Finding[];
  /** Whole numbers that occur in the program, in the order of the text. */
  readonly numbers = new Set<number>();
  /** Constants and attributes. */
  readonly #known = new Map<Value, IValue>();
  readonly #derived = new Map<Value, Derived>();
  /** Sizes that the program asked for. */
  readonly #sizes = new Map<Value, { readonly of: Derived; readonly dim: number }>();
  /** Numbers of dimensions that it asked for. */
  readonly #ranks = new Map<Value, Derived>();
  readonly #scalars = new Map<Value, Finding>();

  constructor(graph: Graph, self: ScriptObject | null, names: readonly string[]) {
    const first = self ? 1 : 0;
    if (self) this.#known.set(graph.inputs[0], self);
    this.findings = graph.inputs.slice(first).map((value, index) => {
      const finding = new Finding(names[first + index] ?? '');
      const { kind } = value.type;
      if (kind === 'IntType' || kind === 'FloatType') this.#scalars.set(value, finding);
      else this.#derived.set(value, { input: finding, undo: [], sizes: null });
      return finding;
    });
    this.#visit(graph.block);
  }

  #visit(block: Block): void {
    for (const node of block.nodes()) {
      this.#visitNode(node);
      if (node.kind === 'prim::Loop')
        node.blocks[0].inputs.slice(1).forEach((value, index) => this.#follow(node.input(index + 2), value));
      for (const inner of node.blocks) {
        this.#visit(inner);
        inner.outputs.forEach((value, index) => {
          const output = node.outputs[node.kind === 'prim::Loop' ? index - 1 : index];
          if (output) this.#follow(value, output);
        });
      }
    }
  }

  #follow(from: Value, to: Value): void {
    const derived = this.#derived.get(from);
    const known = this.#derived.get(to);
    // Of two cases, the one in which less was done: the other made a batch of what was none.
    if (derived && !(known && known.undo.length <= derived.undo.length)) this.#derived.set(to, derived);
  }

  #visitNode(node: Node): void {
    const { kind } = node;
    if (kind === 'prim::Constant') return this.#noteConstant(node);
    if (kind === 'prim::GetAttr') {
      const object = this.#known.get(node.input());
      const slot = object instanceof ScriptObject ? object.type.findAttributeSlot(node.s('name')) : undefined;
      if (slot !== undefined) this.#known.set(node.output(), (object as ScriptObject).slots[slot] ?? null);
      return;
    }
    if (kind === 'prim::unchecked_cast' || kind === 'prim::unchecked_unwrap_optional') {
      return this.#follow(node.input(), node.output());
    }
    if (kind === 'prim::ListUnpack') return this.#noteUnpackedSizes(node);
    if (kind === 'aten::__getitem__') this.#noteSize(node);
    if (/^aten::(eq|ne)$/.test(kind)) this.#noteComparison(node);
    const use = USES[kind.replace(/_$/, '')];
    use?.(node, this);
    this.#noteDerived(node);
  }

  #noteConstant(node: Node): void {
    let value: IValue;
    try {
      value = constantValue(node);
    } catch {
      // It only stands for something in the text.
      return;
    }
    this.#known.set(node.output(), value);
    for (const each of value instanceof List ? value.items : [value]) {
      if (typeof each === 'bigint' && each > 1n && each <= MAX_SIZE) this.numbers.add(Number(each));
    }
  }

  /** `batch, channels, height, width = x.shape`. */
  #noteUnpackedSizes(node: Node): void {
    const { node: maker } = node.input();
    const derived = maker.kind === 'aten::size' ? this.#derived.get(maker.input(0)) : undefined;
    if (!derived) return;
    this.#learn(
      derived,
      node.outputs.map(() => null),
    );
    node.outputs.forEach((value, dim) => this.#sizes.set(value, { of: derived, dim }));
  }

  /** `x.shape[1]`. */
  #noteSize(node: Node): void {
    const { node: maker } = node.input(0);
    const derived = maker.kind === 'aten::size' ? this.#derived.get(maker.input(0)) : undefined;
    const dim = this.integer(node.input(1));
    if (derived && dim !== null) this.#sizes.set(node.output(), { of: derived, dim });
  }

  /** A number of the input that is compared with a constant: it has to be that one where the program raises otherwise. */
  #noteComparison(node: Node): void {
    const isFirst = this.#constant(node.input(0)) !== null;
    const value = node.input(isFirst ? 1 : 0);
    const wanted = this.#constant(node.input(isFirst ? 0 : 1));
    if (wanted === null) return;
    const scalar = this.#scalars.get(value);
    if (scalar) scalar.value ??= wanted;
    if (!this.#raisesWhen(node.output(), node.kind === 'aten::ne')) return;
    const rank = this.#ranks.get(value);
    if (rank && wanted <= MAX_RANK) this.#learn(rank, new Array<null>(wanted).fill(null));
    const size = this.#sizes.get(value);
    if (size?.of.undo.length === 0) size.of.input.learnChecked(size.dim, wanted);
    // The last dimension mostly is the input's own, whatever was put before it.
    else if (size?.dim === -1) size.of.input.learnTail([wanted]);
  }

  /** Whether the program raises where a condition is so: by itself, or as a part of `or`, `and` and `not`. */
  #raisesWhen(condition: Value, truth: boolean): boolean {
    return condition.uses.some(({ user, offset }) => {
      if (user.kind === 'aten::__not__') return this.#raisesWhen(user.output(), !truth);
      if (user.kind === 'prim::Return') {
        const owner = user.owningBlock.owningNode;
        return owner?.kind === 'prim::If' && this.#raisesWhen(owner.outputs[offset], truth);
      }
      if (user.kind !== 'prim::If') return false;
      const taken = user.blocks[truth ? 0 : 1];
      if (raises(taken)) return true;
      const result = constantOf(taken.outputs[0]);
      return typeof result === 'boolean' && this.#raisesWhen(user.output(), result);
    });
  }

  /** A whole number; of one that depends on a condition, that of the first case. */
  #constant(value: Value): number | null {
    const { node } = value;
    if (node.kind !== 'prim::If') return this.integer(value);
    return this.integer(node.blocks[0].outputs[node.outputs.indexOf(value)]);
  }

  /** What the node makes of an input, where its sizes lead back to the input's. */
  #noteDerived(node: Node): void {
    if (node.outputs.length !== 1) return;
    const at = node.inputs.findIndex((value) => this.#derived.has(value));
    const source = at < 0 ? this.#derivedOfList(node) : this.#derived.get(node.input(at))!;
    if (!source) return;
    const output = node.output();
    if (node.kind === 'aten::size') {
      const dim = node.inputs.length > 1 ? this.integer(node.input(1)) : null;
      if (dim !== null) this.#sizes.set(output, { of: source, dim });
      return;
    }
    if (node.kind === 'aten::dim') return void this.#ranks.set(output, source);
    const relation = sizeRelation(node, source.sizes, this);
    if (!relation) return;
    this.#derived.set(output, {
      input: source.input,
      undo: [...source.undo, relation.undo],
      sizes: relation.result,
    });
    if (!/^aten::(add|sub|mul|div)_?$/.test(node.kind)) return;
    const other = node.inputs.find((value) => value !== node.input(Math.max(at, 0)) && this.sizes(value));
    // A mean that is subtracted, a position that is added: sizes of 1 are spread.
    if (other && source.undo.length === 0) {
      const tail = this.sizes(other)!.map((size) => (size === 1 ? null : size));
      if (tail.some((size) => size !== null)) source.input.learnTail(tail);
    }
  }

  #derivedOfList(node: Node): Derived | undefined {
    const list = node.inputs[0]?.node;
    if (list?.kind !== 'prim::ListConstruct') return undefined;
    return list.inputs.map((value) => this.#derived.get(value)).find((each) => each !== undefined);
  }

  // ---- for the table of uses

  isTrue(value: Value): boolean {
    return this.#known.get(value) === true;
  }

  integer(value: Value): number | null {
    const known = this.#known.get(value);
    return typeof known === 'bigint' ? Number(known) : null;
  }

  integers(value: Value): number[] | null {
    const known = this.#known.get(value);
    if (known instanceof List) return known.items.map(Number);
    const { node } = value;
    if (node.kind !== 'prim::ListConstruct') return null;
    const items = node.inputs.map((item) => this.integer(item));
    return items.every((item) => item !== null) ? items : null;
  }

  /** Sizes of a weight; its transpose, or what arithmetic makes of it, counts as one. */
  sizes(value: Value): readonly number[] | null {
    const known = this.#known.get(value);
    if (known instanceof Tensor) return known.sizes;
    const { kind, inputs } = value.node;
    if (kind === 'aten::t' || kind === 'aten::transpose') return this.sizes(inputs[0])?.toReversed() ?? null;
    return kind === 'aten::to' || kind === 'aten::contiguous' ? this.sizes(inputs[0]) : null;
  }

  /** The input has such sizes at this use. */
  wants(value: Value, sizes: Sizes | null, dtype?: InputExpectation['dtype'], below?: number): void {
    const derived = this.#derived.get(value);
    if (!derived) return;
    derived.input.dtype ??= dtype ?? null;
    derived.input.below ??= below ?? null;
    if (sizes) this.#learn(derived, sizes);
  }

  /** The last dimensions of the input have such sizes at this use. */
  wantsTail(value: Value, sizes: Sizes): void {
    const derived = this.#derived.get(value);
    if (!derived) return;
    derived.input.dtype ??= 'float32';
    if (derived.undo.length === 0) derived.input.learnTail(sizes);
    // The least number of dimensions that a batch has.
    else this.#learn(derived, [null, ...sizes]);
  }

  #learn(derived: Derived, sizes: Sizes): void {
    let back: Sizes | null = sizes;
    for (const undo of derived.undo.toReversed()) back = back && undo(back);
    if (back) derived.input.learnSizes(back);
  }
}

type Use = (node: Node, walk: ExpectationWalk) => void;

function convolution(node: Node, walk: ExpectationWalk): void {
  const sizes = walk.sizes(node.input(1));
  if (!sizes) return;
  const isTransposed =
    node.kind.includes('transpose') || (node.hasNamedInput('transposed') && walk.isTrue(node.namedInput('transposed')));
  const groups = walk.integer(node.namedInput('groups')) ?? 1;
  const channels = isTransposed ? sizes[0] : sizes[1] * groups;
  walk.wants(node.input(0), [null, channels, ...sizes.slice(2).map(() => null)], 'float32');
}

function product(walk: ExpectationWalk, input: Value, weight: Value): void {
  const sizes = walk.sizes(weight);
  if (sizes && sizes.length > 0) walk.wantsTail(input, [sizes.at(-2) ?? sizes[0]]);
}

function productWithVector(walk: ExpectationWalk, weight: Value, input: Value): void {
  const sizes = walk.sizes(weight);
  if (sizes?.length === 2) walk.wants(input, [sizes[1]], 'float32');
}

function recurrent(node: Node, walk: ExpectationWalk): void {
  const [first] = node.input(2).node.inputs;
  const sizes = first && walk.sizes(first);
  if (sizes) walk.wants(node.input(0), [null, null, sizes[1]], 'float32');
}

const indices =
  (at: number): Use =>
  (node, walk) =>
    walk.wants(node.input(at), null, 'int64');

/** What operators want of an input that meets a weight in them. */
const USES: Readonly<Record<string, Use>> = {
  'aten::conv1d': convolution,
  'aten::conv2d': convolution,
  'aten::conv3d': convolution,
  'aten::_convolution': convolution,
  'aten::conv_transpose1d': convolution,
  'aten::conv_transpose2d': convolution,
  'aten::conv_transpose3d': convolution,
  'aten::linear'(node, walk) {
    const sizes = walk.sizes(node.input(1));
    if (sizes) walk.wantsTail(node.input(0), [sizes.at(-1)!]);
  },
  'aten::matmul': (node, walk) => product(walk, node.input(0), node.input(1)),
  'aten::mm': (node, walk) => product(walk, node.input(0), node.input(1)),
  'aten::mv': (node, walk) => productWithVector(walk, node.input(0), node.input(1)),
  'aten::addmv': (node, walk) => productWithVector(walk, node.input(1), node.input(2)),
  'aten::addmm': (node, walk) => product(walk, node.input(1), node.input(2)),
  'aten::lstm': recurrent,
  'aten::gru': recurrent,
  'aten::rnn_tanh': recurrent,
  'aten::rnn_relu': recurrent,
  'aten::layer_norm'(node, walk) {
    const sizes = walk.integers(node.input(1));
    if (sizes) walk.wantsTail(node.input(0), sizes);
  },
  'aten::embedding'(node, walk) {
    walk.wants(node.input(1), null, 'int64', walk.sizes(node.input(0))?.[0]);
  },
  'aten::embedding_bag'(node, walk) {
    walk.wants(node.input(1), null, 'int64', walk.sizes(node.input(0))?.[0]);
    walk.wants(node.input(2), null, 'int64', 1);
  },
  'aten::index_select': indices(2),
  'aten::gather': indices(2),
  'aten::index_add': indices(2),
  'aten::scatter_add': indices(2),
  'aten::one_hot': indices(0),
  'aten::index'(node, walk) {
    for (const index of node.input(1).node.inputs) walk.wants(index, null, 'int64');
  },
  'aten::masked_fill': (node, walk) => walk.wants(node.input(1), null, 'bool'),
  'aten::where': (node, walk) => walk.wants(node.input(0), null, 'bool'),
};

function constantOf(value: Value | undefined): IValue | undefined {
  return value?.node.kind === 'prim::Constant' ? constantValue(value.node) : undefined;
}

function raises(block: Block): boolean {
  for (const node of block.nodes()) if (node.kind === 'prim::RaiseException') return true;
  return false;
}

/** Whether a run leaves the module and what it holds as they were. */
function isPure(graph: Graph, self: ScriptObject | null): boolean {
  const nodes = [...graph.allNodes()];
  if (nodes.some(({ kind }) => /^prim::(SetAttr|CallMethod|CallFunction|fork)$/.test(kind))) return false;
  if (!self) return true;
  const aliases = AliasDb.of(graph);
  const kept = nodes
    .filter(({ kind }) => kind === 'prim::GetAttr' || kind === 'prim::Constant')
    .map((node) => node.output())
    .filter(({ type }) => type.kind === 'TensorType');
  const written = nodes.flatMap((node) =>
    node.inputs.filter(
      ({ type }, index) => type.kind === 'TensorType' && node.maybeSchema()?.arguments[index]?.aliasInfo?.isWrite,
    ),
  );
  return !aliases.mayAlias(kept, written);
}
