import {
  CompilationUnit,
  compilerServices,
  Source,
  type CompilerServices,
  type FunctionSchema,
  type GraphFunction,
  type Node,
} from '@cresset/ir';
import { FunctionValue } from '../values/callable-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import type { Dispatch } from './boolean-dispatch.ts';

/** What the library is made of (see sources.ts), with the compiler for it, which asks for these functions itself. A program that compiles
 * no source text of a user does not carry it. */
export interface Library {
  /** TorchScript texts by module. */
  readonly texts: Readonly<Record<string, string>>;
  /** Functions that are one of two by a constant argument, by full name, and what such a choice is as a value. */
  readonly dispatched: Readonly<Record<string, Dispatch>>;
  readonly booleanDispatch: (
    position: number,
    argument: string,
    whenTrue: SugaredValue,
    whenFalse: SugaredValue,
  ) => SugaredValue;
  /** Full names under which others can be found too. */
  readonly aliases: Readonly<Record<string, string>>;
  /** What PyTorch says instead of printing a schema that it cannot print, with the place in its own source. */
  readonly unprintable: string;
  /** What PyTorch says of an `aten::Delete` that no operator does; undefined where one does. */
  readonly undeletable: (node: Node) => string | undefined;
  /** The overloads of an operator in the order in which PyTorch tells them where a call fits none. */
  readonly inListedOrder: (schemas: readonly FunctionSchema[]) => readonly FunctionSchema[];
  readonly compile: LibraryCompiler;
}

/** Declares the functions of a TorchScript text in a unit, under a namespace; gives what its other names mean, overloads and
 * classes, by full name. */
export type LibraryCompiler = (
  unit: CompilationUnit,
  namespace: string,
  source: Source,
) => ReadonlyMap<string, () => SugaredValue>;

export interface LibraryServices extends CompilerServices {
  readonly library?: Library;
}

/**
 * Functions of PyTorch that are written in Python there, such as those of `torch.nn.functional`: TorchScript text that is parsed when one of
 * them is first asked for, and compiled function by function.
 */
class FunctionalLibrary {
  #unit: CompilationUnit | undefined;
  readonly #meanings = new Map<string, () => SugaredValue>();

  /** The meaning of a full Python name, or undefined. */
  find(name: string): SugaredValue | undefined {
    const { library } = compilerServices<LibraryServices>();
    const pythonName = library?.aliases[name] ?? name;
    const dispatched = library?.dispatched[pythonName];
    if (dispatched !== undefined) {
      const [position, argument, whenTrue, whenFalse] = dispatched;
      return library!.booleanDispatch(position, argument, this.find(whenTrue)!, this.find(whenFalse)!);
    }
    const fn = this.functionNamed(pythonName);
    const meaning = this.#meanings.get(`__torch__.${pythonName}`);
    if (meaning !== undefined) {
      return meaning();
    }
    if (fn !== undefined) {
      return new FunctionValue(fn);
    }
    // torch.nn.functional lends its name to what dispatches in torch.functional.
    const other = pythonName.replace(/^torch\.nn\.functional\._(?=(consecutive_)?return_|lu_)/, 'torch.functional._');
    return other === pythonName ? undefined : this.find(other);
  }

  /** The function of that name itself: not what an overloaded or dispatched name means. */
  functionNamed(pythonName: string): GraphFunction | undefined {
    const { library } = compilerServices<LibraryServices>();
    if (this.#unit === undefined && library !== undefined) {
      this.#unit = new CompilationUnit();
      for (const [namespace, text] of Object.entries(library.texts)) {
        const source = new Source(text, `${namespace.replaceAll('.', '/')}.py`);
        for (const [name, meaning] of library.compile(this.#unit, `__torch__.${namespace}`, source)) {
          this.#meanings.set(name, meaning);
        }
      }
    }
    return this.#unit?.findFunction(`__torch__.${pythonName}`);
  }
}

export const functionalLibrary = new FunctionalLibrary();
