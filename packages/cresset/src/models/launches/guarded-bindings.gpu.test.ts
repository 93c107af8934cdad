import { registerAllParts } from '@cresset/runtime';
import { Tensor, type IValue, type Tuple } from '@cresset/tensor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gpuSchedules, type GpuSchedules } from '../../../../../test-setup/gpu-schedules.ts';
import { requestGuarded } from '../../../../../test-setup/guarded-gpu.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

const source = `
import torch
import torch.nn.functional as F
from torch import Tensor

def products(x: Tensor, y: Tensor):
    return x @ y, y.t() @ x.t(), x[:1] @ y, x @ y[:, :1], x[::2] @ y[:, 1:]

def normalised(x: Tensor, y: Tensor):
    return torch.softmax(x, -1), torch.softmax(y, 0), F.layer_norm(x, [x.size(1)]), x.sum(0), y.sum(), x.argmax(1), y.amax(0)

def pointwise(x: Tensor, y: Tensor):
    z = torch.tanh(x * x[:, :1] + y.t()[:1])
    return z, z.t().contiguous(), z[1:, ::2] + x[:1, ::2], torch.cat([x, z], 1), (x > 0.0) & (z < 0.5), x.half() + z.half()

def attention(x: Tensor, y: Tensor):
    q, k = x.unsqueeze(0), y.t().unsqueeze(0)
    return F.scaled_dot_product_attention(q, k, k), F.scaled_dot_product_attention(k, k, k, is_causal=True)

def convolutions(x: Tensor, y: Tensor):
    image = x.view(1, 1, x.size(0), x.size(1))
    filters = torch.sin(torch.arange(9)).view(1, 1, 3, 3)
    wide = F.conv2d(F.pad(image, [3, 3, 3, 3]), filters.expand(5, 1, 3, 3))
    return wide, F.conv2d(wide, filters.expand(5, 1, 3, 3), stride=2, groups=5), F.max_pool2d(wide, 3, 2), F.conv_transpose2d(image, filters, stride=2)

def ordered(x: Tensor, y: Tensor):
    flat = x.reshape(-1)
    return torch.sort(x, dim=1)[0], torch.sort(flat)[0], torch.topk(flat, 1)[0], torch.cumsum(x, 1), torch.cumsum(flat, 0), torch.cummax(x, 0)[0]

def looked_up(x: Tensor, y: Tensor):
    rows = (torch.arange(x.size(0)) * 7) % x.size(0)
    columns = ((x * 50.0).long() % x.size(1)).abs()
    return x[rows], x.gather(1, columns), torch.zeros_like(x).scatter_add(1, columns, x), torch.zeros_like(x).index_add(0, rows, x), x[x > 0.0]
`;
const names = [...source.matchAll(/def (\w+)/g)].map(([, name]) => name);

const sizes = [
  [1, 1, 1],
  [65, 1, 7],
  [13, 17, 65],
  [3, 1025, 5],
] as const;

const tensorsIn = (value: IValue): Tensor[] =>
  value instanceof Tensor ? [value] : (value as Tuple).items.flatMap(tensorsIn);

describe.each(Object.keys(gpuSchedules) as GpuSchedules[])(
  'with the limits of every adapter nothing is read or written behind a buffer, schedules for %s',
  (schedules) => {
    let gpu: Awaited<ReturnType<typeof requestGuarded>>;
    beforeAll(async () => {
      registerAllParts();
      gpu = await requestGuarded(schedules);
    });
    afterAll(() => gpu.device.dispose());

    it('finds what is written there', async () => {
      const { gpuDevice } = gpu.device;
      const code =
        '@group(0) @binding(0) var<storage, read_write> words: array<u32>; @compute @workgroup_size(1) fn main() { words[5] = words[4]; words[6] = 7u; }';
      const module = gpuDevice.createShaderModule({ code });
      const pipeline = gpuDevice.createComputePipeline({ layout: 'auto', compute: { module } });
      const buffer = gpuDevice.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE });
      const layout = pipeline.getBindGroupLayout(0);
      const encoder = gpuDevice.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, gpuDevice.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] }));
      pass.dispatchWorkgroups(1);
      pass.end();
      gpuDevice.queue.submit([encoder.finish()]);
      // What is read there is what was written before.
      expect(await gpu.writtenWords()).toBe(1);
      buffer.destroy();
      expect(await gpu.writtenWords()).toBe(0);
    });

    it.each(names)('%s', async (name) => {
      const onGpu = new PythonFunctions(source, { device: gpu.device, limits: { smallWork: -1 } });
      const onHost = new PythonFunctions(source, {});
      for (const [m, k, n] of sizes) {
        const args = (): IValue[] => [tensorOf([m, k], 1), tensorOf([k, n], 2)];
        const wanted = tensorsIn(await onHost.call(name, args()));
        // The third call replays.
        for (let call = 0; call < 3; call++) {
          const found = tensorsIn(await onGpu.call(name, args()));
          found.forEach((tensor, at) => {
            const place = `result ${at} of call ${call}, ${m} × ${k} × ${n}`;
            expect(tensor.sizes, place).toEqual(wanted[at].sizes);
            const [own, others] = [tensor, wanted[at]].map((each) => Array.from(each.contiguousArray(), Number));
            own.forEach((value, index) => {
              const tolerance = tensor.dtype === 'float16' ? 2e-3 : 3e-5;
              if (!(Math.abs(value - others[index]) <= tolerance * (1 + Math.abs(others[index]))))
                throw new Error(`${place}: ${value} for ${others[index]} at ${index}`);
            });
          });
        }
      }
      expect(await gpu.writtenWords()).toBe(0);
    });
  },
);
