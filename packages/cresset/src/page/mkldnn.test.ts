import { expect, it } from 'vitest';
import { load, script, tensor, type Tensor } from '../index.ts';

const cpu = { device: 'cpu', worker: false } as const;

/** As `torch.utils.mkldnn.to_mkldnn` writes its layers: a file has dense weights, and loading it converts them. */
const source = `
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('weight', torch.arange(16.).reshape(2, 2, 2, 2))
        self.register_buffer('bias', torch.ones(2))

    @torch.jit.export
    def __getstate__(self):
        return self.weight.to_dense(), self.bias.to_dense(), self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, Tensor, bool]):
        self.weight = torch._C._nn.mkldnn_reorder_conv2d_weight(state[0].to_mkldnn(), [0, 0], [1, 1], [1, 1])
        self.bias = state[1].to_mkldnn()
        self.training = state[2]

    def forward(self, x):
        y = torch.mkldnn_convolution(x.to_mkldnn(), self.weight, self.bias, [0, 0], [1, 1], [1, 1], 1)
        y = torch.relu_(torch.mkldnn_max_pool2d(y, [2, 2]))
        return y.to_dense()

def linear(x: Tensor, w: Tensor, b: Tensor):
    return torch._C._nn.mkldnn_linear(x.to_mkldnn(), w.to_mkldnn(), b.to_mkldnn()).to_dense(torch.float64)

def narrow(x: Tensor):
    return x.to_mkldnn(torch.bfloat16).to_dense().dtype, x.to_mkldnn().is_mkldnn

def copied(x: Tensor):
    torch.relu_(x.to_mkldnn())
    return x

def refused(x: Tensor):
    return x.double().to_mkldnn()
`;

it('layers of oneDNN are dense ones, saved and loaded', async () => {
  const unit = await script(source, cpu);
  const layer = await unit.construct('Layer');
  const image = tensor([1, -1, 0, 2, 0, 1, 1, 0, 1], [1, 1, 3, 3]);
  const two = tensor([...image.data, ...image.data] as number[], [1, 2, 3, 3]);
  const again = await load(await layer.save(), cpu);
  const results = [await layer.call('forward', [two]), await again.forward(two)] as [Tensor, Tensor];
  // conv2d(x, arange(16).reshape(2, 2, 2, 2), ones(2)), the largest of each map.
  for (const result of results) expect([...result.data]).toEqual([17, 65]);
  await unit.dispose();
});

it('conversions copy, and take the dtypes that oneDNN has', async () => {
  const unit = await script(source, cpu);
  const x = tensor([1, -2], [1, 2]);
  const product = (await unit.function('linear')(x, tensor([3, 4], [1, 2]), tensor([1]))) as Tensor;
  expect([product.dtype, ...product.data]).toEqual(['float64', -4]);
  expect(await unit.function('narrow')(x)).toEqual([15, false]);
  expect([...((await unit.function('copied')(x)) as Tensor).data]).toEqual([1, -2]);
  await expect(unit.function('refused')(x)).rejects.toThrow(
    'dense_to_mkldnn expects float, bfloat16, half, uint8, int8',
  );
  await unit.dispose();
});
