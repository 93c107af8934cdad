import { Tensor, type IValue } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { run } from '../../operator-fixture.ts';

const stft = (self: Tensor, window: Tensor | null, returnComplex: boolean | null): IValue =>
  run('aten::stft', self, 16n, null, null, window, false, null, returnComplex, null);

// Messages are PyTorch's.
describe('stft', () => {
  const longs = Tensor.fromArray(new BigInt64Array(64), [64], 'int64');
  const bools = Tensor.fromArray(new Uint8Array(64), [64], 'bool');
  const window = Tensor.fromArray(new Uint8Array(16), [16], 'bool');

  it('refuses integers and bool, of whatever shape, when it knows what to return', () => {
    const options = 'normalized=0, onesided=None, return_complex=1, align_to_window=None';
    const refusal = `${options}) : expected a tensor of floating point or complex values`;
    const sizes = 'n_fft=16, hop_length=4, win_length=16';
    expect(() => stft(longs, null, true)).toThrow(`stft(torch.LongTensor[64], ${sizes}, window=None, ${refusal}`);
    expect(() => stft(bools, null, true)).toThrow(`stft(CPUBoolType[64], ${sizes}, window=None, ${refusal}`);
    const cube = longs.asStrided([2, 2, 16], [32, 16, 1]);
    expect(() => stft(cube, window, true)).toThrow(
      `stft(torch.LongTensor[2, 2, 16], ${sizes}, window=CPUBoolType{[16]}, ${refusal}`,
    );
    expect(() => stft(longs, null, null)).toThrow('stft requires the return_complex parameter be given');
  });
});
