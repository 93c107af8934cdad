import { readFileSync } from 'node:fs';
import { CressetError } from '@cresset/ir';
import { bitsToNumber, type Tensor } from '@cresset/tensor';
import fc from 'fast-check';
import { strToU8 } from 'fflate';
import { describe, expect, it } from 'vitest';
import { readCheckpointFile } from './checkpoint-file.ts';
import { readModule } from '../module-reader.ts';
import { failure } from '../../../../test-setup/failure.ts';
import { processorSeconds } from '../../../../test-setup/processor-time.ts';

const file = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`../../fixtures/${name}`, import.meta.url)));
const digits = new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url);

function elements(tensor: Tensor | undefined): (number | bigint)[] {
  const array = Array.from(tensor!.contiguousArray() as ArrayLike<number | bigint>);
  const toNumber = bitsToNumber(tensor!.dtype);
  return toNumber ? array.map((bits) => toNumber(Number(bits))) : array;
}

describe('readCheckpointFile', () => {
  it.each(['training.pth', 'training-legacy.pth'])('reads what a training run saved, %s', async (name) => {
    const { tensors } = await readCheckpointFile(file(name));
    expect([...tensors.keys()]).toEqual([
      ...['fc.weight', 'fc.bias', 'norm.weight', 'norm.bias', 'norm.running_mean', 'norm.running_var'].map(
        (each) => `model.${each}`,
      ),
      'model.norm.num_batches_tracked',
      ...[0, 1, 2, 3].map((index) => `optimizer.state.${index}.momentum_buffer`),
      'best.1',
    ]);
    expect(elements(tensors.get('model.fc.weight'))).toEqual([0, 0.25, 0.5, 0.75, 1, 1.25]);
    expect(elements(tensors.get('optimizer.state.3.momentum_buffer'))).toEqual([4, 4]);
    expect(elements(tensors.get('best.1'))).toEqual([7n]);
  });

  it.each(['dtypes.pth', 'dtypes-legacy.pth'])('reads every dtype, %s', async (name) => {
    const { tensors } = await readCheckpointFile(file(name));
    const values = Object.fromEntries([...tensors].map(([key, tensor]) => [key, elements(tensor)]));
    const halved = [0, 0.5, 0.75, -1, 224];
    expect(values).toEqual({
      uint16: [0, 1, 65535],
      uint32: [0, 1, 4294967295],
      uint64: [0n, 1n, 2n ** 64n - 1n],
      float8_e4m3fn: [0, 1, 1.5, -2, 448],
      float8_e5m2: [0, 1, 1.5, -2, 448],
      float8_e4m3fnuz: halved,
      float8_e5m2fnuz: halved,
      complex32: [1, 2, -0, -0.5],
      complex64: [1, 2, -0, -0.5],
      bfloat16: [0, 1, 1.5, -2, 448],
      bool: [1, 0],
      qint8: [-1, 3, 5, 7],
      quint8: [10, 12, 20, 22],
      qint32: [-200, 200],
    });
    for (const [key, { dtype }] of tensors) expect(dtype).toBe(key);
    expect(tensors.get('qint8')!.quantizer).toEqual({ scale: 0.25, zeroPoint: 3, axis: null });
    const { scale, zeroPoint, axis } = tensors.get('quint8')!.quantizer!;
    expect([elements(scale as Tensor), elements(zeroPoint as Tensor), axis]).toEqual([[0.5, 2], [10n, 20n], 0]);
  });

  it('reads the tensors of a pickled module', async () => {
    const { tensors, moduleClass } = await readCheckpointFile(file('module.pth'));
    expect(moduleClass).toBe('torch.nn.modules.container.Sequential');
    expect([...tensors.keys()].slice(0, 3)).toEqual(['fc.weight', 'fc.bias', 'norm.weight']);
  });

  it('reads the weights beside settings of classes that it does not know, which stay inert', async () => {
    // {'args': argparse.Namespace(…), 'weight': tensor}, where Namespace stands for any class.
    const { tensors } = await readCheckpointFile(file('settings.pth'));
    expect([...tensors.keys()]).toEqual(['weight', 'by_pair.(a, 1)', 'counts.x']);
    const { code, message } = await failure(readModule(file('settings.pth')));
    expect([code, message]).toEqual(['FILE_IS_CHECKPOINT', expect.stringContaining('weight float32 [2]')]);
  });

  it('says what it cannot read', async () => {
    const sparse = await failure(readCheckpointFile(file('sparse.pth')));
    expect([sparse.code, sparse.message]).toEqual([
      'UNSUPPORTED_SPARSE_TENSOR',
      expect.stringContaining('torch.sparse_coo) of shape [3, 3]'),
    ]);
    expect((await failure(readCheckpointFile(new Uint8Array(readFileSync(digits))))).code).toBe('FILE_IS_TORCHSCRIPT');
    expect((await failure(readCheckpointFile(new TextEncoder().encode('<!doctype html>')))).code).toBe('FILE_IS_HTML');
    expect((await failure(readCheckpointFile(new Uint8Array(0)))).code).toBe('FILE_EMPTY');
    const legacy = file('training-legacy.pth');
    expect((await failure(readCheckpointFile(legacy.subarray(0, legacy.length - 9)))).message).toContain(
      String(legacy.length - 9),
    );
  });

  it('reads no global of a dtype that it does not know as a threat', async () => {
    const pickle = strToU8('\x80\x02ctorch\nfloat4_e2m1fn_x2\n.', true);
    const legacy = file('training-legacy.pth');
    const magic = legacy.subarray(0, 15);
    // Magic number, protocol, system, object.
    const parts = [magic, strToU8('\x80\x02K\x01.\x80\x02}.', true), pickle];
    const bytes = new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
    expect((await failure(readCheckpointFile(bytes))).message).toContain('dtype torch.float4_e2m1fn_x2');
  });

  it.each(['training.pth', 'training-legacy.pth', 'module.pth'])(
    'lists the tensors of %s where a program was wanted',
    async (name) => {
      const { code, message } = await failure(readModule(file(name)));
      expect(code).toBe(name === 'module.pth' ? 'FILE_IS_PICKLED_MODULE' : 'FILE_IS_CHECKPOINT');
      expect(message).toContain('fc.weight float32 [2, 3]');
      expect(message).toContain('torch.jit.script');
    },
  );

  it('gives tensors or a CressetError for any damage, in bounded time', async () => {
    const files = ['training.pth', 'training-legacy.pth', 'dtypes.pth', 'dtypes-legacy.pth', 'module.pth'].map((name) =>
      withoutChecksums(file(name)),
    );
    let slowest = 0;
    const damage = fc.record({
      which: fc.nat(files.length - 1),
      changes: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 }),
      cut: fc.option(fc.nat(), { freq: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(damage, async ({ which, changes, cut }) => {
        const bytes = files[which].slice(0, cut === null ? undefined : cut % files[which].length);
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        const start = processorSeconds();
        try {
          const { tensors } = await readCheckpointFile(bytes);
          for (const tensor of tensors.values()) tensor.contiguousArray();
        } catch (error) {
          if (!(error instanceof CressetError)) throw error;
        }
        slowest = Math.max(slowest, processorSeconds() - start);
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 500) },
    );
    expect(slowest).toBeLessThan(10);
  }, 600_000);
});

/** Sets the CRC of every entry of the directory to 0, which is "not computed". */
function withoutChecksums(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 46 < bytes.length; at++)
    if (view.getUint32(at, true) === 0x02014b50) view.setUint32(at + 16, 0, true);
  return bytes;
}
