import type * as Engine from '../engine.ts';
import type { EngineFiles } from './engine-files.ts';

/** Known only while the script itself runs. */
const ownAddress = (globalThis.document?.currentScript as HTMLScriptElement | null | undefined)?.src;

function beside(file: string): string {
  if (!ownAddress) throw new Error('the script does not know its own address');
  return new URL(file, ownAddress).href;
}

/** The files beside the classic script. */
export const engineFiles: EngineFiles = {
  startWorker: () => new Worker(beside('engine.js'), { type: 'module' }),
  engineAddress: () => beside('engine.js'),
  engineText: null,
  importEngine: async () => (await import(/* @vite-ignore */ beside('engine.js'))) as typeof Engine,
  partAddresses: () => ({}),
};
