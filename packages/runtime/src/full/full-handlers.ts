import { writeModule } from '@cresset/archive';
import { CressetError, type GraphFunction } from '@cresset/ir';
import type { ModelSummary } from '../worker/protocol.ts';
import { collectModules, type HostedModel } from '../worker/hosted-model.ts';
import type { AnswerBody, RequestHandlers } from '../worker/worker-host.ts';
import { registerCustomOperator, runInPage, settleOperatorRun } from './custom-operators.ts';
import { expectedInputs } from './input-expectations.ts';
import { estimateMemory } from './memory-estimate.ts';
import { attributeSlot, registerInModule, setAttribute } from './module-registration.ts';
import { pythonText } from './python-text.ts';
import { AuthoredModule, FunctionProgram, SourceProgram } from './source-program.ts';
import { verifyCall } from './verification.ts';

/** What nothing was loaded for. */
const NO_TIMINGS = { total: 0, download: 0, read: 0, device: 0 };

/** How the full edition's host answers what the core's has no answer for. */
export const fullHandlers: Required<RequestHandlers> = {
  async estimate({ input, device: choice }, host, signal) {
    const { device } = await host.chooseDevice(choice);
    return { type: 'estimated', estimate: await estimateMemory(input, device, { signal }) };
  },

  async create(request, host) {
    const place = await host.chooseDevice(request.device);
    const used = request.uses === null ? null : programAs(host.model(request.uses), SourceProgram).unit;
    const program =
      request.className === null
        ? new FunctionProgram(place, host.output, used)
        : new AuthoredModule(request.className, place, host.output, used);
    host.add(request.model, program);
    return loaded(program);
  },

  async define({ model, source, filename }, host) {
    const program = programAs(host.model(model), SourceProgram);
    return program.enqueue(async () => {
      program.define(source, filename);
      return loaded(program);
    });
  },

  async register({ model, name, registration }, host) {
    const program = programAs(host.model(model), AuthoredModule);
    return program.enqueue(async () => {
      registerInModule(program, name, registration, host);
      return loaded(program);
    });
  },

  async 'set-attribute'({ model: id, module, name, value, isForAll }, host) {
    const model = host.model(id);
    return model.enqueue(async () => {
      const root = model.receiver(module);
      const objects = isForAll
        ? [...collectModules(root).values()].filter(({ type }) => type.hasAttribute(name))
        : [root];
      for (const object of objects) setAttribute(object, name, value, model.reader());
      return { type: 'done' } as const;
    });
  },

  async 'get-attribute'({ model: id, module, name }, host) {
    const model = host.model(id);
    return model.enqueue(async () => {
      const object = model.receiver(module);
      const { type, slots } = object;
      const value = slots[attributeSlot(object, name)] ?? null;
      return { type: 'attribute', value: await model.toWire(value, type.getAttribute(name)) } as const;
    });
  },

  async construct(request, host, signal) {
    const program = programAs(host.model(request.model), FunctionProgram);
    return program.enqueue(async () => {
      const path = await program.construct(request, signal);
      return { type: 'constructed', path, summary: summaryOf(program) } as const;
    });
  },

  async release({ model, path }, host) {
    const program = programAs(host.model(model), FunctionProgram);
    return program.enqueue(async () => {
      program.release(path);
      return { type: 'done' } as const;
    });
  },

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

  async verify(request, host, signal) {
    const model = host.model(request.model);
    return model.enqueue(
      async () => ({ type: 'verified', report: await verifyCall(model, request, host, signal) }) as const,
    );
  },

  async 'expected-inputs'({ model: id, module, method }, host) {
    const model = host.model(id);
    return model.enqueue(async () => {
      const { fn, receiver } = model.callee(module, method);
      const expectations = expectedInputs(fn as GraphFunction, receiver);
      return { type: 'expected-inputs', expectations } as const;
    });
  },

  async 'register-operator'(request, host) {
    registerCustomOperator(request, (operator, args) => runInPage(operator, args, host));
    return { type: 'done' };
  },

  async 'operator-result'({ run, outcome }, host) {
    settleOperatorRun(run, outcome, host);
    return { type: 'done' };
  },
};

function loaded(model: HostedModel): AnswerBody {
  return { type: 'loaded', summary: summaryOf(model) };
}

function summaryOf(model: HostedModel): ModelSummary {
  return { ...model.summary(), timings: NO_TIMINGS };
}

function programAs<Program extends HostedModel>(
  model: HostedModel,
  kind: abstract new (...args: never[]) => Program,
): Program {
  if (model instanceof kind) return model;
  throw new CressetError(
    'NOT_FROM_SOURCE',
    'this model was loaded from a file: only what is made here can be added to',
  );
}
