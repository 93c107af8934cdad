import { createModule, load, type LoadOptions, type ScriptModule } from 'cresset';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ModelSource } from './model-source.ts';

export type DeviceChoice = NonNullable<LoadOptions['device']>;

export type LoadState =
  | { readonly phase: 'loading'; readonly name: string; readonly loaded: number; readonly total: number | null }
  /** `visit` tells one model from the next, which may have the same name. */
  | { readonly phase: 'ready'; readonly name: string; readonly visit: number; readonly model: ScriptModule }
  | { readonly phase: 'failed'; readonly name: string; readonly error: unknown };

/** A module with these methods. */
async function compile(code: string, device: DeviceChoice): Promise<ScriptModule> {
  const model = await createModule('Net', { device });
  try {
    return await model.define(code, { filename: 'source.py' });
  } catch (error) {
    await model.dispose();
    throw error;
  }
}

/** Loads whatever is asked for last; an earlier model is let go of. */
export function useModel(source: ModelSource, device: DeviceChoice): LoadState {
  const [state, setState] = useState<LoadState>({ phase: 'loading', name: source.name, loaded: 0, total: null });
  const current = useRef<ScriptModule | null>(null);
  const visit = useRef(0);

  const open = useCallback(
    async (signal: AbortSignal) => {
      const { name } = source;
      setState({ phase: 'loading', name, loaded: 0, total: null });
      void current.current?.dispose();
      current.current = null;
      try {
        const model =
          'code' in source
            ? await compile(source.code, device)
            : await load(source.input, {
                device,
                signal,
                onProgress: ({ loaded, total }) => {
                  // Weights of a large file come later, while it runs.
                  if (!signal.aborted && current.current === null) setState({ phase: 'loading', name, loaded, total });
                },
              });
        if (signal.aborted) return void model.dispose();
        current.current = model;
        visit.current++;
        setState({ phase: 'ready', name, visit: visit.current, model });
      } catch (error) {
        if (!signal.aborted) setState({ phase: 'failed', name, error });
      }
    },
    [source, device],
  );

  useEffect(() => {
    const controller = new AbortController();
    void open(controller.signal);
    return () => controller.abort();
  }, [open]);
  return state;
}
