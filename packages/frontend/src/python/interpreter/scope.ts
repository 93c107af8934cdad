import type { PythonValue } from '../python-value.ts';
import type { PythonClass } from './entities.ts';

/** A name whose value could not be computed: whoever uses it learns why. */
export class Unusable {
  constructor(readonly reason: unknown) {}
}

/** A call in progress. */
export interface Frame {
  /** The class that the function was defined in. */
  readonly owner: PythonClass | undefined;
  readonly self: PythonValue | undefined;
}

/** Names with their values: those of a file, a class's body, a call or a comprehension. */
export class Scope {
  readonly names = new Map<string, PythonValue | Unusable>();
  /** Names that are assigned to further out. */
  readonly #outer = new Map<string, Scope>();

  constructor(
    readonly parent: Scope | undefined,
    readonly kind: 'module' | 'class' | 'function' | 'comprehension',
    /** The file's name in Python. */
    readonly module: string,
    readonly frame?: Frame,
  ) {}

  /** The scope of the file. */
  get globals(): Scope {
    let scope = this as Scope;
    while (scope.parent !== undefined) scope = scope.parent;
    return scope;
  }

  /** Where functions that are defined here look for names: a class's own are not theirs. */
  get enclosing(): Scope {
    return this.kind === 'class' ? this.parent!.enclosing : this;
  }

  /** The call that is in progress. */
  get call(): Frame | undefined {
    return this.frame ?? (this.kind === 'comprehension' ? this.parent!.call : undefined);
  }

  find(name: string): PythonValue | Unusable | undefined {
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.parent) {
      const found = scope.names.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  set(name: string, value: PythonValue | Unusable): void {
    (this.#outer.get(name) ?? this).names.set(name, value);
  }

  delete(name: string): boolean {
    return this.names.delete(name);
  }

  declareGlobal(name: string): void {
    this.#outer.set(name, this.globals);
  }

  declareNonlocal(name: string): void {
    for (let scope = this.parent; scope !== undefined; scope = scope.parent) {
      if (scope.names.has(name)) this.#outer.set(name, scope);
    }
  }
}
