import { decodingWorkloads } from './decoding.ts';
import { networkWorkloads } from './networks.ts';
import type { Workload } from './workload.ts';

/** What `pnpm bench --workload` knows; PyTorch makes the models when they are asked for. */
export const workloads: readonly Workload[] = [...decodingWorkloads, ...networkWorkloads];
