import { registerAllParts } from '@cresset/runtime';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it, vi } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

/** Operators by what they make of `x` of [4, n, 6] and `y` of [n], by the number of elements or rows that is another one in each call. */
const operators: Record<string, string> = {
  add: 'x + y[:, None]',
  where: 'torch.where(x > 0, x, -x)',
  clamp: 'x.clamp(-0.5, 0.5)',
  masked_fill: 'x.masked_fill(x > 0.3, 1.0)',
  sum: 'x.sum(1)',
  mean: 'x.mean((0, 1))',
  var: 'x.var(1)',
  std: 'x.std()',
  amax: 'x.amax(1)',
  max: 'x.max(1)[1]',
  argmax: 'x.argmax(1)',
  argmin: 'x.argmin()',
  all: '(x > 0).all(1)',
  any: '(x > 0).any(1)',
  prod: 'x.prod(1)',
  norm: 'torch.norm(x)',
  logsumexp: 'x.logsumexp(1)',
  softmax: 'torch.softmax(x, 1)',
  log_softmax: 'torch.log_softmax(x, 1)',
  layer_norm: 'torch.layer_norm(x, [6])',
  matmul: 'x @ x.transpose(1, 2)',
  bmm: 'torch.bmm(x, x.transpose(1, 2))',
  linear: 'torch.nn.functional.linear(x, x[0, :5])',
  einsum: "torch.einsum('bij,bkj->bik', [x, x])",
  attention: 'torch.nn.functional.scaled_dot_product_attention(x, x, x)',
  cat: 'torch.cat([x, x * 2], 1)',
  stack: 'torch.stack([x, x * 2], 1)',
  split: 'torch.split(x, 2)[1] * 2',
  chunk: 'torch.chunk(x, 2, 0)[1] * 2',
  unbind: 'torch.unbind(x)[1] * 2',
  expand: 'y[None].expand(3, -1) * 2',
  repeat: 'x.repeat(1, 2, 1)',
  repeat_interleave: 'x.repeat_interleave(2, 1)',
  tile: 'torch.tile(x, [2])',
  flip: 'x.flip(1)',
  roll: 'torch.roll(x, 1, 1)',
  tril: '(x @ x.transpose(1, 2)).tril()',
  diagonal: '(x @ x.transpose(1, 2)).diagonal(0, 1, 2) * 2',
  pad: 'torch.nn.functional.pad(x, [1, 2])',
  reflection_pad: "torch.nn.functional.pad(x, [2, 2], 'reflect')",
  replication_pad: "torch.nn.functional.pad(x, [2, 2], 'replicate')",
  permute: 'x.permute(2, 0, 1) * 2',
  reshape: 'x.transpose(0, 1).reshape(-1, 24)',
  flatten: 'x.flatten(1) * 2',
  unfold: 'y.unfold(0, 4, 2) * 2',
  index_select: 'x.index_select(0, torch.tensor([2, 0]))',
  gather: 'x.gather(0, (x > 0).long())',
  scatter: 'x.scatter(0, (x > 0).long(), 1.0)',
  scatter_add: 'x.scatter_add(0, (x > 0).long(), x)',
  index: 'x[torch.tensor([2, 0])]',
  index_of_rows: 'x[:, torch.arange(2)]',
  index_put: 'x.index_put([torch.tensor([2, 0])], x[:2] * 2)',
  index_add: 'x.index_add(0, torch.tensor([2, 0]), x[:2])',
  masked_write: '_written(x)',
  embedding: 'torch.nn.functional.embedding((y > 0).long(), x[:, 0])',
  cumsum: 'x.cumsum(1)',
  cummax: 'x.cummax(1)[0]',
  logcumsumexp: 'x.logcumsumexp(1)',
  sort: 'x.sort(1)[0]',
  argsort: 'x.argsort(1)',
  topk: 'x.topk(3, 1)[0]',
  kthvalue: 'x.kthvalue(2, 1)[0]',
  median: 'x.median(1)[0]',
  searchsorted: 'torch.searchsorted(y, y)',
  bucketize: 'torch.bucketize(y, x[0, :3, 0])',
  conv1d: 'torch.conv1d(x.transpose(1, 2), x[:3, :6, :3], None, [1], [1])',
  conv2d: 'torch.conv2d(x[None], x[None, :, :3, :3])',
  conv_transpose1d: 'torch.conv_transpose1d(x.transpose(1, 2), x[0, :6, None, :3].expand(6, 2, 3))',
  max_pool1d: 'torch.max_pool1d(x.transpose(1, 2), [3], [2])',
  avg_pool2d: 'torch.avg_pool2d(x[None], [2, 2])',
  adaptive_avg_pool1d: 'torch.adaptive_avg_pool1d(x.transpose(1, 2), [4])',
  interpolate_nearest: 'torch.nn.functional.interpolate(x.transpose(1, 2), scale_factor=2.0)',
  interpolate_linear: "torch.nn.functional.interpolate(x.transpose(1, 2), scale_factor=2.0, mode='linear')",
  interpolate_bilinear: "torch.nn.functional.interpolate(x[None], scale_factor=2.0, mode='bilinear')",
  upsample_to: "torch.nn.functional.interpolate(x[None], size=[20, 20], mode='bilinear')",
  pixel_shuffle: 'torch.pixel_shuffle(x[None], 2)',
  group_norm: 'torch.group_norm(x, 2)',
  batch_norm: 'torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)',
  instance_norm: 'torch.instance_norm(x.transpose(1, 2), None, None, None, None, True, 0.1, 1e-5, False)',
  rms_norm: 'torch.rms_norm(x, [6])',
  arange: 'torch.arange(x.size(1)) * 2',
  full: 'torch.full([x.size(1), 3], 2.0) + 1',
  zeros_like: 'torch.zeros_like(x) + 1',
  one_hot: 'torch.nn.functional.one_hot((y > 0).long(), 3)',
  linspace: 'torch.linspace(0.0, 1.0, x.size(1))',
  eye: 'torch.eye(x.size(1)) * 2',
  outer: 'torch.outer(y, y)',
  cdist: 'torch.cdist(x, x)',
  meshgrid: 'torch.meshgrid([y, y])[0] * 2',
  cosine_similarity: 'torch.cosine_similarity(x, x * 2, 1)',
  cross_entropy: 'torch.nn.functional.cross_entropy(x[0], (y > 0).long())',
  mse_loss: 'torch.nn.functional.mse_loss(x, x * 2)',
  slice: 'x[:, 1:-1] * 2',
  slice_from: 'x[:, -(x.size(1) // 2):] * 2',
  size_lists: 'x.reshape(x.size()[:-1] + [2, 3]).sum(2)',
  select: 'x[:, -1] * 2',
  strided_slice: 'x[:, ::2] * 2',
  root_of_size: 'x / x.size(1) ** 0.5',
  lengths: 'x * (len(x.size()) + y.size()[0])',
  logspace: 'torch.logspace(0.0, 1.0, x.size(1))',
  quantile: 'x.quantile(0.3, 1)',
  median_of_all: 'x.median()',
  isin: 'torch.isin(x, y)',
  index_copy: 'x.index_copy(0, torch.tensor([2, 0]), x[:2])',
  index_fill: 'x.index_fill(0, torch.tensor([2, 0]), 0.5)',
  scatter_reduce: "x.scatter_reduce(0, (x > 0).long(), x, 'mean')",
  interpolate_by_part: "torch.nn.functional.interpolate(x[None], scale_factor=1.5, mode='bilinear')",
  interpolate_corners: "torch.nn.functional.interpolate(x[None], size=[20, 20], mode='bilinear', align_corners=True)",
  interpolate_cubic: "torch.nn.functional.interpolate(x[None], size=[20, 20], mode='bicubic')",
  full_of_size: 'torch.full([x.size(1)], x.size(1) ** 0.5)',
  one_by_size: 'torch.softmax(x @ x.transpose(1, 2) * (1 / math.sqrt(x.size(1))), -1)',
  half_of_size: 'x[:, int(x.size(1) * 0.5):] * 2',
  mean_by_hand: 'x.sum(1) / x.size(1)',
  compared: 'torch.arange(x.size(1) * 2) < x.size(1)',
  nll_loss: 'torch.nn.functional.nll_loss(x[0], (y > 0).long())',
  dropout: 'torch.dropout(x, 0.5, True)',
  uniform: 'torch.rand(x.size()) + x',
  bernoulli: 'torch.bernoulli((x > 0).float())',
  pdist: 'torch.pdist(x[0])',
  mode: 'x.mode(1)[0]',
  power_of_size: 'x ** x.size(1)',
  lstm_like: 'torch.tanh(torch.nn.functional.glu(x, 2))',
};

const source = `
import math
import torch
from torch import Tensor

def _written(x: Tensor) -> Tensor:
    v = x * 2
    v[v > 0.3] = 0.1
    return v
${Object.entries(operators)
  .map(([name, expression]) => `\ndef f_${name}(x: Tensor, y: Tensor):\n    return ${expression}\n`)
  .join('')}`;

/** Those that go by the number of a size all the same: what is recorded of them holds for that alone. */
const settling = [
  // As many numbers are drawn as there are elements.
  'dropout',
  'uniform',
  'bernoulli',
  // Computed on the host.
  'pdist',
  'mode',
  // Powers are written in another way for some exponents.
  'power_of_size',
];

it('operators hold for any size but for those that are told here', async () => {
  const settled: string[] = [];
  for (const name of Object.keys(operators)) {
    const device = new WasmDevice();
    const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
    const replay = vi.spyOn(device.recorder, 'replay');
    let replays = 0;
    for (const length of [40, 44, 52, 60]) {
      replays = replay.mock.calls.length;
      await functions.call(`f_${name}`, [tensorOf([4, length, 6]), tensorOf([length])]);
    }
    if (replay.mock.calls.length === replays) settled.push(name);
    device.dispose();
  }
  expect(settled).toEqual(settling);
});
