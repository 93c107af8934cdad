import { applyJitOptions } from '@cresset/ir';
import type { FileReader, ProgramCase } from './case.ts';
import { openProgram } from './program.ts';
import { argumentsOf, differencesWhenRepeated, outcomeOf, type Change, type Repetition } from './repeated-runs.ts';
import { tiled, tilingsFor, timesFor } from './tiling.ts';
import { jitOptionsOf, type ExecutorSetting, type Tiled } from '../runner/runner-settings.ts';

/** So many tilings are tried of those that fit. */
const TILINGS = 2;

/** Calls that take longer than this in milliseconds, as decompositions of large matrices do, are not made again and again. */
const MOST_TIME = 5000;

/** Sums over a thousand numbers, and positions between as many, are as far apart in two orders of computing. */
const LAST_DIGITS = 1000;

/** What searches a sorted sequence has no one answer in the copies of one. */
const searching = /^op\/(?:searchsorted|bucketize)$/;

interface TiledRuns extends Pick<Repetition, 'context' | 'readFile' | 'executors'> {
  readonly tiled: Tiled;
  /** How often calls are made with each tiling and size. */
  readonly times: number;
}

/**
 * Makes the calls of a case with their tensors tiled, several times for each tiling that the program takes, and compares them with those of a
 * program that is run as it was compiled, by the kernels in TypeScript. Gives the first difference for each executor that has one;
 * null where no tiling fits.
 */
export async function differencesWhenTiled(
  json: ProgramCase,
  { context, readFile, executors, tiled: { elements, sizes }, times }: TiledRuns,
): Promise<ReadonlyMap<ExecutorSetting, string> | null> {
  if (searching.test(json.suite) || json.compile_error !== undefined) return null;
  if (!json.calls?.some(({ raises }) => raises === undefined)) return null;
  const fitting: (readonly Change[])[] = [];
  for (const changes of await changesFor(json, elements, sizes, readFile)) {
    if (fitting.length < TILINGS && (await areFit(json, changes, readFile))) fitting.push(changes);
  }
  if (fitting.length === 0) return null;
  const rounds = fitting.flatMap((changes) => {
    const all = changes.flatMap((change) => Array.from({ length: times }, () => change));
    return changes.length > 1 ? [...all, changes[0]] : all;
  });
  return differencesWhenRepeated(json, {
    context,
    plainContext: {},
    readFile,
    rounds,
    executors,
    lastDigits: LAST_DIGITS,
  });
}

/** Tilings of the arguments of all calls, with one number of copies for all; of so many sizes each. */
async function changesFor(
  json: ProgramCase,
  elements: number,
  sizes: number,
  readFile: FileReader,
): Promise<readonly (readonly Change[])[]> {
  const calls = await Promise.all((json.calls ?? []).map((call) => argumentsOf(call, readFile)));
  const tilings = new Map(calls.flatMap(tilingsFor).map((tiling) => [tiling.name, tiling]));
  return [...tilings.values()].flatMap((tiling) => {
    const times = Math.max(...calls.map((args) => timesFor(tiling, args, elements)));
    if (times === 1) return [];
    // Of those that are to be no larger than they are the first size is their own.
    const least = elements > 1 ? times : 1;
    return [
      Array.from(
        { length: sizes },
        (_, more): Change =>
          (args) =>
            tiled(args, tiling, least + more),
      ),
    ];
  });
}

/** Whether the program takes arguments that are tiled like that, in a time that lets it be run again. */
async function areFit(json: ProgramCase, changes: readonly Change[], readFile: FileReader): Promise<boolean> {
  for (const change of changes) if (!(await fits(json, change, readFile))) return false;
  return true;
}

async function fits(json: ProgramCase, change: Change, readFile: FileReader): Promise<boolean> {
  applyJitOptions(jitOptionsOf('off'));
  const program = await openProgram(json, {}, readFile);
  const start = performance.now();
  try {
    for (const call of json.calls ?? []) {
      const outcome = await outcomeOf(program, json, call, readFile, change);
      if ('error' in outcome && call.raises === undefined) return false;
    }
    return performance.now() - start < MOST_TIME;
  } finally {
    program.dispose();
  }
}
