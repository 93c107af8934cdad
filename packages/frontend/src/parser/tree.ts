import type { Complex, ErrorReport, SourceRange } from '@cresset/ir';
import type { PythonForm, PythonStatementForm } from './python-tree.ts';

/**
 * The syntax tree (PyTorch: Tree and TreeView, as one discriminated union). Nodes are immutable and know their place in
 * the source. Names of kinds and fields follow PyTorch's views.
 */
interface Node {
  readonly range: SourceRange;
}

export interface Ident extends Node {
  readonly name: string;
}

export type UnaryOperator = '-' | '~' | 'not' | '+';

export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '//'
  | '%'
  | '**'
  | '@'
  | '&'
  | '|'
  | '^'
  | '<<'
  | '>>'
  | '<'
  | '>'
  | '<='
  | '>='
  | '=='
  | '!='
  | 'and'
  | 'or'
  | 'is'
  | 'is not'
  | 'in';

export interface Var extends Node {
  readonly kind: 'var';
  readonly name: Ident;
}

/** A number: an int is a bigint, a float a number. */
export interface Const extends Node {
  readonly kind: 'const';
  readonly value: bigint | number | Complex;
}

export interface BoolLiteral extends Node {
  readonly kind: 'bool';
  readonly value: boolean;
}

export interface NoneLiteral extends Node {
  readonly kind: 'none';
}

/** `text` is a byte string. */
export interface StringLiteral extends Node {
  readonly kind: 'string';
  readonly text: string;
}

/** `...` or `Ellipsis`. */
export interface Dots extends Node {
  readonly kind: 'dots';
}

export interface UnaryOp extends Node {
  readonly kind: 'unary';
  readonly op: UnaryOperator;
  readonly operand: Expr;
}

export interface BinOp extends Node {
  readonly kind: 'binary';
  readonly op: BinaryOperator;
  readonly lhs: Expr;
  readonly rhs: Expr;
}

export interface TernaryIf extends Node {
  readonly kind: 'ternary';
  readonly cond: Expr;
  readonly trueExpr: Expr;
  readonly falseExpr: Expr;
}

export interface ListLiteral extends Node {
  readonly kind: 'list';
  readonly inputs: readonly Expr[];
}

export interface TupleLiteral extends Node {
  readonly kind: 'tuple';
  readonly inputs: readonly Expr[];
}

export interface DictLiteral extends Node {
  readonly kind: 'dict';
  readonly keys: readonly Expr[];
  readonly values: readonly Expr[];
}

export interface ListComp extends Node {
  readonly kind: 'list-comp';
  readonly elt: Expr;
  readonly target: Expr;
  readonly iter: Expr;
}

export interface DictComp extends Node {
  readonly kind: 'dict-comp';
  readonly key: Expr;
  readonly value: Expr;
  readonly target: Expr;
  readonly iter: Expr;
}

/** A keyword argument of a call. */
export interface Attribute extends Node {
  readonly name: Ident;
  readonly value: Expr;
}

export interface Apply extends Node {
  readonly kind: 'apply';
  readonly callee: Expr;
  readonly inputs: readonly Expr[];
  readonly attributes: readonly Attribute[];
}

export interface Select extends Node {
  readonly kind: 'select';
  readonly value: Expr;
  readonly selector: Ident;
}

export interface Subscript extends Node {
  readonly kind: 'subscript';
  readonly value: Expr;
  readonly subscripts: readonly Expr[];
  /** The stretch between the brackets. */
  readonly subscriptsRange: SourceRange;
}

export interface SliceExpr extends Node {
  readonly kind: 'slice';
  readonly start: Expr | undefined;
  readonly end: Expr | undefined;
  readonly step: Expr | undefined;
}

export interface Starred extends Node {
  readonly kind: 'starred';
  readonly expr: Expr;
}

/** An expression that Python has and TorchScript has not. */
export interface PythonExpr extends Node {
  readonly kind: 'python';
  readonly form: PythonForm;
}

export type Expr =
  | Var
  | Const
  | BoolLiteral
  | NoneLiteral
  | StringLiteral
  | Dots
  | UnaryOp
  | BinOp
  | TernaryIf
  | ListLiteral
  | TupleLiteral
  | DictLiteral
  | ListComp
  | DictComp
  | Apply
  | Select
  | Subscript
  | SliceExpr
  | Starred
  | PythonExpr;

export interface Assign extends Node {
  readonly kind: 'assign';
  /** More than one for `a = b = …`. */
  readonly lhsList: readonly Expr[];
  /** Absent for a mere declaration `a: T`. */
  readonly rhs: Expr | undefined;
  readonly type: Expr | undefined;
}

