import { writeModule } from '@cresset/archive';
import type { GraphFunction } from '@cresset/ir';
import type { RequestHandlers } from '../worker/request-handlers.ts';
import { functionModule } from './function-module.ts';
import { pythonText } from './python-text.ts';

/** How requests are answered that write programs: as files, and as Python. */
export const savingHandlers: RequestHandlers = {
  async 'print-python'({ model: id, module, method }, host) {
    const model = host.model(id);
    return model.enqueue(async () => ({ type: 'text', text: pythonText(model, module, method) }) as const);
  },

  async save({ model: id, module, function: name, extraFiles }, host) {
    const model = host.model(id);
    return model.enqueue(async () => {
      const written =
        name === null ? model.receiver(module) : functionModule(model.callee('', name).fn as GraphFunction);
      const bytes = await writeModule(written, {
        extraFiles: new Map(extraFiles),
        callMethod: (object, method) => model.runner.callOn(object, method, [], { resultToHost: true }),
        loadDebugTables: () => model.loadDebugTables(),
      });
      return { type: 'saved', bytes: bytes.buffer } as const;
    });
  },
};
