import { Tensor } from '@cresset/tensor';
import type { ComputeDevice, DevicePeak, DeviceProfiler } from '../device.ts';
import { accumulator, axis, binary, constant, param, reduce } from '../expressions/builders.ts';
import { TensorView } from '../expressions/operand.ts';
import type { Kernel } from '../kernels/kernel.ts';

const elements = 1 << 20;
const bytesMoved = 2 * 4 * elements;
/** A fast device is done before its clock has ticked: the work is doubled until it takes this long, milliseconds. */
const leastMilliseconds = 2;
const mostDoublings = 12;

/**
 * What this device reaches in kernels that do nothing else: bytes moved when a tensor is copied, operations when each thread adds up
 * products or matrices are multiplied. The device has to tell when its dispatches began and ended.
 */
export async function measurePeak(device: ComputeDevice, profiler: DeviceProfiler): Promise<DevicePeak> {
  const x = zeros();
  const y = zeros();
  try {
    const copying = await shortest(device, profiler, copies(x, y), 4);
    let steps = 32;
    let adding = await shortest(device, profiler, products(x, y, steps), 2);
    for (let doubling = 0; adding < leastMilliseconds && doubling < mostDoublings; doubling++) {
      steps *= 2;
      adding = await shortest(device, profiler, products(x, y, steps), 2);
    }
    const perSecond = (amount: number, milliseconds: number): number => (1000 * amount) / Math.max(milliseconds, 1e-6);
    const multiplying = await shortest(device, profiler, matrixProduct(x, y), 2);
    return {
      bytesPerSecond: perSecond(bytesMoved, copying),
      operationsPerSecond: Math.max(
        perSecond(operationsPerStep * steps * elements, adding),
        perSecond(2 * side ** 3, multiplying),
      ),
    };
  } finally {
    x.dispose();
    y.dispose();
  }
}

/** The shortest time of a few dispatches, after one for which the kernel is compiled. */
async function shortest(
  device: ComputeDevice,
  profiler: DeviceProfiler,
  kernel: Kernel,
  dispatches: number,
): Promise<number> {
  device.launch(kernel);
  await profiler.start(true);
  for (let dispatch = 0; dispatch < dispatches; dispatch++) device.launch(kernel);
  const { dispatches: done } = await profiler.stop();
  return Math.min(...done.map(({ begin, end }) => (end! - begin!) / 1e6));
}

const zeros = (): Tensor => Tensor.fromArray(new Float32Array(elements), [elements], 'float32');

function copies(x: Tensor, y: Tensor): Kernel {
  const target = new TensorView(y);
  const axes = target.axes();
  const store = { operand: target.operand, offset: target.offsetAt(axes), value: new TensorView(x).at(axes) };
  return { kind: 'nest', label: 'peak: copy', axes, innerAxes: [], stores: [store] };
}

/** Tiles in registers are more than the loop above on some adapters, and less on others. */
const side = 256;

function matrixProduct(x: Tensor, y: Tensor): Kernel {
  const [left, target] = [x, y].map(
    ({ storage, dtype }) => new TensorView(new Tensor(storage, dtype, [side, side], [side, 1])),
  );
  const [m, n] = target.axes('mn');
  const k = axis('k', left.sizes[1]);
  const store = { operand: target.operand, offset: target.offsetAt([m, n]), value: accumulator };
  return {
    kind: 'contraction',
    label: 'peak: matrix product',
    batch: [],
    m,
    n,
    k,
    left: left.at([m, k]),
    right: left.at([k, n]),
    stores: [store],
  };
}

/** A product and two sums, and the step made a float. */
const operationsPerStep = 4;

function products(x: Tensor, y: Tensor, steps: number): Kernel {
  const target = new TensorView(y);
  const axes = target.axes();
  const step = axis('step', param('i32', steps));
  const stepAsFloat = { kind: 'cast', type: 'float', x: step } as const;
  const element = new TensorView(x).at(axes);
  const body = binary('add', binary('mul', stepAsFloat, element), constant('float', 0.5));
  const store = { operand: target.operand, offset: target.offsetAt(axes), value: reduce('sum', [step], body) };
  return { kind: 'nest', label: 'peak: products', axes, innerAxes: [], stores: [store] };
}
