import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  fetchHardwareSchedules,
  param,
  reduce,
  TensorView,
  unary,
  type DeviceCapabilities,
  type Kernel,
  type PreparedLaunch,
} from '@cresset/tensorexpr';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openWebGpuDevice } from '../open-device.ts';
import { recordOn } from './command-lists.ts';
import { WebGpuDevice } from '../webgpu-device.ts';

let opened: WebGpuDevice;
beforeAll(async () => {
  opened = await openWebGpuDevice();
});
afterAll(() => opened.dispose());

const numbers = (...sizes: number[]): Tensor => {
  const count = sizes.reduce((product, size) => product * size, 1);
  return Tensor.fromArray(
    Float32Array.from({ length: count }, (_, at) => Math.sin(at)),
    sizes,
    'float32',
  );
};

function product(left: Tensor, right: Tensor, out: Tensor): Kernel {
  const [a, b, c] = [left, right, out].map((tensor) => new TensorView(tensor));
  const [m, n] = c.axes('mn');
  const k = axis('k', a.sizes[1]);
  const stores = [{ operand: c.operand, offset: c.offsetAt([m, n]), value: accumulator }];
  return {
    kind: 'contraction',
    label: 'test::product',
    batch: [],
    m,
    n,
    k,
    left: a.at([m, k]),
    right: b.at([k, n]),
    stores,
  };
}

function tanh(x: Tensor, out: Tensor): Kernel {
  const [from, to] = [x, out].map((tensor) => new TensorView(tensor));
  const axes = to.axes();
  const stores = [{ operand: to.operand, offset: to.offsetAt(axes), value: unary('tanh', from.at(axes)) }];
  return { kind: 'nest', label: 'test::tanh', axes, innerAxes: [], stores };
}

/** `x` by rows, less the sum of the row. */
function centred(x: Tensor, out: Tensor): Kernel {
  const [from, to] = [x, out].map((tensor) => new TensorView(tensor));
  const [row, column] = to.axes();
  const each = axis('r', param('i32', x.sizes[1]));
  const value = binary('sub', from.at([row, column]), reduce('sum', [each], from.at([row, each])));
  const stores = [{ operand: to.operand, offset: to.offsetAt([row, column]), value }];
  return { kind: 'nest', label: 'test::centred', axes: [row], innerAxes: [column], stores };
}

/** The same GPU as it would be used with other capabilities. */
function deviceWith(changed: Partial<DeviceCapabilities>): WebGpuDevice {
  const device = new WebGpuDevice(opened.gpuDevice, 'test', { ...opened.capabilities, ...changed }, false);
  recordOn(device);
  return device;
}

async function resultsOf(outputs: readonly Tensor[]): Promise<number[][]> {
  await Promise.all(outputs.map(({ storage }) => storage.toHost()));
  return outputs.map((output) => Array.from(output.contiguousArray() as Float32Array));
}

test.each([true, false])('launches joined do what each does alone; on a software adapter: %s', async (software) => {
  const device = deviceWith({ software, hardware: software ? null : await fetchHardwareSchedules() });
  const [a, b, x, rows, wide] = [numbers(20, 33), numbers(33, 24), numbers(9, 7), numbers(5, 64), numbers(70, 70)];
  const sizes = [
    [20, 24],
    [9, 7],
    [5, 64],
    [70, 70],
  ];
  const [alone, together] = [0, 1].map(() => sizes.map((each) => Tensor.empty(each, 'float32')));
  const kernelsTo = ([first, second, third, fourth]: readonly Tensor[]): Kernel[] => [
    product(a, b, first),
    tanh(x, second),
    centred(rows, third),
    tanh(wide, fourth),
  ];
  for (const kernel of kernelsTo(alone)) device.launch(kernel);
  const expected = await resultsOf(alone);
  const recorder = device.recorder!;
  const prepared = kernelsTo(together).map((kernel) => recorder.prepare(kernel)!);
  const { shaders } = device.counters;
  const joined = recorder.together(prepared)!;
  const list = recorder.record(
    [{ launch: joined, places: joined.bindings.map((_, at) => at) }],
    joined.bindings.length,
    [],
  );
  const buffers = joined.bindings.map(({ operand: { tensor, dtype }, stored }) =>
    stored ? tensor.storage.deviceBufferForWriting(device, dtype) : tensor.storage.deviceBuffer(device, dtype),
  );
  const { dispatches } = device.counters;
  recorder.replay(list, buffers, []);
  const results = await resultsOf(together);
  // A workgroup of another size adds up in another order.
  results.flat().forEach((value, at) => expect(value).toBeCloseTo(expected.flat()[at], software ? 12 : 5));
  expect(device.counters.dispatches - dispatches).toBe(1);
  // What was only made ready was not compiled.
  expect(device.counters.shaders - shaders).toBe(1);
});

test('what cannot be bound at once is not joined', () => {
  const device = deviceWith({ maxStorageBuffers: 3 });
  const prepared = [0, 1].map(() => device.recorder!.prepare(tanh(numbers(4), Tensor.empty([4], 'float32'))));
  expect(device.recorder!.together(prepared as PreparedLaunch[])).toBeNull();
});
