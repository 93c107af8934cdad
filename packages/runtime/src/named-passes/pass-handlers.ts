import { listCode } from '@cresset/archive';
import { CressetError, type Graph, type ScriptFunction } from '@cresset/ir';
import { namedPasses } from '@cresset/passes';
import type { ScriptObject } from '@cresset/tensor';
import type { ScriptModule } from '../script-module.ts';
import type { GraphRequest } from '../worker/part-requests.ts';
import type { RequestHandlers } from '../worker/request-handlers.ts';
import { passEnvironment } from './pass-environment.ts';

/** How requests are answered for graphs that nobody runs. */
export const passHandlers: RequestHandlers = {
  async graph({ model: id, module, method, options }, host) {
    const model = host.model(id);
    return model.enqueue(async () => {
      await model.loadDebugTables();
      const { fn, receiver } = model.callee(module, method);
      const graph = startingGraph(model.runner, fn, receiver, options).copy();
      for (const pass of passesNamed(options.passes ?? [])) pass(graph);
      const copy = graph.copy();
      return { type: 'text', text: options.asCode ? listCode(copy) : copy.toString() } as const;
    });
  },
};

function startingGraph(
  runner: ScriptModule,
  fn: ScriptFunction,
  receiver: ScriptObject | null,
  { optimized, stage }: GraphRequest['options'],
): Graph {
  if (stage === undefined) return optimized ? runner.optimizedGraphOf(fn, receiver) : runner.graphOf(fn);
  const stages = runner.stagesOf(fn, receiver);
  const graph = stages.get(stage);
  const known = [...stages.keys()].join(', ');
  if (!graph) throw new CressetError('NO_STAGE', `'${fn.name}' has no graph '${stage}' yet; it has ${known}`);
  return graph;
}

function passesNamed(names: readonly string[]): ((graph: Graph) => unknown)[] {
  const passes = namedPasses(passEnvironment);
  return names.map((name) => {
    if (!Object.hasOwn(passes, name))
      throw new CressetError('NO_PASS', `there is no pass '${name}'; there are ${Object.keys(passes).join(', ')}`);
    return passes[name];
  });
}
