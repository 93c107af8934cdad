import type { GraphFunction } from '@cresset/ir';
import type { RequestHandlers } from '../worker/request-handlers.ts';
import { expectedInputs } from './input-expectations.ts';
import { estimateMemory } from './memory-estimate.ts';
import { passSteps } from './profiling/pass-steps.ts';
import { profileCall } from './profiling/profile-call.ts';
import { verifyCall } from './verification.ts';

/** How requests are answered that look into a program, or hold its answers on two devices against each other. */
export const inspectionHandlers: RequestHandlers = {
  async estimate(request, host, signal) {
    const { device } = await host.chooseDevice(request.device);
    // What a WebAssembly memory has no room for, the host has.
    const gpu = device?.capabilities.host ? null : device;
    return { type: 'estimated', estimate: await estimateMemory(request, gpu, { signal }) };
  },

  async verify(request, host, signal) {
    const model = host.model(request.model);
    return model.enqueue(
      async () => ({ type: 'verified', report: await verifyCall(model, request, host, signal) }) as const,
    );
  },

  async profile(request, host, signal) {
    const model = host.model(request.model);
    return model.enqueue(
      async () => ({ type: 'profiled', profile: await profileCall(model, request, signal) }) as const,
    );
  },

  async passes({ model: id, module, method }, host) {
    const model = host.model(id);
    return model.enqueue(async () => ({ type: 'passes', steps: passSteps(model, { module, method }) }) as const);
  },

  async 'expected-inputs'({ model: id, module, method }, host) {
    const model = host.model(id);
    return model.enqueue(async () => {
      const { fn, receiver } = model.callee(module, method);
      const expectations = expectedInputs(fn as GraphFunction, receiver);
      return { type: 'expected-inputs', expectations } as const;
    });
  },
};
