import { TupleType, type Type } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import { TypeNameUniquer } from '../type-name-uniquer.ts';
import { type Dependency, DependencyTable } from './dependency-table.ts';
import { PythonPrint } from './python-print.ts';

/**
 * The code of a program as the files of an archive: a file for each qualifier, with the classes and functions of that one, each
 * printed once (torch::jit::ScriptModuleSerializer::convertNamedType).
 */
export class CodeFiles {
  /** What the code calls `CONSTANTS.c0`, `CONSTANTS.c1`, …. */
  readonly constants: IValue[] = [];
  readonly #names: TypeNameUniquer;
  readonly #dependencies = new DependencyTable();
  readonly #printed = new Set<string>();
  readonly #files = new Map<string, PythonPrint>();

  constructor(names = new TypeNameUniquer()) {
    this.#names = names;
  }

  /** The files by their place below `code/`, as `__torch__/net.py`, in the order in which they were begun. */
  get files(): ReadonlyMap<string, PythonPrint> {
    return this.#files;
  }

  /** The lowest version of the file format that the code can stand in. */
  get minVersion(): number {
    return Math.max(1, ...Array.from(this.#files.values(), (file) => file.minVersion));
  }

  /** The qualified name that a type has in the files: unlike that of any other type there. */
  nameOf(type: Dependency): string {
    return this.#names.nameOf(type);
  }

  /** Prints a definition. Throws an ErrorReport for what could not be read back. */
  print(type: Dependency): void {
    const name = this.nameOf(type);
    if (this.#printed.has(name)) return;
    this.#printed.add(name);
    this.#fileOf(name).printNamedType(type);
  }

  /** Prints a definition, and all that what has been printed so far names. Throws as {@link print}. */
  printWithDependencies(root: Dependency): void {
    this.#dependencies.add(root);
    // Printing one adds those that it names.
    for (const type of this.#dependencies) this.print(type);
  }

  #fileOf(qualifiedName: string): PythonPrint {
    const qualifier = qualifiedName.slice(0, Math.max(qualifiedName.lastIndexOf('.'), 0));
    const path = `${qualifier.replaceAll('.', '/')}.py`;
    let file = this.#files.get(path);
    if (file === undefined) {
      const typePrinter = (type: Type): string | undefined => (isNamed(type) ? this.nameOf(type) : undefined);
      file = new PythonPrint(this.constants, this.#dependencies, { typePrinter, enforceImportable: true });
      this.#files.set(path, file);
    }
    return file;
  }
}

function isNamed(type: Type): type is Dependency {
  return type instanceof TupleType ? type.name !== undefined : /^(Class|Enum|Interface|Function)Type$/.test(type.kind);
}
