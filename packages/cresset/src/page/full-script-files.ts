import * as engine from '../engine-full.ts';
import type { EngineFiles } from './engine-files.ts';

/** Known only while the script itself runs. */
const ownAddress = (globalThis.document?.currentScript as HTMLScriptElement | null | undefined)?.src;

/** The classic script with everything: started as a worker, it is the engine. */
export const engineFiles: EngineFiles = {
  startWorker() {
    if (!ownAddress) throw new Error('the script does not know its own address');
    return new Worker(ownAddress);
  },
  engineAddress: () => ownAddress ?? null,
  engineText: null,
  importEngine: async () => engine,
  partAddresses: () => ({}),
};
