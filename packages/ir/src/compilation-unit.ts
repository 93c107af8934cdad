import { compilerServices, type CompilerServices } from './compiler-services.ts';
import { TupleType } from './types/container-types.ts';
import { CressetError } from './error.ts';
import type { GraphFunction } from './graph/function.ts';
import { baseName, ClassType, type EnumType, type InterfaceType } from './types/named-types.ts';

/** A type that a program gives a name: a class, an interface, an enum, a named tuple. */
export type NamedType = ClassType | InterfaceType | EnumType | TupleType;

/** Parts of a qualified name that say nothing but that another module has the same name (PyTorch: NameMangler). */
const MANGLE_PREFIX = '___torch_mangle_';

/**
 * Functions and named types that know each other by qualified name (PyTorch: CompilationUnit). Methods are functions too, named
 * `Class.method`.
 */
export class CompilationUnit {
  readonly #functions = new Map<string, GraphFunction>();
  readonly #types = new Map<string, NamedType>();
  #mangleIndex = 0;

  /** @param services with which its functions are compiled */
  constructor(readonly services: CompilerServices = compilerServices()) {}

  /** All functions, methods among them, in the order they were registered. */
  get functions(): readonly GraphFunction[] {
    return [...this.#functions.values()];
  }

  get types(): readonly NamedType[] {
    return [...this.#types.values()];
  }

  get classes(): readonly ClassType[] {
    return this.types.filter((type) => type instanceof ClassType);
  }

  /** Throws `IR_INVARIANT` where the name is taken. */
  registerFunction(fn: GraphFunction): GraphFunction {
    if (this.#functions.has(fn.qualifiedName)) {
      throw new CressetError('IR_INVARIANT', `method '${fn.qualifiedName}' already defined.`);
    }
    this.#functions.set(fn.qualifiedName, fn);
    return fn;
  }

  findFunction(qualifiedName: string): GraphFunction | undefined {
    return this.#functions.get(qualifiedName);
  }

  /** Throws `IR_INVARIANT` where there is none. */
  getFunction(qualifiedName: string): GraphFunction {
    const fn = this.#functions.get(qualifiedName);
    if (fn === undefined) {
      throw new CressetError('IR_INVARIANT', `attempted to get undefined function '${qualifiedName}'`);
    }
    return fn;
  }

  removeFunction(qualifiedName: string): void {
    this.#functions.delete(qualifiedName);
  }

  /** Throws `IR_INVARIANT` for a type without a name, or where the name is taken. */
  registerType(type: NamedType): void {
    const name = type instanceof TupleType ? type.name : type.qualifiedName;
    if (name === undefined || this.#types.has(name)) {
      throw new CressetError('IR_INVARIANT', `class '${name ?? type.str()}' already defined.`);
    }
    this.#types.set(name, type);
  }

  removeType(type: NamedType): void {
    for (const [name, known] of this.#types) if (known === type) this.#types.delete(name);
  }

  getType(qualifiedName: string): NamedType | undefined {
    return this.#types.get(qualifiedName);
  }

  getClass(qualifiedName: string): ClassType | undefined {
    const type = this.#types.get(qualifiedName);
    return type instanceof ClassType ? type : undefined;
  }

  /** A name like `qualifiedName` that nothing here has: `a.___torch_mangle_3.B` (PyTorch: mangle). */
  mangle(qualifiedName: string): string {
    let mangled = qualifiedName;
    do {
      mangled = this.#mangleOnce(mangled);
    } while (this.#functions.has(mangled) || this.#types.has(mangled));
    return mangled;
  }

  #mangleOnce(qualifiedName: string): string {
    const atoms = qualifiedName.split('.');
    const at = atoms.findIndex((atom) => atom.startsWith(MANGLE_PREFIX));
    const atom = `${MANGLE_PREFIX}${this.#mangleIndex++}`;
    if (at !== -1) {
      atoms[at] = atom;
      return atoms.join('.');
    }
    const name = baseName(qualifiedName);
    return atoms.length === 1 ? `${atom}.${name}` : `${atoms.slice(0, -1).join('.')}.${atom}.${name}`;
  }
}