export interface AugAssign extends Node {
  readonly kind: 'aug-assign';
  readonly lhs: Expr;
  /** The operator without its `=`. */
  readonly op: BinaryOperator;
  readonly rhs: Expr;
}

export interface If extends Node {
  readonly kind: 'if';
  readonly cond: Expr;
  readonly trueBranch: readonly Stmt[];
  readonly falseBranch: readonly Stmt[];
}

export interface While extends Node {
  readonly kind: 'while';
  readonly cond: Expr;
  readonly body: readonly Stmt[];
}

export interface For extends Node {
  readonly kind: 'for';
  readonly targets: readonly Expr[];
  readonly itrs: readonly Expr[];
  readonly body: readonly Stmt[];
}

export interface WithItem extends Node {
  readonly target: Expr;
  readonly variable: Var | undefined;
}

export interface With extends Node {
  readonly kind: 'with';
  readonly targets: readonly WithItem[];
  readonly body: readonly Stmt[];
}

export interface Return extends Node {
  readonly kind: 'return';
  readonly expr: Expr;
}

export interface Raise extends Node {
  readonly kind: 'raise';
  readonly expr: Expr;
}

export interface Assert extends Node {
  readonly kind: 'assert';
  readonly test: Expr;
  readonly message: Expr | undefined;
}

export interface Delete extends Node {
  readonly kind: 'delete';
  readonly targets: readonly Expr[];
}

export interface Global extends Node {
  readonly kind: 'global';
  readonly names: readonly Ident[];
}

/** A statement of one word. */
export interface Pass extends Node {
  readonly kind: 'pass' | 'break' | 'continue';
}

export interface ExprStmt extends Node {
  readonly kind: 'expr';
  readonly expr: Expr;
}

export interface Param extends Node {
  readonly ident: Ident;
  readonly type: Expr | undefined;
  readonly defaultValue: Expr | undefined;
  readonly kwargOnly: boolean;
  /** `*args` or `**kwargs`. */
  readonly variadic: '' | '*' | '**';
}

export interface Decl extends Node {
  /** Without those before a `/`, which PyTorch's frontend forgets. */
  readonly params: readonly Param[];
  readonly positionalOnly?: readonly Param[];
  readonly returnType: Expr | undefined;
}

export interface Def extends Node {
  readonly kind: 'def';
  readonly name: Ident;
  readonly decl: Decl;
  readonly statements: readonly Stmt[];
  readonly decorators: readonly Expr[];
  /** Why PyTorch does not compile it, whatever its names mean; absent where nothing speaks against it. */
  readonly refusal?: ErrorReport | undefined;
}

export interface ClassDef extends Node {
  readonly kind: 'class';
  readonly name: Ident;
  /** The first of its bases. */
  readonly superclass: Expr | undefined;
  readonly bases: readonly Expr[];
  readonly body: readonly Stmt[];
  readonly decorators: readonly Expr[];
}

/** A statement that Python has and TorchScript has not. */
export interface PythonStmt extends Node {
  readonly kind: 'python';
  readonly form: PythonStatementForm;
}

export type Stmt =
  | Assign
  | AugAssign
  | If
  | While
  | For
  | With
  | Return
  | Raise
  | Assert
  | Delete
  | Global
  | Pass
  | ExprStmt
  | Def
  | ClassDef
  | PythonStmt;

export const makeIdent = (range: SourceRange, name: string): Ident => ({ range, name });

export const makeVar = (range: SourceRange, name: string): Var => ({
  kind: 'var',
  range,
  name: makeIdent(range, name),
});

export const makeTuple = (range: SourceRange, inputs: readonly Expr[]): TupleLiteral => ({
  kind: 'tuple',
  range,
  inputs,
});

export const makeApply = (
  range: SourceRange,
  callee: Expr,
  inputs: readonly Expr[],
  attributes: readonly Attribute[] = [],
): Apply => ({ kind: 'apply', range, callee, inputs, attributes });

/** How error messages name the kinds of expressions (PyTorch: kindToString). */
export function kindToString(expr: Expr): string {
  switch (expr.kind) {
    case 'var':
      return 'variable';
    case 'bool':
      return expr.value ? 'True' : 'False';
    case 'none':
      return 'None';
    case 'string':
      return 'string_literal';
    case 'unary':
      return expr.op === '-' ? 'unary minus' : expr.op;
    case 'binary':
      return expr.op;
    case 'ternary':
      return 'if';
    case 'list':
      return 'list-literal';
    case 'tuple':
      return 'tuple-literal';
    case 'dict':
      return 'dict-literal';
    case 'list-comp':
      return 'list comprehension';
    case 'dict-comp':
      return 'dict comprehension';
    case 'select':
      return '.';
    case 'slice':
      return 'slice expr';
    default:
      return expr.kind;
  }
}
