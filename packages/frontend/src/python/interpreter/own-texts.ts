import { Source } from '@cresset/ir';
import { parsePythonFile } from '../../parser/python-parser.ts';
import type { Stmt } from '../../parser/tree.ts';

const parsed = new Map<string, readonly Stmt[]>();

/** The statements of a text that the library has itself. Nothing writes to them, so each is parsed once for all programs. */
export function statementsOf(filename: string, text: string): readonly Stmt[] {
  let statements = parsed.get(text);
  if (statements === undefined) {
    statements = parsePythonFile(new Source(text, filename)).statements;
    parsed.set(text, statements);
  }
  return statements;
}
