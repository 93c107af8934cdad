import { expressionsOf, type Recurrence, type StepsSchedule } from '@cresset/tensorexpr';
import { Scope } from '../scope.ts';
import type { KernelCode, ShaderWriter } from '../shader-writer.ts';
import { groupNumber } from './grid-numbers.ts';

/**
 * A recurrence with one workgroup for each point of its axes, which goes through the steps together; without inner axes nobody waits for
 * anybody, and each thread goes through the steps of its own point.
 */
export function writeRecurrence(
  writer: ShaderWriter,
  kernel: Recurrence,
  schedule: StepsSchedule,
  wide: boolean,
): KernelCode {
  writer.changeOverTime(kernel);
  writer.announce(kernel.stores.flatMap(expressionsOf));
  const isShared = kernel.innerAxes.length > 0;
  const { workgroupSize } = schedule;
  const body = new Scope(null, '  ');
  if (isShared) body.line('let lane = i32(thread);');
  const group = groupNumber(wide);
  body.line(`let row = i32(${isShared ? group : `(${group}) * ${workgroupSize}u + thread`});`);
  if (wide || !isShared) body.line(`if (row >= ${writer.extentsProduct(kernel.axes, body)}) { return; }`);
  writer.unflatten(kernel.axes, 'row', body);
  writer.loops([kernel.time], body, (step) => {
    if (!isShared) return writer.stores(kernel.stores, step);
    writer.sharedLoop(kernel.innerAxes, step, workgroupSize, (scope) => writer.stores(kernel.stores, scope));
    // Threads wait for each other here, and then see what the others stored.
    step.line('storageBarrier();');
  });
  const builtins = ['@builtin(local_invocation_index) thread: u32', '@builtin(workgroup_id) group: vec3<u32>'];
  return { builtins, workgroupSize, body };
}
