import { Tensor } from '@cresset/tensor';
import { axis, binary, constant, param, select, TensorView, type Recurrence } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { threadedDevice } from '../../../../test-setup/threaded-device.ts';
import { WasmDevice } from '../device/wasm-device.ts';
import { goesByLine } from './nest-writer.ts';

/** Running sums of whole numbers along lines, with what is running beside them. */
function runningSums(given: Tensor, dim: number): { readonly kernel: Recurrence; readonly sums: Tensor } {
  const sums = Tensor.empty(given.sizes, 'float32');
  const [lines, length] = [given.sizes[1 - dim], given.sizes[dim]];
  const [from, to] = [given, sums].map((tensor) => new TensorView(tensor));
  const running = new TensorView(Tensor.empty([lines], 'float32'));
  const line = axis('line', param('i32', lines));
  const time = axis('t', param('i32', length));
  const place = dim === 1 ? [line, time] : [time, line];
  const before = select(binary('eq', time, constant('i32', 0)), constant('float', 0), running.at([line]));
  const value = binary('add', before, from.at(place));
  const stores = [
    { operand: running.operand, offset: running.offsetAt([line]), value },
    { operand: to.operand, offset: to.offsetAt(place), value },
  ];
  return { kernel: { kind: 'recurrence', label: 'sums', time, axes: [line], innerAxes: [], stores }, sums };
}

const [ROWS, COLUMNS] = [37, 53];
const numbers = Float32Array.from({ length: ROWS * COLUMNS }, (_, at) => ((at * 7919) % 101) - 50);
const wanted = (dim: number): number[] => {
  const back = dim === 1 ? 1 : COLUMNS;
  const sums = Array.from(numbers);
  sums.forEach((own, at) => {
    const isFirst = dim === 1 ? at % COLUMNS === 0 : at < COLUMNS;
    if (!isFirst) sums[at] = own + sums[at - back];
  });
  return sums;
};

test.each([
  ['one thread', () => Promise.resolve(new WasmDevice())],
  ['threads', () => threadedDevice()],
])('a recurrence goes along lines, or over columns step by step: %s', async (_, open) => {
  const device = await open();
  for (const dim of [0, 1]) {
    const { kernel, sums } = runningSums(Tensor.fromArray(numbers, [ROWS, COLUMNS], 'float32'), dim);
    expect(goesByLine(kernel)).toBe(dim === 1);
    device.launch(kernel);
    await sums.storage.toHost();
    expect(Array.from(sums.storageArray() as Float32Array)).toEqual(wanted(dim));
  }
  device.dispose();
});

test('a line that takes too long without a stop is one of those that go step by step', () => {
  const long = new Tensor(Tensor.empty([1], 'float32').storage, 'float32', [2, 1 << 23], [1 << 23, 1]);
  const time = axis('t', param('i32', 1 << 23));
  const line = axis('line', param('i32', 2));
  const view = new TensorView(long);
  const stores = [{ operand: view.operand, offset: view.offsetAt([line, time]), value: view.at([line, time]) }];
  expect(goesByLine({ kind: 'recurrence', label: 'long', time, axes: [line], innerAxes: [], stores })).toBe(false);
});
