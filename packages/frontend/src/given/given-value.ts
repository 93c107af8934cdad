import type { FunctionSchema, NamedType, ScriptFunction, Symbol } from '@cresset/ir';
import type { ScriptObject } from '@cresset/tensor';
import type { PythonValue } from '../python/python-value.ts';

/** What a program is given under a name, besides what its own text defines. */
export type GivenValue =
  | { readonly kind: 'value'; readonly value: PythonValue }
  /** Python that says the value: `torch.float64`. */
  | { readonly kind: 'expression'; readonly text: string }
  | { readonly kind: 'enum'; readonly members: readonly (readonly [name: string, value: PythonValue])[] }
  /** A function that is not run here, by its parameters and result in Python: `(s: str) -> List[int]`. */
  | { readonly kind: 'outside'; readonly signature: string; readonly register: RegisterOutside }
  /** A function, class, named tuple or enum that was compiled before. */
  | { readonly kind: 'member'; readonly member: Member }
  /** Functions and classes by their names. */
  | { readonly kind: 'unit'; readonly member: (name: string) => Member | undefined }
  | { readonly kind: 'module'; readonly module: ScriptObject };

/** What was compiled before. */
export type Member = ScriptFunction | NamedType;

/** Makes an operator of a function that is run elsewhere; gives the kind of its nodes. */
export type RegisterOutside = (schema: FunctionSchema) => Symbol;

export type GivenValues = ReadonlyMap<string, GivenValue>;
