import { ClassType, EnumType, FunctionType, InterfaceType, TupleType, type NamedType, type Type } from '@cresset/ir';

/** What printed code names and has to be printed too. */
export type Dependency = NamedType | FunctionType;

/** The qualified name of a dependency. */
export function qualifiedNameOf(dependency: Dependency): string {
  if (dependency instanceof FunctionType) return dependency.function.qualifiedName;
  return dependency instanceof TupleType ? dependency.name! : dependency.qualifiedName;
}

/** The classes, functions, interfaces, enums and named tuples that printed code names, in order of mention (PyTorch: PrintDepsTable). */
export class DependencyTable implements Iterable<Dependency> {
  readonly #dependencies: Dependency[] = [];
  readonly #seen = new Set<Type>();
  /** Types whose contained types are here too. Classes may contain themselves. */
  readonly #expanded = new Set<Type>();
  readonly #byName = new Map<string, Dependency[]>();

  get length(): number {
    return this.#dependencies.length;
  }

  /** Adds a dependency, unless an equal one is there. */
  add(dependency: Dependency): void {
    if (this.#seen.has(dependency)) return;
    this.#seen.add(dependency);
    const name = qualifiedNameOf(dependency);
    const namesakes = this.#byName.get(name) ?? [];
    if (namesakes.some((other) => other.equals(dependency))) return;
    this.#byName.set(name, [...namesakes, dependency]);
    this.#dependencies.push(dependency);
  }

  /** Adds the named types in `type`, and those that they contain. */
  addTypesIn(type: Type): void {
    if (isNamed(type)) {
      if (this.#expanded.has(type)) return;
      this.#expanded.add(type);
      this.add(type);
    }
    for (const contained of type.containedTypes()) this.addTypesIn(contained);
  }

  /** In order; what is added meanwhile comes too. */
  *[Symbol.iterator](): IterableIterator<Dependency> {
    yield* this.#dependencies;
  }
}

function isNamed(type: Type): type is NamedType {
  return (
    type instanceof ClassType ||
    type instanceof InterfaceType ||
    type instanceof EnumType ||
    (type instanceof TupleType && type.name !== undefined)
  );
}
