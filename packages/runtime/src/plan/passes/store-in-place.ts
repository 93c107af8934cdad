import { elementSize, type Storage, symFloorDiv } from '@cresset/tensor';
import { storeInPlace, type Kernel } from '@cresset/tensorexpr';
import {
  isScratch,
  kernelOf,
  launchStep,
  stepsOf,
  withLaunches,
  type LaunchProgram,
  type LaunchStep,
} from '../program/launch-program.ts';
import { lifetimesOf, type LifetimeOf } from './launch-table.ts';
import type { Regions } from './regions.ts';

/** A shader takes time to compile: another one has to save as much, bytes. */
const worthShader = 256 << 10;

/**
 * Has launches store what they make over an operand of the same size that nobody needs any more, where it lowers the most memory that the
 * values between launches take at a time.
 */
export function storeInPlaces(program: LaunchProgram, regions: Regions): LaunchProgram {
  const launches = stepsOf(program, 'launch');
  const storages = new Map(program.storages);
  const isOwn = (storage: Storage): boolean => isScratch(program, storage) && !regions.has(storage);
  const uses = lifetimesOf(launches.map((step) => step.storages.filter(isOwn)));
  const taken = Array.from(launches, () => 0);
  for (const [{ byteLength }, { first, last }] of uses) for (let at = first; at <= last; at++) taken[at] += byteLength;
  const before = Math.max(0, ...taken);
  const changes = new Map<number, Change>();
  for (let most = before; most >= worthShader; most = Math.max(0, ...taken)) {
    const at = taken.indexOf(most);
    const change = changes.has(at) ? null : changeOf(launches[at], at, uses, program);
    if (!change) break;
    changes.set(at, change);
    taken[at] -= change.output.byteLength;
  }
  if (Math.max(0, ...taken) === before) return program;
  for (const [at, { kernel, output, input }] of changes) {
    const launch = regions.prepare(kernel);
    if (!launch) continue;
    launches[at] = launchStep(launch);
    storages.set(output, { ...storages.get(output)!, home: input });
    regions.leaveAlone([output, input]);
  }
  return withLaunches(program, launches, storages);
}

/** A launch that stores in place. */
interface Change {
  readonly kernel: Kernel;
  readonly output: Storage;
  readonly input: Storage;
}

function changeOf(
  step: LaunchStep,
  at: number,
  uses: ReadonlyMap<Storage, LifetimeOf>,
  program: LaunchProgram,
): Change | null {
  const kernel = kernelOf(step);
  if (!kernel) return null;
  const {
    launch: { bindings },
    storages,
  } = step;
  const made = storages.filter((storage, binding) => bindings[binding].stored && uses.get(storage)?.first === at);
  const dead = storages.filter((storage, binding) => !bindings[binding].stored && uses.get(storage)?.last === at);
  for (const output of made) {
    if (output.byteLength < worthShader) continue;
    for (const input of dead) {
      const { dtype } = program.storages.get(output)!;
      if (input.byteLength !== output.byteLength || program.storages.get(input)!.dtype !== dtype) continue;
      if (input.symBytes !== output.symBytes) continue;
      const count = symFloorDiv(output.symBytes ?? output.byteLength, elementSize(dtype));
      const changed = storeInPlace(kernel, output, input, count);
      if (changed) return { kernel: changed, output, input };
    }
  }
  return null;
}
