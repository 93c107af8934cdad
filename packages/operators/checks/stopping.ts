import { numelOf } from '@cresset/tensor';
import { fixedGenerator } from '../src/operator-fixture.ts';
import { beginWithoutData, hostPieces, runWithoutData, type OperatorCall } from '../src/dispatch/invoke.ts';
import { finish, isInPieces, type Pieces } from '../src/kernels/loops/pieces.ts';
import { allRows, registerAllOperators } from '../src/register-all.ts';
import type { HostContext, OperatorRow } from '../src/table/row.ts';
import { sampleCalls, type SampleCall } from './sample-calls.ts';
import { forgetTensors } from './sample-tensors.ts';

const host: HostContext = {
  gradEnabled: false,
  generator: fixedGenerator,
  print: () => undefined,
  warn: () => undefined,
};

/** Elements of a large tensor. */
const MANY_ELEMENTS = 1 << 22;
/** A sixteenth of them. */
const SOME_ELEMENTS = MANY_ELEMENTS / 16;
/** Elements of results that there is room for. */
const MOST_ELEMENTS = 1 << 26;
/** Milliseconds that a piece of work may take: a run looks whether it was aborted between two of them. */
const LONGEST = 150;
/** As `LONGEST` with a sixteenth of the elements, for work that grows as they do and by half as much again. */
const SHORT = LONGEST / 16 ** 1.5;
/** What is looked at of one call, in milliseconds. */
const WATCHED = 800;

/** Milliseconds after which a system writes down at the latest what a thread has computed. */
const TICK = 4;

/** Tells how many milliseconds the thread of the program has computed: compilers and collectors have threads of their own. */
type ThreadClock = () => number;

/** Milliseconds since it was made: those that were computed, or by the clock where that says less, or is all there is. */
class Stopwatch {
  readonly #wall = performance.now();
  readonly #own: number;

  constructor(private readonly clock: ThreadClock | null) {
    this.#own = clock?.() ?? 0;
  }

  get elapsed(): number {
    const wall = performance.now() - this.#wall;
    return this.clock ? Math.min(wall, this.clock() - this.#own + TICK) : wall;
  }
}

interface Watched {
  /** Milliseconds of the longest piece. */
  readonly longest: number;
  readonly pieces: number;
}

/** The pieces of a call that begin within the time that it is watched. */
function watched(call: OperatorCall, clock: ThreadClock | null): Watched {
  const whole = new Stopwatch(clock);
  if (call.outputs?.some(({ sizes }) => numelOf(sizes) > MOST_ELEMENTS)) return { longest: 0, pieces: 0 };
  const shown = beginWithoutData(call.row, call.args, host);
  if (shown && !isInPieces(shown)) return { longest: whole.elapsed, pieces: 1 };
  const work: Pieces<unknown> = shown ?? hostPieces(call, host);
  let longest = 0;
  for (let pieces = 1; ; pieces++) {
    const watch = new Stopwatch(clock);
    const { done } = work.next();
    longest = Math.max(longest, watch.elapsed);
    if (done || longest > LONGEST || whole.elapsed > WATCHED) return { longest, pieces };
  }
}

/**
 * The longest piece of a call in milliseconds. What is far from too long with a sixteenth of the elements is not tried with all, and neither
 * is an expression, whose pieces are alike.
 */
function longestPiece(sample: SampleCall, clock: ThreadClock | null): number {
  const { longest, pieces } = watched(sample.at(SOME_ELEMENTS), clock);
  if (longest <= SHORT || (sample.isExpression && pieces > 1)) return longest;
  return watched(sample.at(MANY_ELEMENTS), clock).longest;
}

function takes(make: () => OperatorCall): boolean {
  try {
    const call = make();
    if (!runWithoutData(call.row, call.args, host)) finish(hostPieces(call, host));
    return true;
  } catch {
    return false;
  }
}

/** The longest piece, as often as it takes to tell a slow operator from a machine that was busy; 0 where there is no room for its result. */
function steadyLongest(sample: SampleCall, clock: ThreadClock | null): number {
  let least = Infinity;
  for (let time = 0; time < 3 && least > LONGEST; time++) {
    try {
      least = Math.min(least, longestPiece(sample, clock));
    } catch {
      return 0;
    }
  }
  return least;
}

/** Rows that compute on the host by kernels of their own. */
function computes(row: OperatorRow): boolean {
  const isOwn = !row.derived && !row.remote && !row.takesQuantized;
  return isOwn && (row.pointwise ?? row.reduction ?? row.host) !== undefined;
}

export interface StoppingOptions {
  /** Only operators whose names contain this. */
  readonly filter: string;
  /** Only so many operators, spread evenly over the table. */
  readonly sample: number | null;
  /** Only every so manieth of them, and which: what several processes share. */
  readonly share: { readonly of: number; readonly at: number };
  /** What tells of the time of the thread; null where the system does not. */
  readonly clock: ThreadClock | null;
}

/**
 * Takes operators over large tensors and says which of them computes for longer than a run may that is to be ended. Operators whose arguments
 * are not found out are counted. True where all stop often enough.
 */
export function checkStopping({ filter, sample, share, clock }: StoppingOptions): boolean {
  registerAllOperators();
  const all = [...allRows()].filter((row) => computes(row) && row.schema.includes(filter));
  const count = Math.min(sample ?? all.length, all.length);
  const chosen = Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)]);
  const rows = chosen.filter((_, at) => at % share.of === share.at);
  const unreached: string[] = [];
  let slow = 0;
  for (const row of rows) {
    const name = row.schema.slice(0, row.schema.indexOf('('));
    let calls = 0;
    for (const call of sampleCalls(row, takes)) {
      calls++;
      const longest = steadyLongest(call, clock);
      if (longest <= LONGEST) continue;
      slow++;
      console.error(`${name}, ${call.name}: ${longest.toFixed(0)} ms without a stop`);
    }
    if (calls === 0) unreached.push(name);
    forgetTensors();
  }
  console.log(`${rows.length - unreached.length} of ${rows.length} operators were called; ${slow} calls do not stop`);
  if (unreached.length > 0) console.log(`no arguments were found for ${unreached.join(', ')}`);
  return slow === 0;
}
