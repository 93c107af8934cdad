import { kernels } from './kernels.ts';
import { networks } from './networks.ts';
import type { Program } from './program.ts';
import { smallNetworks } from './small-networks.ts';

/** What the bench makes itself, so that it runs wherever it is. */
export const programs: readonly Program[] = [...kernels, ...networks, ...smallNetworks];
