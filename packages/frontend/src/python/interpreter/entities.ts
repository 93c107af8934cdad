import type { ClassDef, Def, Expr, Param } from '../../parser/tree.ts';
import type { Type } from '@cresset/ir';
import { PythonEntity, type PythonValue } from '../python-value.ts';
import type { Scope } from './scope.ts';

/** Keyword arguments of a call. */
export type Keywords = ReadonlyMap<string, PythonValue>;

export const NO_KEYWORDS: Keywords = new Map();

export type NativeCall = (args: readonly PythonValue[], kwargs: Keywords) => PythonValue;

/** A function that a file of Python defines, or a lambda. */
export class PythonFunction extends PythonEntity {
  override readonly pythonType = 'function';
  readonly attributes = new Map<string, PythonValue>();

  constructor(
    readonly name: string,
    readonly params: readonly Param[],
    /** Absent for a lambda, which is one expression. */
    readonly def: Def | undefined,
    readonly lambda: Expr | undefined,
    /** Where it is defined: what its names mean. */
    readonly scope: Scope,
    readonly defaults: ReadonlyMap<string, PythonValue>,
  ) {
    super();
  }

  /** The class whose body it stands in, which `super()` begins from. */
  owner: PythonClass | undefined;
}

/** A function that is not written in Python here. */
export class NativeFunction extends PythonEntity {
  override readonly pythonType = 'builtin_function_or_method';

  constructor(
    readonly name: string,
    readonly call: NativeCall,
    /** Its full name, where the compiler knows it too. */
    readonly path?: string,
  ) {
    super();
  }
}

/** A function with its first argument. */
export class BoundMethod extends PythonEntity {
  override readonly pythonType = 'method';

  constructor(
    readonly self: PythonValue,
    readonly fn: PythonValue,
  ) {
    super();
  }
}

/** `@staticmethod`, `@classmethod`, `@property` */
export class MethodWrapper extends PythonEntity {
  override readonly pythonType: string;

  constructor(
    readonly kind: 'staticmethod' | 'classmethod' | 'property' | 'cached_property',
    readonly fn: PythonValue,
    readonly setter?: PythonValue,
  ) {
    super();
    this.pythonType = kind;
  }
}

/** What a class has besides what Python says of it. */
export interface NativeClass {
  /** The module of Python that has it, where it is none of the builtins. */
  readonly module?: string;
  /** Makes a value of a class that Python has no `__init__` of. */
  readonly construct?: NativeCall;
  /** Whether a value that is no object of Python's is one of this class. */
  readonly isInstance?: (value: PythonValue) => boolean;
  /** Makes an object of a class derived from this one, before its `__init__` runs. */
  readonly allocate?: (type: PythonClass) => PythonObject;
  readonly getAttribute?: (name: string) => PythonValue | undefined;
  /** What it is as an annotation, where no statement says it. */
  readonly typeOf?: () => Type;
}

/** A class. */
export class PythonClass extends PythonEntity {
  override readonly pythonType = 'type';
  readonly members = new Map<string, PythonValue>();
  /** Annotations of its own body, in order. */
  readonly annotations = new Map<string, Expr>();
  /** Itself and all that it derives from, in the order in which members are looked for. */
  readonly mro: readonly PythonClass[];

  constructor(
    readonly name: string,
    readonly bases: readonly PythonClass[],
    readonly native: NativeClass = {},
    /** What it was made of: absent for what Python brings. */
    readonly definition?: { readonly def: ClassDef; readonly scope: Scope },
  ) {
    super();
    this.mro = [this, ...merge([...bases.map((base) => [...base.mro]), [...bases]])];
  }

  /** What it has under a name, of itself or of a class that it derives from. */
  find(name: string): PythonValue | undefined {
    return this.mro.find((each) => each.members.has(name))?.members.get(name);
  }

  isSubclassOf(other: PythonClass): boolean {
    return this.mro.includes(other);
  }

  /** The nearest of its classes that is not written in Python. */
  nativePart<Key extends keyof NativeClass>(key: Key): NativeClass[Key] {
    return this.mro.find(({ native }) => native[key] !== undefined)?.native[key];
  }
}

/** Joins lists of classes so that each stands before those it derives from (C3). */
function merge(lists: PythonClass[][]): PythonClass[] {
  const result: PythonClass[] = [];
  let left = lists.filter((list) => list.length > 0);
  while (left.length > 0) {
    const head =
      left.map((list) => list[0]!).find((candidate) => left.every((list) => !list.slice(1).includes(candidate))) ??
      left[0]![0]!;
    result.push(head);
    left = left.map((list) => list.filter((each) => each !== head)).filter((list) => list.length > 0);
  }
  return result;
}

/** An object of a class that a file defines. */
export class PythonObject extends PythonEntity {
  readonly attributes = new Map<string, PythonValue>();

  constructor(public type: PythonClass) {
    super();
  }

  override get pythonType(): string {
    return this.type.name;
  }
}

/** `super()` */
export class SuperProxy extends PythonEntity {
  override readonly pythonType = 'super';

  constructor(
    readonly after: PythonClass,
    readonly self: PythonValue,
  ) {
    super();
  }
}

/** A module of PyTorch's or Python's, or something of it that is not known any closer, by its full name. */
export class QualifiedName extends PythonEntity {
  override readonly pythonType = 'module';

  constructor(readonly path: string) {
    super();
  }
}

/** An annotation as a value: `Optional[int]`. */
export class TypeExpression extends PythonEntity {
  override readonly pythonType = 'type';

  constructor(readonly expr: Expr) {
    super();
  }
}

export class PythonSet extends PythonEntity {
  override readonly pythonType = 'set';

  constructor(readonly items: PythonValue[]) {
    super();
  }
}

/** What `iter()` gives, `zip` and generators too. */
export class PythonIterator extends PythonEntity {
  override readonly pythonType = 'iterator';

  constructor(readonly iterator: Iterator<PythonValue>) {
    super();
  }
}

/** `slice(…)`, as a subscript has it. */
export class PythonSlice extends PythonEntity {
  override readonly pythonType = 'slice';

  constructor(
    readonly start: PythonValue,
    readonly stop: PythonValue,
    readonly step: PythonValue,
  ) {
    super();
  }
}

/** `...` */
export class PythonEllipsis extends PythonEntity {
  override readonly pythonType = 'ellipsis';
}

export const ELLIPSIS = new PythonEllipsis();
/** What a method gives that has no operation for its argument. */
export const NOT_IMPLEMENTED = new QualifiedName('NotImplemented');
