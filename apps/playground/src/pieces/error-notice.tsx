import { TorchScriptError } from 'cresset';

interface DescribedError {
  readonly title: string;
  readonly reason: string;
  /** Where in the author's Python it happened. */
  readonly trace: string | null;
}

/** What to show of anything thrown: the code where there is one, the message, and the Python call stack. */
export function describeError(error: unknown): DescribedError {
  if (!(error instanceof Error)) return { title: 'Error', reason: String(error), trace: null };
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  const title = `${error.name}${code}`;
  if (error instanceof TorchScriptError) {
    return { title, reason: `${error.pythonClassName}: ${error.reason}`, trace: error.message.trim() };
  }
  const message = error.message.trim();
  // An error of source points at its place there, over several lines.
  const [reason] = message.split(':\n  File ');
  return { title, reason, trace: reason === message ? null : message };
}

/** Says what went wrong, aloud too. */
export function ErrorNotice({ error }: { error: unknown }) {
  const { title, reason, trace } = describeError(error);
  return (
    <div role="alert" class="stack">
      <h3>{title}</h3>
      <p class="reason">{reason}</p>
      {trace && (
        <pre tabIndex={0} role="region" aria-label="Where it happened">
          {trace}
        </pre>
      )}
    </div>
  );
}
