import * as engine from '../../engine-full.ts';
import type { EngineFiles } from './engine-files.ts';
import { scriptAddress } from './script-address.ts';

/** The classic script with everything: started as a worker, it is the engine. */
export const engineFiles: EngineFiles = {
  startWorker() {
    if (!scriptAddress) throw new Error('the script does not know its own address');
    return new Worker(scriptAddress);
  },
  engineAddress: () => scriptAddress ?? null,
  engineText: null,
  importEngine: async () => engine,
  partAddresses: () => ({}),
};
