import { version } from '@cresset/ir';
import type { Request, StartRequest } from '@cresset/runtime';
import { registerLocalOperators } from './engine/local-operators.ts';
import { linkPart, usePartAddresses } from './engine/part-links.ts';
import { scopePort, serve } from './engine/serve.ts';

/**
 * The engine: compiles and runs programs. In a worker it begins to answer when the page says `start`; in another thread, `serve` is
 * called.
 */
export { setJitLogSink } from '@cresset/ir';
export { addLocalOperator } from './engine/local-operators.ts';
export { loadAllParts, loadPart } from './engine/parts.ts';
// What is published is linked by the first: see scripts/build/link-parts.mjs.
export { linkPart, usePartAddresses };
export { serve };

/** A worker's scope has no document and no window; a module of a page's own worker may import this file for its own use. */
const scope =
  typeof document === 'undefined' && typeof postMessage === 'function' && typeof addEventListener === 'function'
    ? (globalThis as unknown as Pick<DedicatedWorkerGlobalScope, 'postMessage'> & EventTarget)
    : null;

function startOnRequest(event: Event): void {
  const { data } = event as MessageEvent<Request>;
  if (data?.type !== 'cresset:start') return;
  scope!.removeEventListener('message', startOnRequest);
  start(data).catch((error: unknown) => {
    // The page hears of what is thrown, and not of a promise.
    setTimeout(() => {
      throw error;
    });
  });
}

async function start({ version: pageVersion, parts, device }: StartRequest): Promise<void> {
  if (pageVersion !== version) {
    throw new Error(`this is the engine of cresset ${version}, and the page has cresset ${pageVersion}`);
  }
  usePartAddresses(parts);
  await registerLocalOperators();
  serve(scopePort(scope!), device);
}

scope?.addEventListener('message', startOnRequest);
