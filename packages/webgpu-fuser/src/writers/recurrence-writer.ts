import { expressionsOf, type Recurrence, type StepsSchedule } from '@cresset/tensorexpr';
import { Scope } from '../scope.ts';
import type { KernelCode, ShaderWriter } from '../shader-writer.ts';

/** A recurrence with one workgroup for each point of its axes, which goes through the steps together. */
export function writeRecurrence(
  writer: ShaderWriter,
  kernel: Recurrence,
  schedule: StepsSchedule,
  wide: boolean,
): KernelCode {
  writer.changeOverTime(kernel);
  writer.announce(kernel.stores.flatMap(expressionsOf));
  const body = new Scope(null, '  ');
  body.line('let lane = i32(thread);');
  body.line(wide ? 'let row = i32(group.x + group.y * groups.x);' : 'let row = i32(group.x);');
  if (wide) body.line(`if (row >= ${writer.extentsProduct(kernel.axes, body)}) { return; }`);
  writer.unflatten(kernel.axes, 'row', body);
  writer.loops([kernel.time], body, (step) => {
    writer.sharedLoop(kernel.innerAxes, step, schedule.workgroupSize, (scope) => writer.stores(kernel.stores, scope));
    // Threads wait for each other here, and then see what the others stored.
    step.line('storageBarrier();');
  });
  const builtins = ['@builtin(local_invocation_index) thread: u32', '@builtin(workgroup_id) group: vec3<u32>'];
  if (wide) builtins.push('@builtin(num_workgroups) groups: vec3<u32>');
  return { builtins, workgroupSize: schedule.workgroupSize, body };
}
