import {
  threadsOf,
  type KernelSignature,
  type Launch,
  type SharedTileSchedule,
  type TileSchedule,
} from '@cresset/tensorexpr';
import { Scope } from './scope.ts';
import { ShaderWriter, type ShaderFeatures, type ShaderText } from './shader-writer.ts';
import { bindBuffers, missingWriters, writeKernel } from './shader.ts';

/**
 * Writes kernels that have nothing to do with each other as one shader, as {@link writeShader} does one: each has the workgroups that it would have alone, in
 * their order, and those are of one size (`withEqualWorkgroups`).
 *
 * @param signature of all the kernels together
 */
export function writeJoinedShader(
  label: string,
  launches: readonly Launch[],
  signature: KernelSignature,
  features?: ShaderFeatures,
): ShaderText {
  const writer = new ShaderWriter(signature, features);
  for (const launch of launches) {
    const missing = missingWriters(launch);
    if (missing) return { code: '', uniforms: writer.uniforms, missing };
    bindBuffers(writer, launch);
  }
  const size = Math.max(...launches.map(({ schedule }) => threadsOf(schedule)));
  const body = new Scope(null, '  ');
  const ofSubgroups = new Set<string>();
  let first = 0;
  launches.forEach((launch, at) => {
    const { builtins } = writer.addFunction(`part${at}`, writeKernel(writer, launch, false));
    const threads = threadsOf(launch.schedule);
    for (const builtin of builtins) if (builtin.includes('subgroup')) ofSubgroups.add(builtin);
    const values = builtins.map((builtin) => valueOf(builtin, launch, first, size));
    const call = `part${at}(${values.join(', ')});`;
    const inner = body.open();
    inner.line(threads < size ? `if (lane < ${threads}u) { ${call} }` : call);
    first += launch.workgroups;
    body.close(`${at > 0 ? 'else ' : ''}if (group.x < ${first}u)`, inner);
  });
  const ofAll = ['@builtin(workgroup_id) group: vec3<u32>', '@builtin(local_invocation_index) lane: u32'];
  const builtins = [...ofAll, ...ofSubgroups];
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
      const { threadsN } = schedule as TileSchedule | SharedTileSchedule;
      return `vec3<u32>(lane % ${threadsN}u, lane / ${threadsN}u, 0u)`;
    }
    case 'subgroup_id':
      return 'subgroup';
    case 'num_subgroups':
      return 'subgroups';
    default:
      return 'lane';
  }
}
