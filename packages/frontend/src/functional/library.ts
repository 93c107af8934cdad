import {
  CompilationUnit,
  compilerServices,
  constantValue,
  Source,
  type CompilerServices,
  type GraphFunction,
} from '@cresset/ir';
import { FunctionValue } from '../values/callable-value.ts';
import { compileError } from '../compilation-error.ts';
import { SugaredValue, type SugaredCall } from '../values/sugared-value.ts';

/** What the library is made of (see sources.ts), with the compiler for it, which asks for these functions itself. A program that compiles
 * no source text of a user does not carry it. */
export interface Library {
  /** TorchScript texts by module. */
  readonly texts: Readonly<Record<string, string>>;
  /** Functions that are one of two by a constant argument, by full name: the argument's position and name, and the full names
   * of the function where it is true and of the one where it is false. */
  readonly dispatched: Readonly<
    Record<string, readonly [position: number, argument: string, whenTrue: string, whenFalse: string]>
  >;
  /** Full names under which others can be found too. */
  readonly aliases: Readonly<Record<string, string>>;
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
      return new BooleanDispatchValue(position, argument, this.find(whenTrue)!, this.find(whenFalse)!);
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

/** What PyTorch says where the argument is a constant of another type, with the place in its own source. */
const NO_BOOL_MESSAGE =
  '0 INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/aten/src/ATen/core/ivalue.h":710, please report a bug to PyTorch. expected bool';

/** One of two functions, by an argument that must be a constant (PyTorch: BooleanDispatchValue). */
class BooleanDispatchValue extends SugaredValue {
  readonly #position: number;
  readonly #argument: string;
  readonly #whenTrue: SugaredValue;
  readonly #whenFalse: SugaredValue;

  constructor(position: number, argument: string, whenTrue: SugaredValue, whenFalse: SugaredValue) {
    super();
    this.#position = position;
    this.#argument = argument;
    this.#whenTrue = whenTrue;
    this.#whenFalse = whenFalse;
  }

  override kind(): string {
    return 'boolean dispatch';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const argument = args[this.#position] ?? kwargs.find(({ name }) => name === this.#argument);
    const value = argument === undefined ? false : constantValue(argument.value(fn.graphBeingDefined));
    if (value === undefined) {
      const [which, at] =
        this.#position in args ? ['Argument', ` ${this.#position}`] : [`Keyword argument '${this.#argument}'`, ''];
      throw compileError(range, `${which} for boolean dispatch at position${at} was not constant`);
    }
    if (typeof value !== 'boolean') throw compileError(range, NO_BOOL_MESSAGE);
    return (value ? this.#whenTrue : this.#whenFalse).call({ range, fn, args, kwargs });
  }
}

export const functionalLibrary = new FunctionalLibrary();
