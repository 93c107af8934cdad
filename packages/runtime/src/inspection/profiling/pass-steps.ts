import type { Graph } from '@cresset/ir';
import type { HostedModel } from '../../worker/hosted-model.ts';
import type { PassStep } from './profile-report.ts';

/** Optimises a method's graph once more, and tells how it stands after every pass that changed it; the first is the one that was compiled. */
export function passSteps(
  model: HostedModel,
  callee: { readonly module: string; readonly method: string },
): PassStep[] {
  const steps: PassStep[] = [];
  eachPass(model, callee, (name, milliseconds, graph) => {
    // Values keep their names from step to step, so that what a pass left alone reads the same.
    const text = graph.toString({ sourceRanges: false });
    if (text !== steps.at(-1)?.graph) steps.push({ name, milliseconds, graph: text });
  });
  return steps;
}

/** How long each pass takes. */
export function timePasses(
  model: HostedModel,
  callee: { readonly module: string; readonly method: string },
): { readonly name: string; readonly milliseconds: number }[] {
  const times: { name: string; milliseconds: number }[] = [];
  eachPass(model, callee, (name, milliseconds) => times.push({ name, milliseconds }));
  return times;
}

function eachPass(
  model: HostedModel,
  { module, method }: { readonly module: string; readonly method: string },
  listen: (name: string, milliseconds: number, graph: Graph) => void,
): void {
  const { fn, receiver } = model.callee(module, method);
  let last = performance.now();
  const onStep = (name: string, graph: Graph): void => {
    listen(name, performance.now() - last, graph);
    // What the listener does is no part of the next pass.
    last = performance.now();
  };
  model.runner.traceOptimization(onStep, fn, receiver);
}
