import { GraphFunction } from '@cresset/ir';
import { inline } from '@cresset/passes';
import { Tensor, type IValue, type ScriptObject } from '@cresset/tensor';
import { forEachStorage } from '../memory/reachable-storages.ts';
import { collectModules, HostedModel } from '../worker/hosted-model.ts';
import type { RequestHandlers } from '../worker/request-handlers.ts';
import { freeze } from './freeze.ts';
import { compiledMethods, OwnCopies } from './own-copies.ts';

/** How requests are answered that make frozen modules. */
export const freezingHandlers: RequestHandlers = {
  async freeze({ model: id, module: path, frozen: number, preserved, optimizeNumerics }, host) {
    const model = host.model(id);
    return model.enqueue(async () => {
      const original = model.receiver(path);
      await toHost(original, preserved);
      const { unit, context } = model.runner;
      const frozen = freeze(original, unit, { preserved, optimizeNumerics });
      // Either of the two may be disposed of, or written to, without the other's knowing.
      const copies = new OwnCopies();
      const module = copies.of(frozen);
      for (const method of compiledMethods(collectModules(module).values())) copies.takeConstantsOf(method.graph);
      const program = { ...model.loadedProgram, module, pendingStates: [] };
      delete program.weights;
      const place = { device: context.device, report: model.deviceReport, memoryLimit: context.budget?.limit };
      const hosted = new HostedModel(program, place, host.output, model.parts);
      host.add(number, hosted);
      const timings = { total: 0, download: 0, read: 0, device: 0 };
      return { type: 'loaded', summary: { ...hosted.summary(), timings } } as const;
    });
  },
};

/** Brings what a module holds to the host, and the constants of what its kept methods call. */
async function toHost(module: ScriptObject, methods: readonly string[]): Promise<void> {
  for (const name of ['forward', ...methods]) {
    const method = module.type.findMethod(name);
    // Compiles what it calls.
    if (method instanceof GraphFunction) inline(method.graph.copy());
  }
  const values: IValue[] = [module];
  for (const { graph } of compiledMethods(collectModules(module).values())) {
    for (const node of graph.allNodes()) {
      for (const name of node.attributeNames) {
        const { value } = node.attribute(name);
        if (value instanceof Tensor) values.push(value);
      }
    }
  }
  const reads: Promise<void>[] = [];
  forEachStorage(values, (storage) => reads.push(storage.toHost()));
  await Promise.all(reads);
}
