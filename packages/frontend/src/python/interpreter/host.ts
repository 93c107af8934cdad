import type { NamedType, NodeEvaluator, Type } from '@cresset/ir';
import type { PythonValue } from '../python-value.ts';
import type { PythonClass } from './entities.ts';
import type { Scope } from './scope.ts';

/** What the interpreter of Python asks of the program that it runs for. */
export interface PythonHost {
  /** Runs an operator on tensors of the host. */
  readonly evaluate: NodeEvaluator;
  /** The names of the program's file. */
  readonly globals: Scope;
  /** The type that a class of the file is compiled to, as those of enums and named tuples are; undefined for others. */
  typeOf(type: PythonClass): NamedType | undefined;
  /** The type that an annotation means; Tensor where there is none. */
  annotationType(annotation: PythonValue | undefined): Type;
  /** The name of a class of the file in the program. */
  qualifiedName(name: string): string;
  /** Makes a class of named tuples known that no class statement says. */
  registerType(type: NamedType): void;
  /** Where what a program prints goes. */
  print(text: string): void;
}
