import type { Node, SourceRange } from '@cresset/ir';
import { describeSchedule, type DevicePeak, type DeviceWork, type DispatchRecord } from '@cresset/tensorexpr';
import { stackEntriesOf } from '../../interpreter/program-place.ts';
import { kernelCost, type KernelCost } from './kernel-cost.ts';
import type { OperatorRun } from './operator-recorder.ts';
import type { ObservedCall } from './observed-call.ts';
import type { KernelProfile, SourceLine } from './profile-report.ts';

/** What a row is summed up from. */
interface Row {
  readonly operators: readonly string[];
  readonly python: readonly SourceLine[];
  readonly place: KernelProfile['place'];
  readonly code: string | null;
  readonly schedule: string | null;
  runs: number;
  milliseconds: number | null;
  bytes: number;
  flops: number;
}

/** A row for each kernel, and each operator on the host, of some calls: what one call comes to on average. */
export function kernelRows(
  calls: readonly ObservedCall[],
  peak: DevicePeak | null,
  functionName: string,
): KernelProfile[] {
  const rows = new Map<string, Row>();
  const add = (
    run: OperatorRun,
    time: number | null,
    { bytes, flops }: KernelCost,
    dispatch: DispatchRecord | null,
  ): void => {
    const { operators } = run;
    const code = dispatch?.code ?? null;
    const schedule = dispatch?.schedules.map(describeSchedule).join('; ') || null;
    const python = linesOf(run.node, functionName);
    const places = python.map(({ file, line }) => `${file}:${line}`);
    const key = [run.place, ...operators, ...places, code].join('\n');
    let row = rows.get(key);
    if (!row) {
      const place = run.place!;
      row = { operators, python, place, code, schedule, runs: 0, milliseconds: 0, bytes: 0, flops: 0 };
      rows.set(key, row);
    }
    row.runs++;
    row.milliseconds = row.milliseconds === null || time === null ? null : row.milliseconds + time;
    row.bytes += bytes;
    row.flops += flops;
  };
  for (const { runs, work } of calls) {
    const costs = costsOfDispatches(work);
    for (const run of runs) {
      if (run.place === null) continue;
      if (run.place !== 'device') add(run, run.end - run.begin, { bytes: run.bytes, flops: 0 }, null);
      for (let at = run.firstDispatch; at < run.endDispatch; at++) {
        const dispatch = work.dispatches[at];
        // Without timestamps dispatches are not told apart, and the operator is one row.
        if (!dispatch) {
          add(run, null, costs[at] ?? { bytes: run.bytes, flops: 0 }, null);
          break;
        }
        const { begin, end } = dispatch;
        add(run, begin === null || end === null ? null : (end - begin) / 1e6, costs[at], dispatch);
      }
    }
  }
  const perCall = (sum: number): number => sum / calls.length;
  return [...rows.values()]
    .map(({ runs, milliseconds, bytes, flops, ...row }) => {
      const time = milliseconds === null ? null : perCall(milliseconds);
      const cost = { bytes: perCall(bytes), flops: perCall(flops) };
      return {
        ...row,
        ...cost,
        runs: perCall(runs),
        milliseconds: time,
        shareOfPeak: shareOfPeak(row.place, time, cost, peak),
      };
    })
    .sort((a, b) => (b.milliseconds ?? 0) - (a.milliseconds ?? 0));
}

/** A kernel that came to several dispatches has its cost divided among them. */
function costsOfDispatches({ launched, dispatches }: DeviceWork): KernelCost[] {
  const costs: KernelCost[] = [];
  launched.forEach(({ kernel, first }, at) => {
    const end = launched[at + 1]?.first ?? Math.max(dispatches.length, first + 1);
    if (end === first) return;
    const { bytes, flops } = kernelCost(kernel);
    for (let dispatch = first; dispatch < end; dispatch++) {
      costs[dispatch] = { bytes: bytes / (end - first), flops: flops / (end - first) };
    }
  });
  return costs;
}

function shareOfPeak(
  place: KernelProfile['place'],
  milliseconds: number | null,
  { bytes, flops }: KernelCost,
  peak: DevicePeak | null,
): number | null {
  if (!peak || !milliseconds || place !== 'device') return null;
  const seconds = milliseconds / 1000;
  // A peak is measured too: a kernel may do a little better.
  return Math.min(1, Math.max(bytes / seconds / peak.bytesPerSecond, flops / seconds / peak.operationsPerSecond));
}

/** PyTorch's own modules, and texts without a file, such as operators said in terms of others: not what a program's author wrote. */
const OF_PYTORCH = /(^|\/)torch\/(nn|_\w+|functional)\b|^(<string>)?$/;

/** Of texts of the compiler's own: what `1 - x` comes to. */
const BUILTIN = '<builtin>';

/**
 * The lines of Python that a node and those in its group come from, where the program tells; each once, in order. Of the calls that a
 * line stands in, it is the innermost that the program's author wrote.
 */
function linesOf(node: Node, functionName: string): SourceLine[] {
  const members = node.hasAttribute('Subgraph') ? [...node.g('Subgraph').nodes()] : [node];
  const lines = new Map<string, SourceLine>();
  for (const member of members) {
    if (member.kind === 'prim::Constant') continue;
    const places = stackEntriesOf(member, functionName)
      .flatMap(({ range }) => placeOf(range) ?? [])
      .filter(({ file }) => file !== BUILTIN);
    const place = places.findLast(({ file }) => !OF_PYTORCH.test(file)) ?? places.at(-1);
    if (place) lines.set(`${place.file}:${place.line}`, place);
  }
  return [...lines.values()];
}

function placeOf(generated: SourceRange): SourceLine | null {
  const range = generated.original() ?? generated;
  const place = range.fileLineCol();
  if (!place) return null;
  const { source } = range;
  const at = source.lineOf(range.start);
  const text = source.text.slice(source.offsetOfLine(at), source.offsetOfLine(at + 1)).trim();
  return { file: place[0], line: place[1], text };
}
