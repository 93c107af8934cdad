import {
  threadsOf,
  type KernelSignature,
  type Launch,
  type ParamExpr,
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
 * @param signature of all the kernels together, with the params of `starts`
 * @param starts the numbers of the workgroups with which all kernels but the first begin: they are others where sizes are
 */
export function writeJoinedShader(
  label: string,
  launches: readonly Launch[],
  signature: KernelSignature,
  starts: readonly ParamExpr[],
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
  const startOf = (at: number): string => `u32(${writer.value(starts[at - 1], body)})`;
  launches.forEach((launch, at) => {
    const { builtins } = writer.addFunction(`part${at}`, writeKernel(writer, launch, false));
    const threads = threadsOf(launch.schedule);
    for (const builtin of builtins) if (builtin.includes('subgroup')) ofSubgroups.add(builtin);
    const values = builtins.map((builtin) => valueOf(builtin, launch, at > 0 ? startOf(at) : '', size));
    const call = `part${at}(${values.join(', ')});`;
    const inner = body.open();
    inner.line(threads < size ? `if (lane < ${threads}u) { ${call} }` : call);
    const isBefore = at < starts.length ? `if (group.x < ${startOf(at + 1)}) ` : '';
    body.close(`${at > 0 ? 'else ' : ''}${isBefore}`.trimEnd(), inner);
  });
  const ofAll = ['@builtin(workgroup_id) group: vec3<u32>', '@builtin(local_invocation_index) lane: u32'];
  const builtins = [...ofAll, ...ofSubgroups];
  return writer.assemble(label, { builtins, workgroupSize: size, body });
}

/** What a kernel takes for a builtin where its workgroups begin with number `start` of a grid, or with the first. */
function valueOf(builtin: string, { schedule }: Launch, start: string, size: number): string {
  const group = start ? `group.x - ${start}` : 'group.x';
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
