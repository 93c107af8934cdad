interface DescribedError {
  readonly title: string;
  readonly detail: string;
}

/** What to show of anything thrown: the code where there is one, and the message with its Python call stack. */
export function describeError(error: unknown): DescribedError {
  if (!(error instanceof Error)) return { title: 'Error', detail: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  return { title: `${error.name}${code}`, detail: error.message.trim() };
}

/** Says what went wrong, aloud too. */
export function ErrorNotice({ error }: { error: unknown }) {
  const { title, detail } = describeError(error);
  return (
    <div role="alert" class="stack">
      <h3>{title}</h3>
      <pre tabIndex={0}>{detail}</pre>
    </div>
  );
}
