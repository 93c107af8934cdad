import { IntType, type GraphFunction, type SourceRange, type Value } from '@cresset/ir';
import { emitBuiltinCall } from '../emission/builtin-call.ts';
import { compileError } from '../compilation-error.ts';
import { NamedValue } from './named-value.ts';
import { SimpleValue } from './simple-value.ts';
import { SugaredTupleValue } from './sugared-tuple-value.ts';
import { SugaredValue } from './sugared-value.ts';

/** `range(…)`: no list is made, the loop counts. */
export class RangeValue extends SugaredValue {
  readonly #start: Value;
  readonly #end: Value;
  readonly #step: Value;
  /** From 0 by 1: length and items need no arithmetic. */
  readonly #hasOnlyEnd: boolean;
  readonly #staticLen: number | undefined;

  /** `staticLen`: that of what it is iterated together with, where that is unrolled. */
  constructor(range: SourceRange, fn: GraphFunction, inputs: readonly Value[], staticLen?: number) {
    super();
    inputs.forEach((input, index) => {
      if (!(input.type instanceof IntType)) {
        throw compileError(
          range,
          `all inputs of range must be ints, found ${input.type.reprStr()} in argument ${index}`,
        );
      }
    });
    if (inputs.length === 0) {
      throw compileError(range, 'range expected at least 1 arguments, got 0');
    }
    if (inputs.length > 3) {
      throw compileError(range, `range expected at most 3 arguments, got ${inputs.length}`);
    }
    const graph = fn.graphBeingDefined;
    this.#hasOnlyEnd = inputs.length === 1;
    this.#start = this.#hasOnlyEnd ? graph.insertConstant(0n, range) : inputs[0]!;
    this.#end = this.#hasOnlyEnd ? inputs[0]! : inputs[1]!;
    this.#step = inputs[2] ?? graph.insertConstant(1n, range);
    this.#staticLen = staticLen;
  }

  override kind(): string {
    return 'range';
  }

  override iter(): SugaredValue {
    return this;
  }

  override staticLen(): number | undefined {
    return this.#staticLen;
  }

  override len(range: SourceRange, fn: GraphFunction): Value {
    const graph = fn.graphBeingDefined;
    if (this.#staticLen !== undefined) {
      return graph.insertConstant(BigInt(this.#staticLen), range);
    }
    if (this.#hasOnlyEnd) {
      return this.#end;
    }
    const args = [this.#start, this.#end, this.#step].map((value) => NamedValue.of(value, range));
    return emitBuiltinCall(range, graph, 'aten::__range_length', args);
  }

  override getitem(range: SourceRange, fn: GraphFunction, index: Value): SugaredValue {
    if (this.#hasOnlyEnd) {
      return new SimpleValue(index);
    }
    const args = [index, this.#start, this.#step].map((value) => NamedValue.of(value, range));
    return new SimpleValue(emitBuiltinCall(range, fn.graphBeingDefined, 'aten::__derive_index', args));
  }
}

/**
 * Things iterated side by side: `zip(a, b)` is a tree over a and b, `enumerate(x)` one over a range and x (PyTorch:
 * IterableTree). Where one of them is unrolled, all are.
 */
export class IterableTree extends SugaredValue {
  readonly #children: SugaredValue[] = [];
  #unrollLength: number | undefined;

  override kind(): string {
    return 'iterabletree';
  }

  addChild(range: SourceRange, child: SugaredValue): void {
    const length = child.staticLen();
    if (this.#children.length === 0) {
      this.#unrollLength = length;
    } else if ((length === undefined) !== (this.#unrollLength === undefined)) {
      throw compileError(
        range,
        'Can not iterate over a module list or tuple with a value that does not have a statically determinable length\n',
      );
    } else if (length !== undefined) {
      this.#unrollLength = Math.min(length, this.#unrollLength!);
    }
    this.#children.push(child);
  }

  override iter(): SugaredValue {
    return this;
  }

  override staticLen(): number | undefined {
    return this.#unrollLength;
  }

  /** The shortest of all lengths. */
  override len(range: SourceRange, fn: GraphFunction): Value {
    const graph = fn.graphBeingDefined;
    const lengths = this.#leaves().map((leaf) => leaf.len(range, fn));
    const list = graph.insertNode(graph.createList(IntType.get(), lengths).setSourceRange(range)).output();
    return emitBuiltinCall(range, graph, 'prim::min', [NamedValue.of(list, range)]);
  }

  override getitem(range: SourceRange, fn: GraphFunction, index: Value): SugaredValue {
    return new SugaredTupleValue(this.#children.map((child) => child.getitem(range, fn, index)));
  }

  #leaves(): readonly SugaredValue[] {
    return this.#children.flatMap((child) => (child instanceof IterableTree ? child.#leaves() : [child]));
  }
}
