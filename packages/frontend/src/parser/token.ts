/**
 * What a token is. Operators, brackets and keywords are their own text; the rest are classes of tokens.
 *
 * `is not` and `not in` are put together by the parser, since Python allows any white space between the words.
 */
export type TokenKind = string;

/** A token, as a stretch of its source. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

/** A `# type: …` comment: where it starts, and the stretch after the colon. */
export interface TypeComment {
  readonly start: number;
  readonly contentStart: number;
  readonly end: number;
}

export const KEYWORDS: ReadonlySet<string> = new Set([
  'False',
  'None',
  'True',
  'and',
  'as',
  'assert',
  'async',
  'await',
  'break',
  'class',
  'continue',
  'def',
  'del',
  'elif',
  'else',
  'except',
  'finally',
  'for',
  'from',
  'global',
  'if',
  'import',
  'in',
  'is',
  'lambda',
  'nonlocal',
  'not',
  'or',
  'pass',
  'raise',
  'return',
  'try',
  'while',
  'with',
  'yield',
]);

/** Operators that assign what they compute. */
export const AUGMENTED_ASSIGNMENTS: ReadonlySet<string> = new Set(
  '+= -= *= /= //= %= @= &= |= ^= <<= >>= **='.split(' '),
);

/** Operators and brackets, longest first. */
const OPERATORS: readonly string[] = [
  '**=',
  '//=',
  '<<=',
  '>>=',
  '...',
  '+=',
  '-=',
  '*=',
  '/=',
  '%=',
  '&=',
  '|=',
  '^=',
  '@=',
  '**',
  '//',
  '<<',
  '>>',
  '<=',
  '>=',
  '==',
  '!=',
  '->',
  ':=',
  '+',
  '-',
  '*',
  '/',
  '%',
  '@',
  '&',
  '|',
  '^',
  '~',
  '<',
  '>',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  '.',
  ';',
  '=',
];

/** Operators and brackets by their first character, longest first. */
export const OPERATORS_BY_FIRST: ReadonlyMap<string, readonly string[]> = new Map(
  OPERATORS.map(([first]) => [first, OPERATORS.filter((operator) => operator.startsWith(first))]),
);
