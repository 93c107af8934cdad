import type * as Engine from '../../engine.ts';
import type { EngineFiles } from './engine-files.ts';

/**
 * The files beside the published module. Bundlers look for exactly these forms, text and all, to give the files a place in what they build;
 * those that do not leave the addresses as they are, and then the engine is here as a text.
 */
export const engineFiles: EngineFiles = {
  startWorker: () => new Worker(new URL('./engine.js', import.meta.url), { type: 'module' }),
  engineAddress: () => unbundled(new URL('./engine.js', import.meta.url).href),
  engineText,
  importEngine,
  partAddresses: () =>
    Object.fromEntries(Object.entries(__PART_ADDRESSES__).map(([file, address]) => [file, unbundled(address)])),
};

/**
 * Vite's development server bundles dependencies into a folder of its own and leaves the files beside them behind, which it serves from
 * where they are.
 */
function unbundled(address: string): string {
  return address.replace(/\/node_modules\/\.vite\/deps\w*\//, '/node_modules/cresset/dist/');
}

async function engineText(): Promise<string> {
  return (await import('../../engine-text.ts')).default;
}

async function importEngine(): Promise<typeof Engine> {
  try {
    return (await import(/* @vite-ignore */ engineFiles.engineAddress()!)) as typeof Engine;
  } catch (error) {
    if (typeof Blob === 'undefined' || typeof URL.createObjectURL !== 'function') throw error;
    const address = URL.createObjectURL(new Blob([await engineText()], { type: 'text/javascript' }));
    return (await import(/* @vite-ignore */ address)) as typeof Engine;
  }
}
