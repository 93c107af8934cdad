import { writeModule } from '@cresset/archive';
import type { RequestHandlers } from '../worker/request-handlers.ts';
import { pythonText } from './python-text.ts';

/** How requests are answered that write programs: as files, and as Python. */
export const savingHandlers: RequestHandlers = {
  async 'print-python'({ model: id, module, method }, host) {
    const model = host.model(id);
    return model.enqueue(async () => ({ type: 'text', text: pythonText(model, module, method) }) as const);
  },

  async save({ model: id, module, extraFiles }, host) {
    const model = host.model(id);
    return model.enqueue(async () => {
      const bytes = await writeModule(model.receiver(module), {
        extraFiles: new Map(extraFiles),
        callMethod: (object, method) => model.runner.callOn(object, method, [], { resultToHost: true }),
        loadDebugTables: () => model.loadDebugTables(),
      });
      return { type: 'saved', bytes: bytes.buffer } as const;
    });
  },
};
