import { diffLines, withContext } from './line-diff.ts';

const marks = { same: ' ', removed: '−', added: '+' } as const;

/** What changed from one text of a graph to the next. */
export function GraphDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = withContext(diffLines(before, after));
  return (
    <pre class="source diff" tabIndex={0} role="region" aria-label={label}>
      <code>
        {lines.map((line, at) =>
          line.kind === 'skipped' ? (
            <span key={at} class="diff-skipped">
              … {line.count} {line.count === 1 ? 'line' : 'lines'} alike
            </span>
          ) : (
            <span key={at} class={`diff-${line.kind}`}>
              {marks[line.kind]} {line.text}
            </span>
          ),
        )}
      </code>
    </pre>
  );
}
