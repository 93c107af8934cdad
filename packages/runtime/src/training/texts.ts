import { declareFunctions, NATIVE_RESOLVER, parseProgram, type Def } from '@cresset/frontend';
import { CompilationUnit, Source } from '@cresset/ir';

/** The functions of a text of the library's own. */
export function compileTexts(text: string, name: string): CompilationUnit {
  const unit = new CompilationUnit();
  const definitions = parseProgram(new Source(text, name), 'python') as readonly Def[];
  declareFunctions(unit, definitions, { resolver: NATIVE_RESOLVER });
  return unit;
}
