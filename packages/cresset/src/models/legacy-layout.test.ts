import { ZipWriter } from '@cresset/archive';
import { describe, expect, it } from 'vitest';
import { load, tensor, type Tensor } from '../index.ts';

const code = `op_version_set = 0
def forward(self,
    x: Tensor) -> Tensor:
  _0 = torch.add_(self.steps, 1, 1)
  return torch.add((self.inner).forward(x), CONSTANTS.c1, alpha=self.scale)
def halves(self,
    x: Tensor) -> Tensor:
  return torch.div(x, 2)
def __setstate__(self,
    state: Tuple[int, bool]) -> None:
  self.scale = state[0]
`;
const innerCode = `op_version_set = 0
def forward(self,
    x: Tensor) -> Tensor:
  return torch.matmul(x, torch.t(self.weight))
`;
const model = {
  protoVersion: '5',
  mainModule: {
    name: 'net',
    torchscriptArena: { key: 'code/net.py' },
    submodules: [
      {
        name: 'inner',
        torchscriptArena: { key: 'code/net_inner.py' },
        parameters: [{ name: 'weight', tensorId: '0', isBuffer: false }],
      },
    ],
    parameters: [{ name: 'steps', tensorId: '2', isBuffer: true }],
    attributes: [{ name: 'scale', type: 'int', id: '-1' }],
    getStateAttributeId: '0',
  },
  tensors: [
    {
      dims: ['2', '2'],
      strides: ['2', '1'],
      offset: '0',
      dataType: 'FLOAT',
      data: { key: 'tensors/0' },
      device: 'cpu',
    },
    { dims: ['2'], strides: ['1'], offset: '2', dataType: 'FLOAT', data: { key: 'tensors/0' }, device: 'cpu' },
    { dims: [], strides: [], offset: '0', dataType: 'INT64', data: { key: 'tensors/1' }, device: 'cpu' },
  ],
};

function makeFile(): Uint8Array {
  const zip = new ZipWriter();
  const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
  zip.write('net/version', bytes('1\n'));
  zip.write('net/code/net.py', bytes(code));
  zip.write('net/code/net_inner.py', bytes(innerCode));
  zip.write('net/tensors/0', new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer));
  zip.write('net/tensors/1', new Uint8Array(8));
  // ((10, True),)
  zip.write('net/attributes.pkl', new Uint8Array([0x80, 2, 0x4b, 10, 0x88, 0x86, 0x85, 0x2e]));
  zip.write('net/model.json', bytes(JSON.stringify(model)));
  return zip.finish();
}

describe('a file of PyTorch 1.1', () => {
  it('is loaded, runs and keeps its state', async () => {
    const net = await load(makeFile(), { device: 'cpu' });
    const out = (await net.forward(tensor([1, 1]))) as Tensor;
    expect(out.tolist()).toEqual([3 + 30, 7 + 40]);
    await net.forward(tensor([1, 1]));
    expect((await net.parameter('steps')).tolist()).toBe(2);
    await net.dispose();
  });

  it('divides integers as PyTorch does today, which gives methods in that layout no version', async () => {
    const net = await load(makeFile(), { device: 'cpu' });
    const ints = tensor(new Int32Array([7, -7]), { shape: [2] });
    expect(((await net.call('halves', [ints])) as Tensor).tolist()).toEqual([3.5, -3.5]);
    expect(((await net.call('halves', [tensor([7, -7])])) as Tensor).tolist()).toEqual([3.5, -3.5]);
    await net.dispose();
  });

  it('is saved in the present layout', async () => {
    const net = await load(makeFile(), { device: 'cpu' });
    const again = await load(await net.save(), { device: 'cpu' });
    expect(((await again.forward(tensor([1, 1]))) as Tensor).tolist()).toEqual([33, 47]);
    const ints = tensor(new Int32Array([7, -7]), { shape: [2] });
    expect(((await again.call('halves', [ints])) as Tensor).tolist()).toEqual([3.5, -3.5]);
    await net.dispose();
    await again.dispose();
  });
});
