import type * as Engine from '../engine.ts';
import type { EngineFiles } from './engine-files.ts';
import { scriptAddress } from './script-address.ts';

function beside(file: string): string {
  if (!scriptAddress) throw new Error('the script does not know its own address');
  return new URL(file, scriptAddress).href;
}

/** The files beside the classic script. */
export const engineFiles: EngineFiles = {
  startWorker: () => new Worker(beside('engine.js'), { type: 'module' }),
  engineAddress: () => beside('engine.js'),
  engineText: null,
  importEngine: async () => (await import(/* @vite-ignore */ beside('engine.js'))) as typeof Engine,
  partAddresses: () => ({}),
};
