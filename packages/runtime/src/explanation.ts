import type { Graph, Node, ScriptFunction } from '@cresset/ir';
import { isImplemented, type OperatorRow } from '@cresset/operators';
import type { ScriptObject } from '@cresset/tensor';
import { describeMeasured, describeSchedule, whyScheduled } from '@cresset/tensorexpr';
import { programText } from './plan/program/program-text.ts';
import type { StretchSummary } from './run/planner.ts';
import type { ScriptModule } from './script-module.ts';
import type { DeviceReport } from './worker/core-requests.ts';
import type { PartUse } from './worker/part-loader.ts';

/**
 * Where an operator of a program would run: on the device; anywhere, since it touches no tensor's elements; on the host, its
 * inputs being read back; or nowhere yet.
 */
export type Placement = 'device' | 'anywhere' | 'host' | 'missing';

export interface OperatorUse {
  readonly name: string;
  readonly count: number;
  readonly placement: Placement;
}

/** How a GPU runs a kernel. */
export interface KernelReport {
  /** The operators in it, as `aten::linear`. */
  readonly label: string;
  /** How the work is spread over threads. */
  readonly schedule: string;
  /** What that was chosen by: the kernel's extents, and limits and features of the device. */
  readonly reason: string;
  /**
   * The schedules that were measured (see `setJitOptions({ autotune })`), the rule's first, and how long a launch takes with each; after them the numbers of chunks of
   * its sum that were, and how long the whole product takes. Empty where the rule chose.
   */
  readonly measured: readonly { readonly schedule: string; readonly microseconds: number }[];
}

/** A stretch of a function that was recorded, for people to read. */
export interface StretchReport extends StretchSummary {
  /** Those of its launches, in their order; empty where the device is no GPU. */
  readonly kernels: readonly KernelReport[];
  /** What the latest recording does with each replay, a step a line; empty where that is not kept. */
  readonly program: string;
}

/** What a method was compiled to. */
export interface MethodExplanation {
  readonly method: string;
  readonly operators: readonly OperatorUse[];
  /** Groups that become one kernel each: their label and the operators in them. */
  readonly fusionGroups: readonly { readonly label: string; readonly operators: readonly string[] }[];
  /** The graph that runs, in PyTorch's text. */
  readonly graph: string;
  /** The graphs that the chosen executor has made so far, in PyTorch's text: `inlined`, `profiled`, `optimized`. */
  readonly stages: readonly { readonly name: string; readonly graph: string }[];
  /** What was recorded of it in the runs so far, to be replayed, in the order of its code. */
  readonly stretches: readonly StretchReport[];
}

/** What a method was compiled to, and what its program is made with. */
export interface Explanation extends MethodExplanation {
  /** Parts of the library that the program needs beside the engine, and what needs each. */
  readonly parts: readonly PartUse[];
  /** Where it runs, and why there. */
  readonly place: DeviceReport;
}

/**
 * What a method or function was compiled to: the operators of its graph, with those of forked and fused graphs, and where they would run.
 *
 * @param receiver the object of a method
 */
export function explainFunction(
  module: ScriptModule,
  fn: ScriptFunction,
  receiver: ScriptObject | null,
): MethodExplanation {
  const { graph, code } = module.planOf(fn, receiver);
  const { device, planner } = module.context;
  const uses = new Map<string, { count: number; placement: Placement }>();
  const fusionGroups: { label: string; operators: string[] }[] = [];
  const visit = (inner: Graph): void => {
    for (const node of inner.allNodes()) {
      if (node.hasAttribute('Subgraph')) visit(node.g('Subgraph'));
      if (node.kind === 'prim::FusionGroup') fusionGroups.push(describeGroup(node));
      const placement = placementOf(node, device !== null);
      if (placement === null) continue;
      const name = node.maybeSchema()?.operatorName ?? node.kind;
      const use = uses.get(name);
      if (use) use.count++;
      else uses.set(name, { count: 1, placement });
    }
  };
  visit(graph);
  const operators = [...uses].map(([name, use]) => ({ name, ...use })).sort((a, b) => b.count - a.count);
  const text = (each: Graph): string => each.toString({ sourceRanges: false });
  const stages = [...module.stagesOf(fn, receiver)].map(([name, stage]) => ({ name, graph: text(stage) }));
  const stretches = (planner?.report(code) ?? []).map(({ scheduled, program, ...stretch }): StretchReport => {
    const kernels = scheduled.map((launch) => ({
      label: launch.label,
      schedule: describeSchedule(launch.schedule),
      reason: whyScheduled(launch, device!.capabilities),
      measured: describeMeasured(launch),
    }));
    return { ...stretch, kernels, program: program ? programText(program) : '' };
  });
  return { method: fn.name, operators, fusionGroups, graph: text(graph), stages, stretches };
}

function describeGroup(node: Node): { label: string; operators: string[] } {
  const operators = [...node.g('Subgraph').nodes()]
    .filter((member) => member.kind !== 'prim::Constant')
    .map((member) => member.kind);
  return { label: operators.map((name) => name.replace('aten::', '')).join('+'), operators };
}

/** Null for nodes that are instructions of the interpreter. */
function placementOf(node: Node, hasDevice: boolean): Placement | null {
  const operator = node.maybeOperator();
  if (!operator) return node.kind.startsWith('prim::') ? null : 'missing';
  const row = operator.row as OperatorRow | undefined;
  if (!row) return node.kind.startsWith('prim::') ? null : 'missing';
  const source = row.derived?.from ?? row;
  if (row.remote && !(hasDevice && row.pointwise)) return 'host';
  if (!isImplemented(row)) {
    if (source.decomposition !== undefined) return 'anywhere';
    // Those of the language itself are instructions, whatever their rows say.
    return node.kind.startsWith('prim::') ? null : 'missing';
  }
  if (source.scalar || source.readsNoData || (source.view && !source.shape)) return 'anywhere';
  if (hasDevice && (source.lower || source.device || source.pointwise?.body || source.reduction)) return 'device';
  return 'host';
}
