import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Frees everything that nothing holds, so that memory can be measured whenever the engine would have done it by itself. */
export const collectGarbage = runInNewContext('gc') as () => void;
