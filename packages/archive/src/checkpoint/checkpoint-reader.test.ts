import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { CressetError } from '@cresset/ir';
import { describe, expect, it } from 'vitest';
import { MemorySource } from '../sources/byte-source.ts';
import { readCheckpoint } from './checkpoint-reader.ts';

const folder = new URL('../../../../../shared/models/checkpoints/', import.meta.url);

describe.skipIf(!existsSync(folder))('readCheckpoint, over the corpus beside the project', () => {
  it.each(['unet.pth', 'unet-legacy-fp16.pth'])('reads %s', async (name) => {
    const source = new MemorySource(new Uint8Array(readFileSync(new URL(name, folder))), name);
    const manifest = JSON.parse(readFileSync(new URL(`${name}.manifest.json`, folder), 'utf8')) as Manifest;
    const { tensors } = await readCheckpoint(source);
    expect(manifest.leaves.length).toBeGreaterThan(0);
    for (const { path, dtype, shape, strides, sha256 } of manifest.leaves) {
      const tensor = tensors.get(path.join('.'));
      expect(tensor, path.join('.')).toBeDefined();
      expect([tensor!.dtype, tensor!.sizes, tensor!.strides]).toEqual([dtype, shape, strides]);
      const elements = tensor!.contiguousArray();
      const bytes = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
      expect(createHash('sha256').update(bytes).digest('hex'), path.join('.')).toBe(sha256);
    }
  });

  it('gives byte counts for a file cut short', async () => {
    const bytes = new Uint8Array(readFileSync(new URL('unet-legacy-fp16.pth', folder)));
    const cut = new MemorySource(bytes.subarray(0, bytes.length - 1000), 'cut.pth');
    const error = await readCheckpoint(cut).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect((error as CressetError).code).toBe('ARCHIVE_STORAGE_SIZE');
    expect((error as CressetError).message).toContain(String(bytes.length - 1000));
  });
});

interface Manifest {
  readonly leaves: readonly {
    readonly path: readonly string[];
    readonly dtype: string;
    readonly shape: number[];
    readonly strides: number[];
    /** Of the elements in C order. */
    readonly sha256: string;
  }[];
}
