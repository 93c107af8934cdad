import { CompilationCallStack, ErrorReport, type SourceRange } from '@cresset/ir';

/** The functions being compiled, outermost first. Compilation is synchronous, so there is one stack. */
export const compilationCallStack = new CompilationCallStack();

/** An error at a place of the source, with the call stack of compilation as it is now. */
export function compileError(range: SourceRange | undefined, reason: string): ErrorReport {
  return new ErrorReport(range, reason, { calls: compilationCallStack.snapshot() });
}

/** The message of such an error as it would be now, put together when it is asked for: most are not. */
export function compileErrorMessage(range: SourceRange, reason: string): () => string {
  const calls = compilationCallStack.snapshot();
  return () => new ErrorReport(range, reason, { calls }).message;
}

/** The error of something nested deeper than `nested` lets anything go. */
export const tooDeep = (range: SourceRange | undefined): ErrorReport =>
  compileError(range, 'too many nested expressions or blocks');
