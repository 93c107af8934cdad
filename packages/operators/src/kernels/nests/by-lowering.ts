import { Tensor, settleAll } from '@cresset/tensor';
import type { ComputeDevice, Kernel, LoopNest } from '@cresset/tensorexpr';
import type { HostKernel, Lowering, LoweringContext } from '../../table/row.ts';
import type { Pieces } from '../loops/pieces.ts';
import { evaluateNest } from './nest-evaluator.ts';

/**
 * The host kernel of an operator of which the lowering says all: its nests are worked out in JavaScript. Not for lowerings that note faults, fetch
 * results, sum up products, share reductions among inner axes, go step by step, or store over what they read.
 */
export function byLowering<Args>(lower: Lowering<Args>): HostKernel<Args> {
  return (args, outputs, { generator }) => evaluateLaunches((context) => lower(args, outputs, context), generator);
}

/** Works out what is launched, one kernel after the other. */
export function* evaluateLaunches(
  describe: (context: LoweringContext) => void,
  generator: LoweringContext['generator'],
): Pieces {
  const kernels: Kernel[] = [];
  describe({
    device: host,
    temporary: (sizes, dtype) => Tensor.empty(settleAll(sizes), dtype),
    launch: (kernel) => void kernels.push(kernel),
    generator,
    faults: never,
    fetch: never,
  });
  for (const kernel of kernels) yield* evaluateNest(plain(kernel));
}

/** What lowerings ask of a device. */
const host = { capabilities: { host: true, doubles: true } } as unknown as ComputeDevice;

function never(): never {
  throw new TypeError('only a device does this');
}

function plain(kernel: Kernel): LoopNest {
  if (kernel.kind !== 'nest' || kernel.innerAxes.length > 0 || kernel.stores.some(({ combine }) => combine))
    throw new TypeError(`${kernel.label} is no plain nest`);
  return kernel;
}
