import { checkOptions } from '@cresset/ir';
import type { MemoryEstimate } from '@cresset/runtime';
import { DEVICE_RULES, PRECISION_RULES, type Library, type LoadOptions } from './library.ts';
import { wireInput, type ModelInput } from './values/model-input.ts';

export interface EstimateOptions {
  readonly device?: LoadOptions['device'];
  /** How weights of float32 are to lie on a GPU, as `load` is told. */
  readonly weights?: LoadOptions['weights'];
  readonly worker?: LoadOptions['worker'];
  readonly signal?: LoadOptions['signal'];
}

/** What a model would take, and whether this device is likely to have that. */
export interface ModelEstimate extends MemoryEstimate {
  readonly fits: boolean;
  /** Why it does not fit; empty where it does. */
  readonly reason: string;
}

/** A page that takes more of a machine than this is likely to be ended by the browser. */
const PART_OF_MEMORY = 0.5;

export async function estimateModel(
  library: Library,
  input: ModelInput,
  options: EstimateOptions,
): Promise<ModelEstimate> {
  checkOptions('estimate', options, {
    ...DEVICE_RULES,
    ...PRECISION_RULES,
    worker: 'boolean',
    signal: 'signal',
  });
  const { device = 'auto', weights = 'float32', worker = true, signal } = options;
  const { client } = await library.placement(worker);
  const request = { type: 'estimate', input: wireInput(input), device, weights } as const;
  const { estimate } = await client.request('estimated', request, signal ? { signal } : {});
  const reason = whyNot(estimate, (globalThis.navigator as { deviceMemory?: number } | undefined)?.deviceMemory);
  return { ...estimate, fits: reason === '', reason };
}

/** @param gigabytes of the machine, where the browser tells (up to 8, for privacy) */
function whyNot({ deviceBytes, largestTensor, maxTensorBytes }: MemoryEstimate, gigabytes: number | undefined): string {
  if (largestTensor && maxTensorBytes !== null && largestTensor.bytes > maxTensorBytes) {
    return `tensor '${largestTensor.name}' takes ${largestTensor.bytes} bytes, and this GPU binds ${maxTensorBytes} at most`;
  }
  // Machines with more say 8 as well.
  if (gigabytes === undefined || gigabytes >= 8 || deviceBytes <= PART_OF_MEMORY * gigabytes * 2 ** 30) return '';
  return `its weights take ${deviceBytes} bytes, more than half of the ${gigabytes} GB that this machine has`;
}
