import { CressetError } from '@cresset/ir';
import type { ModelSummary } from '../worker/wire/protocol.ts';
import { collectModules, type HostedModel } from '../worker/hosted-model.ts';
import type { AnswerBody } from '../worker/worker-host.ts';
import type { RequestHandlers } from '../worker/request-handlers.ts';
import { registerCustomOperator, runInPage, settleOperatorRun } from './custom-operators.ts';
import { givenGlobals } from './given-globals.ts';
import { attributeSlot, registerInModule, setAttribute } from './module-registration.ts';
import { needForSource } from './source-parts.ts';
import { AuthoredModule, FunctionProgram, SourceProgram } from './source-program.ts';

/** What nothing was loaded for. */
const NO_TIMINGS = { total: 0, download: 0, read: 0, device: 0 };

/** How requests are answered that make programs in the page. */
export const authoringHandlers: RequestHandlers = {
  async create(request, host) {
    const place = await host.limited(await host.chooseDevice(request.device), request);
    const used = request.uses === null ? null : programAs(host.model(request.uses), SourceProgram).unit;
    const parts = host.programParts();
    const program =
      request.className === null
        ? new FunctionProgram(place, host.output, used, parts)
        : new AuthoredModule(request.className, place, host.output, used, parts);
    host.add(request.model, program);
    return loaded(program);
  },

  async define({ model, source, filename, globals }, host) {
    if (typeof source !== 'string') throw new CressetError('ARGUMENT', 'the source of a program has to be text');
    const program = programAs(host.model(model), SourceProgram);
    return program.enqueue(async () => {
      await needForSource(program.parts, source);
      for (const [, each] of globals) if (each.kind === 'expression') await needForSource(program.parts, each.text);
      program.define(source, filename, givenGlobals(globals, program, host));
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

  async 'register-operator'(request, host) {
    const { lowering, shape, backward } = request;
    const parts = host.programParts();
    if (lowering && 'script' in lowering) await needForSource(parts, lowering.script);
    for (const source of [shape, backward]) if (source !== null) await needForSource(parts, source);
    registerCustomOperator(request, (call) => runInPage(call, host));
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
