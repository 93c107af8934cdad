import { CompilationUnit } from '@cresset/ir';
import { type Dependency, qualifiedNameOf } from './python-print/dependency-table.ts';

/** Names for the types of one file: their own, or a mangled one where another type has that already (torch::jit::TypeNameUniquer). */
export class TypeNameUniquer {
  readonly #names = new Map<Dependency, string>();
  /** Types with the same name of their own, in order of occurrence. */
  readonly #namesakes = new Map<string, Dependency[]>();
  readonly #used = new Set<string>();
  readonly #mangler = new CompilationUnit();

  /** The qualified name of a type in the file; the same for equal types. */
  nameOf(type: Dependency): string {
    let name = this.#names.get(type);
    if (name === undefined) this.#names.set(type, (name = this.#newNameOf(type)));
    return name;
  }

  #newNameOf(type: Dependency): string {
    const ownName = qualifiedNameOf(type);
    const namesakes = this.#namesakes.get(ownName) ?? [];
    const equal = namesakes.find((other) => other.equals(type));
    if (equal) return this.#names.get(equal)!;
    this.#namesakes.set(ownName, [...namesakes, type]);
    let name = ownName;
    while (this.#used.has(name)) name = this.#mangler.mangle(ownName);
    this.#used.add(name);
    return name;
  }
}
