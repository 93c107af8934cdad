import { useEffect, useState } from 'preact/hooks';

export interface Answer<Value> {
  readonly value: Value | null;
  readonly error: unknown;
}

/** What `ask` resolves with, asked again whenever one of `inputs` changes; an answer that comes too late is left aside. */
export function useAnswer<Value>(ask: () => Promise<Value>, inputs: readonly unknown[]): Answer<Value> {
  const [answer, setAnswer] = useState<Answer<Value>>({ value: null, error: null });
  useEffect(() => {
    let isCurrent = true;
    setAnswer({ value: null, error: null });
    ask().then(
      (value) => isCurrent && setAnswer({ value, error: null }),
      (error: unknown) => isCurrent && setAnswer({ value: null, error }),
    );
    return () => {
      isCurrent = false;
    };
  }, inputs);
  return answer;
}
