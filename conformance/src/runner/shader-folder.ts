import type { WebGpuDevice } from '@cresset/webgpu';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Collects the shaders of a run in a folder, one file for each text, whichever process compiled it. */
export class ShaderFolder {
  readonly #saved = new Set<string>();

  constructor(
    private readonly path: string,
    private readonly device: WebGpuDevice,
  ) {}

  /** Writes what was compiled since the last time. */
  async save(): Promise<void> {
    const fresh = this.device.shaders().filter(({ code }) => !this.#saved.has(code));
    if (fresh.length === 0) return;
    await mkdir(this.path, { recursive: true });
    for (const { code } of fresh) {
      this.#saved.add(code);
      const name = createHash('sha256').update(code).digest('hex').slice(0, 16);
      await writeFile(join(this.path, `${name}.wgsl`), code);
    }
  }
}
