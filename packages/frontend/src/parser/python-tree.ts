import type { Expr, For, Ident, Param, Stmt, While } from './tree.ts';

/** One `for target in iter if … if …` of a comprehension. */
export interface ComprehensionClause {
  readonly target: Expr;
  readonly iter: Expr;
  readonly conditions: readonly Expr[];
}

/** A field of an f-string: `{value!conversion:spec}`. */
export interface FormatField {
  readonly value: Expr;
  readonly conversion: string;
  /** Pieces of the format, which may have fields of their own. */
  readonly spec: readonly (string | FormatField)[];
}

/** Expressions that Python has and TorchScript has not: they are evaluated and never compiled. */
export type PythonForm =
  | { readonly kind: 'lambda'; readonly params: readonly Param[]; readonly body: Expr }
  | { readonly kind: 'named'; readonly target: Expr; readonly value: Expr }
  | { readonly kind: 'set'; readonly inputs: readonly Expr[] }
  | {
      readonly kind: 'comprehension';
      readonly of: 'list' | 'set' | 'dict';
      /** The item, or key and value. */
      readonly parts: readonly Expr[];
      readonly clauses: readonly ComprehensionClause[];
    }
  /** `**mapping`; in a dict it stands in the place of a key and of a value. */
  | { readonly kind: 'expansion'; readonly mapping: Expr }
  | { readonly kind: 'formatted'; readonly parts: readonly (string | FormatField)[] }
  | { readonly kind: 'bytes'; readonly text: string }
  /** `yield value`, `yield from value`, `await value`. */
  | {
      readonly kind: 'suspension';
      readonly keyword: 'yield' | 'yield from' | 'await';
      readonly value: Expr | undefined;
    };

/** `import path as name`, or `from path import name as alias`. */
export interface ImportedName {
  readonly name: string;
  readonly alias: string | undefined;
}

export interface ExceptionHandler {
  readonly type: Expr | undefined;
  readonly name: Ident | undefined;
  readonly body: readonly Stmt[];
}

/** Statements that Python has and TorchScript has not. */
export type PythonStatementForm =
  | { readonly kind: 'loop-else'; readonly loop: For | While; readonly orElse: readonly Stmt[] }
  | {
      readonly kind: 'try';
      readonly body: readonly Stmt[];
      readonly handlers: readonly ExceptionHandler[];
      readonly orElse: readonly Stmt[];
      readonly finalBody: readonly Stmt[];
    }
  | { readonly kind: 'nonlocal'; readonly names: readonly Ident[] }
  /** `from` is absent for `import a.b`; dots before it are kept. */
  | { readonly kind: 'import'; readonly from: string | undefined; readonly names: readonly ImportedName[] };
