import type { KernelSignature, NormalKernel, Schedule } from '@cresset/tensorexpr';
import { writeTiledContraction } from './contraction-writer.ts';
import { writePointNest, writeRowNest } from './nest-writer.ts';
import type { ShaderText } from './shader-writer.ts';

/**
 * Writes a kernel as a WGSL compute shader with the entry point `main`. Binding 0 is the uniform buffer with the kernel's
 * params, where it has any; its storages follow in the signature's order.
 *
 * @param wide the grid has more workgroups than fit one dimension: workgroup (x, y) is number x + y * (groups in x).
 */
export function writeShader(
  kernel: NormalKernel,
  schedule: Schedule,
  signature: KernelSignature,
  wide: boolean,
): ShaderText {
  if (kernel.kind === 'contraction') {
    if (schedule.kind === 'tile') return writeTiledContraction(kernel, schedule, signature, wide);
  } else {
    if (schedule.kind === 'point') return writePointNest(kernel, schedule, signature, wide);
    if (schedule.kind === 'row') return writeRowNest(kernel, schedule, signature, wide);
  }
  throw new TypeError(`a ${kernel.kind} cannot be scheduled as ${schedule.kind}`);
}
