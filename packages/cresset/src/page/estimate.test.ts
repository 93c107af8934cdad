import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { serveArchive, SyntheticArchive } from '../../../../test-setup/synthetic-archive.ts';
import { estimate } from '../index.ts';

afterEach(() => vi.unstubAllGlobals());

describe('estimate', { timeout: 60_000 }, () => {
  it('reads of a large file what stands beside its weights', async () => {
    const archive = new SyntheticArchive(
      [
        { name: 'huge', shape: [1 << 14, 1 << 15], value: 3 },
        { name: 'small', shape: [4], value: 0.5 },
      ],
      '  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return torch.mul(x, self.small)\n',
    );
    const server = await serveArchive(archive);
    const found = await estimate(server.url, { device: 'cpu', worker: false });
    expect(found).toEqual({
      fileBytes: archive.size,
      weightBytes: 2 ** 31 + 16,
      deviceBytes: 2 ** 31 + 16,
      largestTensor: { name: 'huge', dtype: 'float32', shape: [1 << 14, 1 << 15], bytes: 2 ** 31 },
      maxTensorBytes: null,
      fits: true,
      reason: '',
    });
    expect(server.sent.bytes).toBeLessThan(1e6);
    vi.stubGlobal('navigator', { deviceMemory: 2 });
    const small = await estimate(server.url, { device: 'cpu', worker: false });
    expect([small.fits, small.reason]).toEqual([false, expect.stringContaining(`${2 ** 31 + 16} bytes`)]);
    server.close();
  });

  it('counts a storage that tensors share once', async () => {
    const file = readFileSync(new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url));
    const found = await estimate(file, { device: 'cpu', worker: false });
    expect(found.weightBytes).toBeLessThan(file.length);
    expect(found.weightBytes).toBeGreaterThan(file.length / 4);
  });
});
