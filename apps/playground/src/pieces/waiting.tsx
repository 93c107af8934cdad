import type { ComponentChild } from 'preact';
import { ErrorNotice } from './error-notice.tsx';
import type { Answer } from './use-answer.ts';

/** The answer, once it is there; until then a word that it is coming. */
export function Waiting<Value>({
  answer,
  children,
}: {
  answer: Answer<Value>;
  children: (value: Value) => ComponentChild;
}) {
  if (answer.error) return <ErrorNotice error={answer.error} />;
  return answer.value === null ? <p class="faint">Compiling…</p> : <>{children(answer.value)}</>;
}
