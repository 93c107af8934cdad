import { CompilationUnit, Source, type GraphFunction } from '@cresset/ir';
import { FUNCTIONAL_SOURCES } from './functional-sources.ts';

/** Declares the functions of a TorchScript text in a unit, under a namespace. */
export type LibraryCompiler = (unit: CompilationUnit, namespace: string, source: Source) => readonly GraphFunction[];

/**
 * Functions of PyTorch that are written in Python there, such as those of `torch.nn.functional`: TorchScript text that is parsed when one of
 * them is first asked for, and compiled function by function.
 */
class FunctionalLibrary {
  #unit: CompilationUnit | undefined;
  #compile: LibraryCompiler | undefined;

  /** Hands in the compiler, which this file cannot import: it asks for these functions itself. */
  useCompiler(compile: LibraryCompiler): void {
    this.#compile = compile;
  }

  /** The function of a full Python name, or undefined. */
  find(pythonName: string): GraphFunction | undefined {
    if (this.#unit === undefined && this.#compile !== undefined) {
      this.#unit = new CompilationUnit();
      for (const [namespace, text] of Object.entries(FUNCTIONAL_SOURCES)) {
        this.#compile(this.#unit, `__torch__.${namespace}`, new Source(text, `${namespace}.py`));
      }
    }
    return this.#unit?.findFunction(`__torch__.${pythonName}`);
  }
}

export const functionalLibrary = new FunctionalLibrary();
