import type { GraphFunction, SourceRange, Type, Value } from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import type { NamedValue } from './named-value.ts';

/** A call in the source. */
export interface SugaredCall {
  readonly range: SourceRange;
  /** The function that is being compiled. */
  readonly fn: GraphFunction;
  readonly args: readonly NamedValue[];
  readonly kwargs: readonly NamedValue[];
}

/**
 * What an expression may mean while it is compiled: a value of the graph, or something that is none by itself and is desugared
 * by its use, such as a function, a module of functions, a class, `range(…)` or `self` (PyTorch: SugaredValue).
 *
 * Every operation takes the place in the source for messages, and the function being compiled, into whose graph it emits nodes at
 * the graph's insertion point. By default every operation throws an ErrorReport that says what cannot be done.
 */
export abstract class SugaredValue {
  /** What it is, for messages: `function`, `module`, `value of type 'int'`. */
  abstract kind(): string;

  /** Used as a value: `this + 4`. */
  asValue(range: SourceRange, _fn: GraphFunction): Value {
    throw compileError(range, `${this.kind()} cannot be used as a value`);
  }

  /** `this.field` */
  attr(range: SourceRange, _fn: GraphFunction, _field: string): SugaredValue {
    throw compileError(range, `attribute lookup is not defined on ${this.kind()}`);
  }

  hasAttr(range: SourceRange, _fn: GraphFunction, _field: string): boolean {
    throw compileError(range, `attribute lookup is not defined on ${this.kind()}`);
  }

  /** `this.field = value` */
  setAttr(range: SourceRange, _fn: GraphFunction, _field: string, _value: Value): void {
    throw compileError(range, `attribute assignment is not defined on ${this.kind()}`);
  }

  /** Unpacked: `a, b = this`. `sizeHint` is the number of targets, where the value itself does not tell. */
  asTuple(range: SourceRange, _fn: GraphFunction, _sizeHint?: number): readonly SugaredValue[] {
    throw compileError(range, `${this.kind()} cannot be used as a tuple`);
  }

  /** As one value that is a tuple: how a module list is sliced. */
  asTupleValue(range: SourceRange, _fn: GraphFunction): SugaredValue {
    throw compileError(range, `${this.kind()} cannot be used as a tuplevalue`);
  }

  /** `this(args, name=kwarg)` */
  call({ range }: SugaredCall): SugaredValue {
    throw compileError(range, `cannot call a ${this.kind()}`);
  }

  /** What a loop over it goes over: for a dict its keys. */
  iter(range: SourceRange, _fn: GraphFunction): SugaredValue {
    throw compileError(range, `${this.kind()} cannot be used as an iterable`);
  }

  /** How many items it has, where that is known now: a loop over it is unrolled then. */
  staticLen(): number | undefined {
    return undefined;
  }

  /** The value `len(this)`. */
  len(range: SourceRange, _fn: GraphFunction): Value {
    throw compileError(range, `'${this.kind()}' object is not iterable`);
  }

  /** `this[index]`. `typeHint`: an annotation of the result, for modules picked at run time. */
  getitem(range: SourceRange, _fn: GraphFunction, _index: Value, _typeHint?: Type): SugaredValue {
    throw compileError(range, `'${this.kind()}' object is not subscriptable`);
  }
}
