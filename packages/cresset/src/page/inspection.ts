import { checkOptions, CressetError } from '@cresset/ir';
import type { CallProfile, CallRequest, InputExpectations, PassStep, VerificationReport } from '@cresset/runtime';
import { ARGUMENT_RULES, type ArgumentOptions, type LoadedFile } from './loaded-file.ts';
import type { GraphOptions } from './script-module.ts';
import { WireArguments, type Input } from './values/value.ts';

export interface VerifyOptions extends ArgumentOptions {
  /** The method to run; `forward` by default. */
  readonly method?: string;
  /** How far numbers may be apart, `absolute + relative * |host's|`; by default what each dtype gives rise to expect. */
  readonly tolerance?: { readonly relative: number; readonly absolute: number };
}

export interface ProfileOptions extends ArgumentOptions {
  /** The method to run; `forward` by default. */
  readonly method?: string;
}

/** See `ScriptModule.verify`. */
export async function verifyMethod(
  { id, placement }: LoadedFile,
  module: string,
  inputs: readonly Input[],
  options: VerifyOptions,
): Promise<VerificationReport> {
  checkOptions('verify', options, { ...ARGUMENT_RULES, method: 'string', tolerance: 'object' });
  const { signal, tolerance = null } = options;
  const request = { type: 'verify', model: id, module, ...wireCall('verify', inputs, options), tolerance } as const;
  return (await placement.client.request('verified', request, signal ? { signal } : {})).report;
}

/** See `ScriptModule.profile`. */
export async function profileMethod(
  { id, placement }: LoadedFile,
  module: string,
  inputs: readonly Input[],
  options: ProfileOptions,
): Promise<CallProfile> {
  checkOptions('profile', options, { ...ARGUMENT_RULES, method: 'string' });
  const { signal } = options;
  const request = { type: 'profile', model: id, module, ...wireCall('profile', inputs, options) } as const;
  return (await placement.client.request('profiled', request, signal ? { signal } : {})).profile;
}

function wireCall(
  caller: string,
  inputs: readonly Input[],
  { method = 'forward', kwargs }: ProfileOptions,
): Pick<CallRequest, 'method' | 'args' | 'kwargs'> {
  if (!Array.isArray(inputs)) throw new CressetError('ARGUMENT', `the inputs of ${caller} have to be an array`);
  const values = new WireArguments();
  return {
    method,
    args: (inputs as readonly Input[]).map((input) => values.value(input)),
    kwargs: values.named(kwargs),
  };
}

/** See `ScriptModule.passes`. */
export async function passesOf(
  { id, placement }: LoadedFile,
  module: string,
  method: string,
): Promise<readonly PassStep[]> {
  return (await placement.client.request('passes', { type: 'passes', model: id, module, method })).steps;
}

/** See `ScriptModule.bytecode`. */
export async function bytecodeOf(
  { id, placement }: LoadedFile,
  module: string,
  method: string,
  options: GraphOptions,
): Promise<string> {
  checkOptions('bytecode', options, { optimized: 'boolean', stage: 'string', passes: 'array' });
  const request = { type: 'graph', model: id, module, method, options: { ...options, asCode: true } } as const;
  return (await placement.client.request('text', request)).text;
}

/** See `ScriptModule.expectedInputs`. */
export async function expectedInputsOf(
  { id, placement }: LoadedFile,
  module: string,
  method: string,
): Promise<InputExpectations> {
  const request = { type: 'expected-inputs', model: id, module, method } as const;
  return (await placement.client.request('expected-inputs', request)).expectations;
}
