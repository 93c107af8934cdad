import * as engine from './engine-full.ts';
import { provideEngine } from './index.ts';

/**
 * The library with everything at once, for where nothing can be fetched while a program runs: a service worker, a page without a network, one
 * file for all. It has what `cresset` has.
 */
export * from './index.ts';

// Bundlers look for exactly this form, with options they can read, to give the worker's file a place in what they build.
provideEngine(engine, () => new Worker(new URL('./engine-full.ts', import.meta.url), { type: 'module' }));
