import type { ClassType, GraphFunction, SourceRange, Type, Value } from '@cresset/ir';
import type { ConstantScope } from './script-type-parser.ts';
import type { SugaredValue } from './values/sugared-value.ts';

/** Finds what a program's free names mean: where it came from knows (PyTorch: Resolver). */
export interface Resolver {
  /** The meaning of a name that is no variable, while `fn` is compiled; undefined where it has none. */
  resolveValue(name: string, fn: GraphFunction, range: SourceRange): SugaredValue | undefined;

  /** The type of that, possibly qualified, name; undefined where there is none. */
  resolveType(name: string, range: SourceRange): Type | undefined;

  /** A name as PyTorch and Python have it, where the source imports it under another: `typing.List` for `T.List`. */
  fullName?(name: string): string;

  /** Computes constants where Python would have; absent for printed code, in which they are TorchScript. */
  readonly constants?: ConstantScope | undefined;
}

/** What the first parameter of a method is (PyTorch: Self). */
export interface Self {
  readonly classType: ClassType;
  /** Gives the parameter's value its type, and tells how its attributes are looked up. */
  makeSugared(value: Value): SugaredValue;
}
