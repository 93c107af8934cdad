import { Tensor } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openProgram } from '../cases/program.ts';

/** Positions out of range on a device: PyTorch's errors, without a wait of their own. */

let device: WebGpuDevice;
beforeAll(async () => {
  device = await requestWebGpuDevice();
});
afterAll(() => device.dispose());

const run = async (body: string, ...inputs: Tensor[]): Promise<unknown> => {
  const source = `def forward(x: Tensor, i: Tensor):\n    return ${body}\n`;
  const program = await openProgram(
    { id: 'positions', suite: 'positions', source, entry: 'forward' },
    { device, limits: { smallWork: -1 } },
    () => Promise.reject(new Error('no file')),
  );
  return program.call('forward', inputs, new Map());
};

const x = (): Tensor => Tensor.fromArray(new Float32Array(12), [3, 4], 'float32');
const at = (...values: number[]): Tensor =>
  Tensor.fromArray(BigInt64Array.from(values, BigInt), [values.length], 'int64');

it('says so where the result is a number', async () => {
  await expect(run('int(torch.take(x, i).sum().item())', x(), at(99))).rejects.toThrow('tried to access index 99');
});

it.each(['torch.embedding(x, i)', 'torch.relu(torch.embedding(x, i) * 2.0 + 1.0)'])(
  'says where in the program: %s',
  async (body) => {
    const error = await run(body, x(), at(-1)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'TorchScriptError', reason: 'index out of range in self' });
    const { message } = error as Error;
    expect(message).toContain('The following operation failed in the TorchScript interpreter.');
    expect(message).toContain(`line 2, in forward\ndef forward(x: Tensor, i: Tensor):\n    return ${body}\n`);
    expect(message).toMatch(/~{15} <--- HERE\nRuntimeError: index out of range in self\n$/);
  },
);

it('says which of two places it was', async () => {
  const body = 'torch.embedding(torch.embedding(x, i.abs()), i)';
  const error = await run(body, x(), at(-1)).catch((reason: unknown) => reason);
  const [, marks] = /return (?:.*)\n( *~+) <--- HERE/.exec((error as Error).message) ?? [];
  expect(marks).toBe(`${' '.repeat('    return '.length)}${'~'.repeat('torch.embedding'.length)}`);
});

it.each([
  ['torch.index_select(x, 0, i)', at(0, 3), 'index out of range in self'],
  ['torch.index_select(x, 1, i)', at(0, 4), 'INDICES element is out of DATA bounds, id=4 axis_dim=4'],
  ['x[i]', at(0, -4), 'index -4 is out of bounds for dimension 0 with size 3'],
  ['x[:, i]', at(7), 'index 7 is out of bounds for dimension 1 with size 4'],
  ['torch.gather(x, 1, i.view(1, -1))', at(1, 4), 'index 4 is out of bounds for dimension 1 with size 4'],
  ['torch.embedding(x, i)', at(-1), 'index out of range in self'],
  ['torch.take(x, i)', at(12), 'out of range: tried to access index 12 on a tensor of 12 elements.'],
  ['x.index_fill(0, i, 1.0)', at(5), 'index 5 is out of bounds for dimension 0 with size 3'],
])('%s', async (body, index, message) => {
  await expect(run(body, x(), index)).rejects.toThrow(message);
  // The next run finds nothing of it.
  const before = { ...device.counters };
  await run(body, x(), at(1));
  expect(device.counters.submits - before.submits).toBe(1);
});
