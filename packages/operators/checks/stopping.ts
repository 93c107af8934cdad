import { numelOf } from '@cresset/tensor';
import { fixedGenerator } from '../src/operator-fixture.ts';
import { hostPieces, runWithoutData, type OperatorCall } from '../src/dispatch/invoke.ts';
import { finish } from '../src/kernels/loops/pieces.ts';
import { allRows, registerAllOperators } from '../src/register-all.ts';
import type { HostContext, OperatorRow } from '../src/table/row.ts';
import { forgetTensors, sampleCalls, type SampleCall } from './sample-calls.ts';

const host: HostContext = {
  gradEnabled: false,
  generator: fixedGenerator,
  print: () => undefined,
  warn: () => undefined,
};

/** Elements of a large tensor. */
const MANY_ELEMENTS = 1 << 22;
/** Elements of results that there is room for. */
const MOST_ELEMENTS = 1 << 26;
/** Milliseconds that a piece of work may take: a run looks whether it was aborted between two of them. */
const LONGEST = 150;
/** What is looked at of one call, in milliseconds. */
const WATCHED = 800;

/** Milliseconds since it was made: of the processor, or by the clock where that says less, as it does while others help. */
class Stopwatch {
  readonly #wall = performance.now();
  readonly #cpu = process.cpuUsage();

  get elapsed(): number {
    const { user, system } = process.cpuUsage(this.#cpu);
    return Math.min(performance.now() - this.#wall, (user + system) / 1000);
  }
}

/** The longest piece of a call in milliseconds, of those that begin within the time that it is watched. */
function longestPiece(call: OperatorCall): number {
  const whole = new Stopwatch();
  if (call.outputs?.some(({ sizes }) => numelOf(sizes) > MOST_ELEMENTS)) return 0;
  if (runWithoutData(call.row, call.args, host)) return whole.elapsed;
  const pieces = hostPieces(call, host);
  let longest = 0;
  for (;;) {
    const watch = new Stopwatch();
    const { done } = pieces.next();
    longest = Math.max(longest, watch.elapsed);
    if (done || longest > LONGEST || whole.elapsed > WATCHED) return longest;
  }
}

function takes(call: OperatorCall): boolean {
  try {
    if (!runWithoutData(call.row, call.args, host)) finish(hostPieces(call, host));
    return true;
  } catch {
    return false;
  }
}

/** The longest piece, as often as it takes to tell a slow operator from a machine that was busy; 0 where there is no room for its result. */
function steadyLongest(sample: SampleCall): number {
  let least = Infinity;
  for (let time = 0; time < 3 && least > LONGEST; time++) {
    try {
      least = Math.min(least, longestPiece(sample.at(MANY_ELEMENTS)));
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
}

/**
 * Takes operators over large tensors and says which of them computes for longer than a run may that is to be ended. Operators whose arguments
 * are not found out are counted. True where all stop often enough.
 */
export function checkStopping({ filter, sample }: StoppingOptions): boolean {
  registerAllOperators();
  const all = [...allRows()].filter((row) => computes(row) && row.schema.includes(filter));
  const count = Math.min(sample ?? all.length, all.length);
  const rows = Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)]);
  const unreached: string[] = [];
  let slow = 0;
  for (const row of rows) {
    const name = row.schema.slice(0, row.schema.indexOf('('));
    let calls = 0;
    for (const call of sampleCalls(row, takes)) {
      calls++;
      const longest = steadyLongest(call);
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
