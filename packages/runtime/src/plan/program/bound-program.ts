import type { OpenNumber, Storage, SymKind, SymNode } from '@cresset/tensor';
import type { CommandList, ComputeDevice, LaunchRecorder, RecordedLaunch } from '@cresset/tensorexpr';
import { SameLayout } from '../recording/live-in.ts';
import { baseOf, DerivedNumber, SizedNumber } from '../recording/open-params.ts';
import { isSized, StretchSizes, type SizedLaunch } from '../stretch-sizes.ts';
import type { BoundStorage } from '../stretch-storages.ts';
import { homeOf, isScratch, numbersOf, stepsOf, type LaunchProgram } from './launch-program.ts';

/** Where a number comes from that a replay writes among the params of its launches. */
export type NumberSource =
  /** A scalar, or where a tensor begins. */
  | {
      readonly kind: 'live-in';
      readonly at: number;
      readonly isScalar: boolean;
      /** What is made of it. */
      readonly of?: (value: number | bigint) => number | bigint;
    }
  /** An expression of sizes. */
  | {
      readonly kind: 'size';
      readonly size: SymNode<SymKind>;
      /** What is made of it. */
      readonly of?: (value: number | bigint) => number | bigint;
    }
  /** Of the stream with these draws. */
  | { readonly kind: 'draw'; readonly draw: number; readonly part: 'key' | 'first' };

/** A program as a device has it. */
export interface BoundProgram {
  readonly list: CommandList;
  /** What its launches are given with each replay. */
  readonly bound: readonly BoundStorage[];
  /** What they take along. */
  readonly numbers: readonly NumberSource[];
  readonly sizes: StretchSizes | null;
}

/** Has a device note down the launches of a program. */
export function bindProgram(program: LaunchProgram, device: ComputeDevice, recorder: LaunchRecorder): BoundProgram {
  const { storages, env } = program;
  const launches = stepsOf(program, 'launch');
  const stored = new Map<Storage, boolean>();
  for (const { launch, storages: used } of launches) {
    used.forEach((storage, binding) => {
      const home = homeOf(program, storage);
      stored.set(home, stored.get(home) || launch.bindings[binding].stored);
    });
  }
  const bound: BoundStorage[] = [];
  const places = new Map<Storage, number>();
  const sourceOf = numbersOf(program);
  for (const [storage, isStored] of stored) {
    if (isScratch(program, storage)) continue;
    const { kind, layout } = storages.get(storage)!;
    const number = sourceOf.get(storage)!;
    const each = { storage: number, layout, stored: isStored, isPassing: kind === 'passing' };
    places.set(storage, bound.push(each) - 1);
  }
  const scratch = stepsOf(program, 'scratch');
  scratch.forEach((step, at) => step.storages.forEach((storage) => places.set(storage, bound.length + at)));
  const placeOf = (storage: Storage): number => places.get(homeOf(program, storage))!;
  const numbers = numbersIn(program);
  const recorded = launches.map(({ launch, storages: used }): RecordedLaunch => ({
    launch,
    places: used.map(placeOf),
  }));
  const list = recorder.record(
    recorded,
    bound.length,
    scratch.map(({ byteLength }) => byteLength),
  );
  if (!env) return { list, bound, numbers, sizes: null };
  const sized = launches.flatMap(({ launch, parts: joined }, at): SizedLaunch[] => {
    const parts = joined?.map((step) => step.launch) ?? [launch];
    return parts.some(isSized) ? [{ at, parts, bindings: launch.bindings, placeOf }] : [];
  });
  const sizedScratch = scratch.map((step) =>
    step.storages.map((storage) => ({
      dtype: storages.get(storage)!.dtype,
      bytes: storage.symBytes ?? storage.byteLength,
    })),
  );
  return { list, bound, numbers, sizes: new StretchSizes(env, list, recorder, sized, sizedScratch) };
}

/** Numbers that launches take along: each is told its place among them. */
function numbersIn(program: LaunchProgram): NumberSource[] {
  const known = new Map<OpenNumber, NumberSource>();
  stepsOf(program, 'find').forEach((liveIn, at) => {
    if (liveIn.open) known.set(liveIn.open, { kind: 'live-in', at, isScalar: !(liveIn instanceof SameLayout) });
  });
  stepsOf(program, 'draw').forEach(({ key, first }, draw) => {
    known.set(key, { kind: 'draw', draw, part: 'key' }).set(first, { kind: 'draw', draw, part: 'first' });
  });
  const params = stepsOf(program, 'launch').flatMap(({ launch }) => launch.params);
  return [...new Set(params.flatMap(({ open }) => open ?? []))].map((open, index) => {
    open.index = index;
    const base = baseOf(open)!;
    const source: NumberSource = base instanceof SizedNumber ? { kind: 'size', size: base.size } : known.get(base)!;
    return open instanceof DerivedNumber ? ({ ...source, of: open.of } as NumberSource) : source;
  });
}
