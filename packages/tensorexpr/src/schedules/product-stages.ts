import type { DeviceCapabilities } from '../device.ts';
import { accumulator, axis, binary, constant, param, reduce, select } from '../expressions/builders.ts';
import type { Expr } from '../expressions/expr.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { TensorView } from '../expressions/operand.ts';
import { substitute } from '../expressions/substitute.ts';
import { isReduced } from '../expressions/walk.ts';
import { mapStore, type LoopNest } from '../kernels/kernel.ts';
import { normalise, type NormalContraction, type NormalKernel } from '../kernels/normalise.ts';
import { threadsOf } from './equal-workgroups.ts';
import { scheduleProduct } from './product-on-hardware.ts';
import type { TemporaryTensor } from './reduction-stages.ts';
import { enoughThreads } from './schedule.ts';

/** Steps that a workgroup has at least: with fewer, a second launch costs more than it saves. */
const leastSteps = 4096;
/** Chunks are of whole pieces of workgroup memory, and of whole vectors. */
const multiple = 16;

/**
 * A product with few results and a long sum leaves most of a GPU idle. Its sum is cut into chunks, as many as there are threads wanting (16384 over
 * those of the product), each of at least so many steps. One where that is not worth it.
 */
export function productChunks(kernel: NormalContraction, capabilities: DeviceCapabilities, steps = leastSteps): number {
  const { batch, m, n, k } = kernel;
  const points = pointsOf([...batch, m, n]);
  if (points === 0 || pointsOf(k) < 2 * steps || isReduced(kernel.right)) return 1;
  const { workgroups, schedule } = scheduleProduct(kernel, capabilities)!;
  const wanting = Math.floor(enoughThreads / (workgroups * threadsOf(schedule)));
  return Math.max(1, Math.min(wanting, Math.floor(pointsOf(k) / steps)));
}

/** The kernels that a product comes to, in order: one launch makes a product of each chunk of the sum, and the next adds them up and stores. Most often the one. */
export function productStages(
  kernel: NormalContraction,
  capabilities: DeviceCapabilities,
  temporary: TemporaryTensor,
  chunks = productChunks(kernel, capabilities),
): NormalKernel[] {
  if (chunks < 2) return [kernel];
  const { batch, m, n, k } = kernel;
  const longest = k.reduce((best, own) => (extentOf(own) > extentOf(best) ? own : best));
  const extent = extentOf(longest);
  const size = Math.ceil(extent / chunks / multiple) * multiple;
  const count = Math.ceil(extent / size);
  if (count < 2) return [kernel];
  const chunk = axis('c', param('i32', count));
  const within = axis(longest.name, param('i32', size));
  const element = binary('add', binary('mul', chunk, param('i32', size)), within);
  const cut = (side: Expr): Expr => {
    const own = substitute(side, new Map<Expr, Expr>([[longest, element]]));
    const none = constant(own.type, own.type === 'i64' ? 0n : own.type === 'bool' ? false : 0);
    return count * size === extent ? own : select(binary('lt', element, longest.extent), own, none);
  };
  const parts = new TensorView(temporary([...batch, chunk, m, n].map(extentOf), 'float32'));
  const stage: NormalContraction = {
    ...kernel,
    label: `${kernel.label} (chunks)`,
    batch: [...batch, chunk],
    k: k.map((own) => (own === longest ? within : own)),
    left: cut(kernel.left),
    right: cut(kernel.right),
    stores: [{ operand: parts.operand, offset: parts.offsetAt([...batch, chunk, m, n]), value: accumulator }],
  };
  const part = axis('c', param('i32', count));
  const whole = reduce('sum', [part], parts.at([...batch, part, m, n]));
  const map = new Map<Expr, Expr>([[accumulator, whole]]);
  const last: LoopNest = {
    kind: 'nest',
    label: kernel.label,
    axes: [...batch, m, n],
    innerAxes: [],
    stores: kernel.stores.map((store) => mapStore(store, (expr) => substitute(expr, map))),
  };
  return [normalise(stage), normalise(last)];
}
