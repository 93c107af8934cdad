import { loadsIn, type KernelSignature, type Launch } from '@cresset/tensorexpr';
import type * as attentionWriters from './writers/attention-writers.ts';
import { writeTiledContraction } from './writers/contraction-writer.ts';
import type * as hardwareWriters from './writers/hardware-writers.ts';
import { writePointNest, writeRowNest } from './writers/nest-writer.ts';
import { writeRecurrence } from './writers/recurrence-writer.ts';
import { ShaderWriter, type KernelCode, type ShaderFeatures, type ShaderText } from './shader-writer.ts';

/** A kernel with its schedule. */
type ScheduledKernel = Pick<Launch, 'kernel' | 'schedule' | 'kept'>;

/** What writes attention; null until a program has some. */
let attention: typeof attentionWriters | null = null;

async function fetchAttention(): Promise<void> {
  attention = await import('./writers/attention-writers.ts');
}

/** What writes kernels of schedules that only hardware gets; null until there is one. */
let hardware: typeof hardwareWriters | null = null;

async function fetchHardware(): Promise<void> {
  hardware = await import('./writers/hardware-writers.ts');
}

/** Fetches what writes a kernel; null where that is there. */
export function missingWriters({ kernel, schedule }: ScheduledKernel): (() => Promise<void>) | null {
  if (kernel.kind === 'running-softmax' && !attention) return fetchAttention;
  const { kind } = schedule;
  const isForHardware = kind === 'shared tile' || kind === 'split sum' || (kind === 'row' && schedule.subgroups);
  return isForHardware && !hardware ? fetchHardware : null;
}

/**
 * Writes a kernel as a WGSL compute shader with the entry point `main`. Binding 0 is the uniform buffer with the kernel's
 * params, where it has any; its storages follow in the signature's order.
 *
 * @param wide the grid has more workgroups than fit one dimension: workgroup (x, y) is number x + y * (groups in x).
 */
export function writeShader(
  launch: ScheduledKernel,
  signature: KernelSignature,
  wide: boolean,
  features?: ShaderFeatures,
): ShaderText {
  const writer = new ShaderWriter(signature, features);
  const missing = missingWriters(launch);
  if (missing) return { code: '', uniforms: writer.uniforms, missing };
  bindBuffers(writer, launch);
  const code = writeKernel(writer, launch, wide);
  const builtins = wide ? [...code.builtins, '@builtin(num_workgroups) groups: vec3<u32>'] : code.builtins;
  return writer.assemble(launch.kernel.label, { ...code, builtins });
}

/**
 * Has buffers bound as what a kernel loads and stores of them, before anything is written: as vectors of which four elements are loaded at once, or as
 * words that threads exchange.
 */
export function bindBuffers(writer: ShaderWriter, { kernel, schedule }: ScheduledKernel): void {
  const words = schedule.kind === 'point' ? schedule.words.stores : [];
  kernel.stores.forEach((store, at) => writer.bindStored(store, words[at] ?? false));
  if (kernel.kind !== 'contraction' || (schedule.kind !== 'shared tile' && schedule.kind !== 'split sum')) return;
  for (const side of ['left', 'right'] as const) {
    const vectors = schedule.kind === 'split sum' ? schedule[side] : schedule[side].vectors;
    const loads = loadsIn([kernel[side]]).filter((_, at) => vectors[at]);
    for (const { operand } of loads) writer.bindAsVectors(operand);
  }
}

/** Writes what a kernel does, as the body of a function. */
export function writeKernel(
  writer: ShaderWriter,
  { kernel, schedule, kept = [] }: ScheduledKernel,
  wide: boolean,
): KernelCode {
  if (kernel.kind === 'contraction') {
    if (schedule.kind === 'tile') return writeTiledContraction(writer, kernel, schedule, wide);
    if (schedule.kind === 'shared tile') return hardware!.writeSharedTile(writer, kernel, schedule, wide);
    if (schedule.kind === 'split sum') return hardware!.writeSplitSum(writer, kernel, schedule, wide);
  } else if (kernel.kind === 'running-softmax') {
    if (schedule.kind === 'own rows') return attention!.writeOwnRows(writer, kernel, schedule, wide);
    if (schedule.kind === 'shared rows') return attention!.writeSharedRows(writer, kernel, schedule, wide);
  } else if (kernel.kind === 'recurrence') {
    if (schedule.kind === 'steps') return writeRecurrence(writer, kernel, schedule, wide);
  } else {
    if (schedule.kind === 'point') return writePointNest(writer, kernel, schedule, wide);
    if (schedule.kind === 'row')
      return writeRowNest(
        writer,
        { kernel, kept },
        schedule,
        wide,
        schedule.subgroups ? hardware!.subgroupFunction : null,
      );
  }
  throw new TypeError(`a ${kernel.kind} cannot be scheduled as ${schedule.kind}`);
}
