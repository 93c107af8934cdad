import { registerAllParts } from '@cresset/runtime';
import { Tensor } from '@cresset/tensor';
import { beforeAll, expect, it } from 'vitest';
import { onHostDevices } from './host-devices-fixture.ts';

beforeAll(registerAllParts);

const source = `
import torch
from torch import Tensor

def layer(x: Tensor) -> Tensor:
    return torch.layer_norm(x, [x.size(-1)])

def group(x: Tensor) -> Tensor:
    return torch.group_norm(x.unsqueeze(0), 3)
`;

/** PyTorch's running moments do not move off a number that is all there is; a sum of 1001 of them, in single precision, does. */
it.each(['layer', 'group'])('rows of equal elements are normalised to zeros: %s', async (name) => {
  for (const functions of await onHostDevices(source)) {
    for (const element of [0.7, 1.3, -2.2]) {
      const x = Tensor.fromArray(new Float32Array(3 * 1001).fill(element), [3, 1001], 'float32');
      const result = (await functions.call(name, [x])) as Tensor;
      expect(Math.max(...(result.contiguousArray() as Float32Array).map(Math.abs))).toBe(0);
    }
  }
});
