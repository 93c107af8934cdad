import { describe, expect, test } from 'vitest';
import { CompilationCallStack, ErrorReport, formatStackTrace, Source, SourceRange } from '../index.ts';

const TEXT = [
  'import torch',
  '',
  'def f(x):',
  '    y = x + 1',
  '    return g(',
  '        y)',
  '',
  'def h(): pass',
  'end',
  '',
].join('\n');
const source = new Source(TEXT, 'model.py', 10);
const rangeOf = (part: string): SourceRange =>
  new SourceRange(source, TEXT.indexOf(part), TEXT.indexOf(part) + part.length);

describe('ranges', () => {
  test('know their place in the file', () => {
    expect(rangeOf('x + 1').fileLineCol()).toEqual(['model.py', 14, 8]);
    expect(new SourceRange(new Source('x'), 0, 0).fileLineCol()).toBeUndefined();
  });

  test('show the lines around them, with a caret', () => {
    expect(rangeOf('x + 1').highlight()).toBe(`  File "model.py", line 14

def f(x):
    y = x + 1
        ~~~~~ <--- HERE
    return g(
        y)
`);
  });

  test('over several lines mark each', () => {
    expect(rangeOf('g(\n        y)').highlight()).toContain(
      '    return g(\n           ~~\n        y)\n        ~~ <--- HERE\n',
    );
  });

  test('that are the whole text are the text', () => {
    expect(new SourceRange(new Source('stack\n'), 0, 6).highlight()).toBe('stack\n');
  });

  test('of generated source show the original first', () => {
    const generated = new Source('line one\nline two\n', 'code.py', 0, {
      findSourceRangeThatGenerated: () => rangeOf('y = x'),
    });
    const text = new SourceRange(generated, 9, 13).highlight();
    expect(text).toMatch(/^ {2}File "model.py", line 14[^]*Serialized {3}File "code.py", line 2\n/);
    const trace = formatStackTrace([{ functionName: 'forward', range: new SourceRange(generated, 9, 13) }]);
    expect(trace).toContain(
      'Traceback of TorchScript, serialized code (most recent call last):\n  File "code.py", line 2, in forward',
    );
    expect(trace).toContain(
      'Traceback of TorchScript, original code (most recent call last):\n  File "model.py", line 14, in forward',
    );
  });
});

describe('ErrorReport', () => {
  test('gives message, lines and the call stack of compilation', () => {
    const calls = new CompilationCallStack();
    const report = calls.within('outer', () => {
      calls.updatePendingRange(rangeOf('g('));
      return calls.within('inner', () => new ErrorReport(rangeOf('x + 1'), 'bad thing', { calls: calls.snapshot() }));
    });
    expect(report.message).toMatch(/^\nbad thing:\n {2}File "model.py", line 14\n/);
    expect(report.message).toContain(
      "'inner' is being compiled since it was called from 'outer'\n  File \"model.py\", line 15\n",
    );
    expect(calls.snapshot()).toEqual([]);
    expect([report.code, report.reason]).toEqual(['COMPILE', 'bad thing']);
  });
});
