import type { CompilationUnit, ScriptClass, ScriptFunction } from './compilation-unit.ts';
import type { LoadedFile } from './loaded-file.ts';
import type { ScriptModule } from './script-module.ts';
import type { Input } from './values/value.ts';

/**
 * A function of the page that programs call (torch.jit.ignore). It may be asynchronous: the program waits for it. It is given values as
 * results of programs are, and gives what can be given to a program.
 */
export interface IgnoredFunction {
  // Arguments have the types that the signature says, which TypeScript does not read.
  // oxlint-disable-next-line typescript/no-explicit-any
  (...args: any[]): Input | void | Promise<Input | void>;
  /** Parameters and result in Python, `(s: str, n: int = 3) -> List[int]`; without it, all of them are tensors. */
  readonly signature?: string;
}

/** The program that a function or class belongs to, and its name there. */
export interface Member {
  readonly file: LoadedFile;
  readonly name: string;
}

/** A property by which functions and classes that were compiled tell where they are. */
export const memberKey: unique symbol = Symbol('member');

/** Python that says a value, as {@link python} makes it. */
export class PythonExpression {
  constructor(readonly text: string) {}
}

/**
 * What a name can mean that source is given: a number, text, boolean, null or array (a tuple) is a constant, as is what {@link python} says; an
 * object of numbers or texts by name is an enum; a function is called out of the program; functions, classes, units and modules that were compiled,
 * traced or loaded are called as what they are.
 */
export type GlobalValue =
  | Input
  | PythonExpression
  | IgnoredFunction
  | ScriptFunction
  | ScriptClass
  | CompilationUnit
  | ScriptModule;

/** Names that source may use, with what they mean. */
export type Globals = Readonly<Record<string, GlobalValue>>;

/**
 * Gives a function its signature in Python: `ignore('(s: str) -> List[int]', (s) => [...s].map((c) => c.charCodeAt(0)))`. Programs that call
 * it run, and cannot be saved (torch.jit.ignore).
 */
export function ignore(signature: string, fn: IgnoredFunction): IgnoredFunction {
  return Object.assign((...args: unknown[]) => fn(...args), { signature });
}

/** A value that JavaScript has no word for, in Python: `python('torch.float64')`, `python('1.0')`. */
export const python = (text: string): PythonExpression => new PythonExpression(text);
