import { Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  param,
  reduce,
  TensorView,
  unary,
  type Expr,
  type Kernel,
  type LoopNest,
} from '@cresset/tensorexpr';
import { expect, it, vi } from 'vitest';
import { WasmDevice } from './wasm-device.ts';

const LENGTH = (1 << 21) + 5;

/** A number between 0 and 1 for each index, that takes long to work out. */
function dear(index: Expr): Expr {
  let value = binary('div', cast('float', index), constant('float', LENGTH));
  for (let time = 0; time < 9; time++) value = unary('sin', binary('add', value, constant('float', 0.25)));
  return value;
}

/** What `dear` gives, for all indices. */
const expected = Float32Array.from({ length: LENGTH }, (_, index) => {
  let value = index / LENGTH;
  for (let time = 0; time < 9; time++) value = Math.sin(value + 0.25);
  return value;
});

/** Runs a kernel, and gives how many pieces of work that took. */
async function piecesOf(device: WasmDevice, kernel: Kernel): Promise<number> {
  // The turn never ends, so that all of it is done at once.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  let pieces = 0;
  const run = device.launches.run.bind(device.launches);
  vi.spyOn(device.launches, 'run').mockImplementation(function* (...given) {
    for (const _ of run(...given)) {
      pieces++;
      yield;
    }
    pieces++;
  });
  device.launch(kernel);
  await device.flush();
  vi.restoreAllMocks();
  return pieces;
}

function nest(parts: Pick<LoopNest, 'axes' | 'innerAxes'>, out: Tensor, value: Expr): LoopNest {
  const view = new TensorView(out);
  const offset = view.offsetAt([...parts.axes, ...parts.innerAxes]);
  return { kind: 'nest', label: 'test', ...parts, stores: [{ operand: view.operand, offset, value }] };
}

async function read(tensor: Tensor): Promise<Float32Array> {
  await tensor.storage.toHost();
  return tensor.contiguousArray() as Float32Array;
}

it('works out a long reduction to few numbers in parts', async () => {
  const device = new WasmDevice();
  const rows = axis('i', param('i32', 2));
  const columns = axis('j', param('i32', LENGTH));
  const body = binary('add', dear(columns), cast('float', rows));
  const out = Tensor.empty([2], 'float32');
  const kernel = nest({ axes: [rows], innerAxes: [] }, out, reduce('sum', [columns], body));
  expect(device.recorder.prepare(kernel)).toBeNull();
  expect(await piecesOf(device, kernel)).toBeGreaterThan(6);
  const sum = expected.reduce((total, value) => total + value, 0);
  const [first, second] = await read(out);
  expect(first / sum).toBeCloseTo(1, 6);
  expect(second / (sum + LENGTH)).toBeCloseTo(1, 6);
});

it('goes over one long row in stretches, what is reduced of it once', async () => {
  const device = new WasmDevice();
  const columns = axis('j', param('i32', LENGTH));
  const across = axis('k', param('i32', LENGTH));
  const most = reduce('max', [across], dear(across));
  const out = Tensor.empty([LENGTH], 'float32');
  const kernel = nest({ axes: [], innerAxes: [columns] }, out, binary('sub', dear(columns), most));
  expect(await piecesOf(device, kernel)).toBeGreaterThan(8);
  const highest = expected.reduce((a, b) => Math.max(a, b));
  const got = await read(out);
  const error = got.reduce((worst, value, at) => Math.max(worst, Math.abs(value - (expected[at] - highest))), 0);
  expect(error).toBeLessThan(2e-6);
});
