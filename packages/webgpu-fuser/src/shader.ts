import { threadsOf, type KernelSignature, type Launch, type TileSchedule } from '@cresset/tensorexpr';
import type * as attentionWriters from './attention-writers.ts';
import { writeTiledContraction } from './contraction-writer.ts';
import { writePointNest, writeRowNest } from './nest-writer.ts';
import { writeRecurrence } from './recurrence-writer.ts';
import { Scope } from './scope.ts';
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

/**
 * Writes kernels that have nothing to do with each other as one shader, as {@link writeShader} does one: each has the workgroups that it would have alone, in
 * their order, and those are of one size (`withEqualWorkgroups`).
 *
 * @param signature of all the kernels together
 */
export function writeJoinedShader(label: string, launches: readonly Launch[], signature: KernelSignature): ShaderText {
  const writer = new ShaderWriter(signature);
  const size = Math.max(...launches.map(({ schedule }) => threadsOf(schedule)));
  const body = new Scope(null, '  ');
  let first = 0;
  launches.forEach((launch, at) => {
    const { builtins } = writer.addFunction(`part${at}`, writeKernel(writer, launch, false));
    const threads = threadsOf(launch.schedule);
    const values = builtins.map((builtin) => valueOf(builtin, launch, first, size));
    const call = `part${at}(${values.join(', ')});`;
    const inner = body.open();
    inner.line(threads < size ? `if (lane < ${threads}u) { ${call} }` : call);
    first += launch.workgroups;
    body.close(`${at > 0 ? 'else ' : ''}if (group.x < ${first}u)`, inner);
  });
  const builtins = ['@builtin(workgroup_id) group: vec3<u32>', '@builtin(local_invocation_index) lane: u32'];
  return writer.assemble(label, { builtins, workgroupSize: size, body });
}

/** What a kernel takes for a builtin where its workgroups begin with number `first` of a grid. */
function valueOf(builtin: string, { schedule }: Launch, first: number, size: number): string {
  const group = first === 0 ? 'group.x' : `group.x - ${first}u`;
  switch (/\((\w+)\)/.exec(builtin)![1]) {
    case 'global_invocation_id':
      return `vec3<u32>((${group}) * ${size}u + lane, 0u, 0u)`;
    case 'workgroup_id':
      return `vec3<u32>(${group}, 0u, 0u)`;
    case 'local_invocation_id': {
      const { threadsN } = schedule as TileSchedule;
      return `vec3<u32>(lane % ${threadsN}u, lane / ${threadsN}u, 0u)`;
    }
    default:
      return 'lane';
  }
}

function writeKernel(writer: ShaderWriter, { kernel, schedule }: ScheduledKernel, wide: boolean): KernelCode {
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
