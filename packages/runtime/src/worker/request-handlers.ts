import type { AnswerBody, WorkerHost } from './worker-host.ts';
import type { PartRequest } from './wire/protocol.ts';

/** Answers a request that the engine itself has no answer for. */
export type RequestHandler<R extends PartRequest> = (
  request: R,
  host: WorkerHost,
  signal: AbortSignal,
) => Promise<AnswerBody>;

export type RequestHandlers = {
  readonly [Type in PartRequest['type']]?: RequestHandler<Extract<PartRequest, { readonly type: Type }>>;
};

/** The part of the library that has the handler of each request. */
export const PART_OF_REQUEST: Readonly<Record<PartRequest['type'], string>> = {
  create: 'authoring',
  define: 'authoring',
  register: 'authoring',
  'set-attribute': 'authoring',
  'get-attribute': 'authoring',
  construct: 'authoring',
  release: 'authoring',
  'register-operator': 'authoring',
  'operator-result': 'authoring',
  estimate: 'inspection',
  verify: 'inspection',
  'expected-inputs': 'inspection',
  profile: 'inspection',
  passes: 'inspection',
  'device-tensor': 'device-tensors',
  'release-tensors': 'device-tensors',
  memory: 'memory',
  'model-memory': 'memory',
  trim: 'memory',
  save: 'saving',
  freeze: 'freezing',
  graph: 'passes',
  'print-python': 'saving',
  train: 'training',
};

let known: RequestHandlers = {};

/** Makes handlers known, as a part does that has some. */
export function registerRequestHandlers(handlers: RequestHandlers): void {
  known = { ...known, ...handlers };
}

/** The handler of a request, once its part is there. */
export function handlerOf(type: PartRequest['type']): RequestHandler<PartRequest> | undefined {
  return known[type] as RequestHandler<PartRequest> | undefined;
}
