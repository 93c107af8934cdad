import type { KernelSignature, Launch } from '@cresset/tensorexpr';
import type * as attentionWriters from './attention-writers.ts';
import { writeTiledContraction } from './contraction-writer.ts';
import { writePointNest, writeRowNest } from './nest-writer.ts';
import { writeRecurrence } from './recurrence-writer.ts';
import { ShaderWriter, type KernelCode, type ShaderText } from './shader-writer.ts';

/** A kernel with its schedule. */
type ScheduledKernel = Pick<Launch, 'kernel' | 'schedule'>;

/** What writes attention; null until a program has some. */
let attention: typeof attentionWriters | null = null;

async function fetchAttention(): Promise<void> {
  attention = await import('./attention-writers.ts');
}

/**
 * Writes a kernel as a WGSL compute shader with the entry point `main`. Binding 0 is the uniform buffer with the kernel's
 * params, where it has any; its storages follow in the signature's order.
 *
 * @param wide the grid has more workgroups than fit one dimension: workgroup (x, y) is number x + y * (groups in x).
 */
export function writeShader(
  { kernel, schedule }: ScheduledKernel,
  signature: KernelSignature,
  wide: boolean,
): ShaderText {
  const writer = new ShaderWriter(signature);
  if (kernel.kind === 'running-softmax' && !attention) {
    return { code: '', uniforms: writer.uniforms, missing: fetchAttention };
  }
  return writer.assemble(kernel.label, writeKernel(writer, { kernel, schedule }, wide));
}

/** Writes what a kernel does, as the body of a function. */
export function writeKernel(writer: ShaderWriter, { kernel, schedule }: ScheduledKernel, wide: boolean): KernelCode {
  if (kernel.kind === 'contraction') {
    if (schedule.kind === 'tile') return writeTiledContraction(writer, kernel, schedule, wide);
  } else if (kernel.kind === 'running-softmax') {
    if (schedule.kind === 'own rows') return attention!.writeOwnRows(writer, kernel, schedule, wide);
    if (schedule.kind === 'shared rows') return attention!.writeSharedRows(writer, kernel, schedule, wide);
  } else if (kernel.kind === 'recurrence') {
    if (schedule.kind === 'steps') return writeRecurrence(writer, kernel, schedule, wide);
  } else {
    if (schedule.kind === 'point') return writePointNest(writer, kernel, schedule, wide);
    if (schedule.kind === 'row') return writeRowNest(writer, kernel, schedule, wide);
  }
  throw new TypeError(`a ${kernel.kind} cannot be scheduled as ${schedule.kind}`);
}
