import { CressetError, setJitLogSink, version, writeJitLog } from '@cresset/ir';
import {
  inProcessPorts,
  WorkerClient,
  type DeviceChoice,
  type FromHost,
  type Port,
  type Request,
  type RunOperatorNotice,
  type StartRequest,
} from '@cresset/runtime';
import type * as Engine from '../../engine.ts';
import type { EngineFiles } from './engine-files.ts';

/** Starts a Worker with the engine in it; throws where that is not possible. */
export type StartWorker = () => Worker;

/** What is told of what goes on in a place where programs run. */
export interface PlacementListener {
  /** A custom operator's function is to be run in the page. */
  runOperator(notice: RunOperatorNotice, client: WorkerClient): void;
  /** The place was made; its first messages are sent here. */
  started(client: WorkerClient): void;
  /** The place is gone, though nobody ended it. */
  ended?(client: WorkerClient): void;
}

/** Where programs run. */
export interface Placement {
  readonly client: WorkerClient;
  readonly thread: 'worker' | 'page';
  /** Why there, where it is not what was asked for. */
  readonly reason: string;
  /** Ends what runs there and frees what it holds. */
  end(): void | Promise<void>;
}

/** The error of what is asked of models after `shutdown`. */
function shutDown(): CressetError {
  return new CressetError('SHUT_DOWN', 'the library was shut down, and its models are gone; load the model again');
}

/** A worker that says nothing for this long has not started: its file is missing, or is not what was expected. */
const START_TIMEOUT_MS = 20_000;

let provided: { readonly engine: typeof Engine; readonly startWorker: StartWorker | null } | null = null;

/**
 * Gives this thread the engine, so that it need not be fetched: what `cresset/engine` and `cresset/full` do.
 *
 * @param startWorker how a worker with the same engine is started, where it is another than the one that the library finds
 */
export function provideEngine(engine: object, startWorker: StartWorker | null = null): void {
  provided = { engine: engine as typeof Engine, startWorker };
}

/** The engine in this thread, which knows where its parts are. Rejects with `ENGINE_MISSING` where it can neither be imported nor fetched. */
export async function engineHere(files: EngineFiles): Promise<typeof Engine> {
  try {
    const engine = provided?.engine ?? (await files.importEngine());
    // Where it is a copy with a log of its own, that goes to the page's.
    if (engine.setJitLogSink !== setJitLogSink) engine.setJitLogSink(writeJitLog);
    engine.usePartAddresses(partAddresses(files));
    return engine;
  } catch (cause) {
    throw new CressetError(
      'ENGINE_MISSING',
      `the engine of the library could not be fetched (${messageOf(cause)}). In a service worker, and wherever nothing can be imported while a program runs, import 'cresset/engine' beside 'cresset', or 'cresset/full', which has every part too`,
      { cause },
    );
  }
}

/**
 * A host in this thread: in Node, and where a page may not start a worker.
 *
 * @param device where the first program is to run, where that is known
 */
export async function startInPage(
  reason: string,
  files: EngineFiles,
  listener: PlacementListener,
  device: DeviceChoice | null,
): Promise<Placement> {
  const engine = await engineHere(files);
  const [clientPort, hostPort] = inProcessPorts<Request, FromHost>();
  const host = engine.serve(hostPort, device);
  const client = makeClient(clientPort, listener);
  const end = (): Promise<void> => {
    client.break(shutDown());
    return host.close();
  };
  return { client, thread: 'page', reason, end };
}

/**
 * A host in a worker, or in this thread where no worker can be started.
 *
 * @param own how the page says that the worker is started, where it does
 * @param device where the first program is to run, where that is known
 */
export async function startInWorker(
  own: StartWorker | null,
  files: EngineFiles,
  listener: PlacementListener,
  device: DeviceChoice | null,
): Promise<Placement> {
  if (typeof Worker === 'undefined') return startInPage('there are no workers here', files, listener, device);
  const only = own ?? provided?.startWorker;
  const attempts = only ? [only] : waysToStart(files);
  const request = { type: 'cresset:start', version, parts: partAddresses(files), device } as const;
  const reasons: string[] = [];
  for (const attempt of attempts) {
    const started = await tryToStart(attempt, request, listener);
    if (typeof started !== 'string') return started;
    if (!reasons.includes(started)) reasons.push(started);
  }
  const reason = reasons.join('; ');
  console.warn(
    `cresset: models run in the page's own thread, which they keep busy, since ${reason}. Serve the files of cresset's dist folder beside each other, or say where the engine is before the first model is loaded: setWorker(() => new Worker('/path/to/engine.js', { type: 'module' })). "Where the worker is" in cresset's README has more`,
  );
  return startInPage(reason, files, listener, device);
}

/** The ways in which a worker may come to start, in the order in which they are tried: a page's policies and bundlers close some of them. */
function waysToStart(files: EngineFiles): (() => Worker | Promise<Worker>)[] {
  const module = { type: 'module' } as const;
  const fromText = (text: string): Worker => {
    const address = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    return new Worker(trustedAddress(address), module);
  };
  const ways: (() => Worker | Promise<Worker>)[] = [];
  const address = addressOf(files);
  // The file as it is, before what a bundler makes of it where it finds a worker, which can be larger.
  if (address !== null) ways.push(() => new Worker(trustedAddress(address), module));
  ways.push(() => files.startWorker());
  // A script of another origin may not be a worker, but a worker of this origin may import it.
  if (address !== null && new URL(address).origin !== globalThis.origin) {
    ways.push(() => fromText(`import ${JSON.stringify(address)};`));
  }
  const { engineText } = files;
  // The last, since the text is as large as the file that was not found.
  if (engineText) ways.push(async () => fromText(await engineText()));
  return ways;
}

/** Some bundlers (Turbopack) put addresses without an origin in the place of a file's. */
const wholeAddress = (address: string): string => new URL(address, globalThis.location?.href).href;

function addressOf(files: EngineFiles): string | null {
  try {
    const address = files.engineAddress();
    return address === null ? null : wholeAddress(address);
  } catch {
    // In a script that a bundler made of modules, nothing knows where it is.
    return null;
  }
}

/** Starts a worker and waits for its first word; gives what went wrong as a text. */
async function tryToStart(
  start: () => Worker | Promise<Worker>,
  request: StartRequest,
  listener: PlacementListener,
): Promise<Placement | string> {
  let worker: Worker;
  try {
    worker = await start();
    if (typeof worker?.postMessage !== 'function') throw new TypeError('what setWorker was given returned no Worker');
  } catch (error) {
    return `no worker could be started: ${messageOf(error)}`;
  }
  const port = portOf(worker);
  const failure = await firstWord(worker, request);
  if (failure !== null) {
    worker.terminate();
    return `the worker did not start: ${failure}`;
  }
  const client = makeClient(port, listener);
  port.hold?.(false);
  worker.addEventListener('error', (event) => {
    const reason = event.message || 'no reason was given';
    client.break(new CressetError('WORKER_FAILED', `the worker ended (${reason}): load the model again`));
    listener.ended?.(client);
  });
  const end = (): void => {
    client.break(shutDown());
    worker.terminate();
  };
  return { client, thread: 'worker', reason: '', end };
}

function partAddresses(files: EngineFiles): Readonly<Record<string, string>> {
  try {
    const addresses = Object.entries(files.partAddresses());
    return Object.fromEntries(addresses.map(([file, address]) => [file, wholeAddress(address)]));
  } catch {
    // A page that does not know its own address: the engine looks beside itself.
    return {};
  }
}

interface TrustedTypesFactory {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): {
    createScriptURL(address: string): string;
  };
}

const trustedTypes = (): TrustedTypesFactory | undefined =>
  (globalThis as { trustedTypes?: TrustedTypesFactory }).trustedTypes;

let policy: ReturnType<TrustedTypesFactory['createPolicy']> | undefined;

/** An address that a page with Trusted Types lets a worker be started from, where it allows the policy `cresset`. */
function trustedAddress(address: string): string {
  const factory = trustedTypes();
  if (!factory) return address;
  policy ??= factory.createPolicy('cresset', { createScriptURL: (each) => each });
  return policy.createScriptURL(address);
}

type WorkerOfProcess = Worker & { ref?(): void; unref?(): void };

function portOf(worker: WorkerOfProcess): Port<FromHost, Request> {
  let isHeld = true;
  return {
    send: (message, transfer) => worker.postMessage(message, transfer),
    receive: (handler) => worker.addEventListener('message', (event: MessageEvent<FromHost>) => handler(event.data)),
    // Outside of browsers, a worker that nothing is asked of may not keep the process from ending.
    hold(isNeeded) {
      if (isNeeded === isHeld) return;
      isHeld = isNeeded;
      if (worker.unref) (isNeeded ? worker.ref : worker.unref)?.call(worker);
      else if ('Deno' in globalThis) holdInDeno(worker, isNeeded);
    },
  };
}

/**
 * Deno's workers have `ref` and `unref` as one method, whose name is a symbol without a description: its own `node:worker_threads` is made
 * with that. Where it is not there, a program ends after `shutdown()`.
 */
function holdInDeno(worker: Worker, isNeeded: boolean): void {
  const prototype = Object.getPrototypeOf(worker) as Record<symbol, unknown>;
  const name = Object.getOwnPropertySymbols(prototype).find(({ description }) => description === undefined);
  const method = name && prototype[name];
  if (typeof method === 'function') method.call(worker, isNeeded);
}

function makeClient(port: Port<FromHost, Request>, listener: PlacementListener): WorkerClient {
  const client = new WorkerClient(port, {
    onPrint: (text) => console.log(text),
    onWarning: (text) => console.warn(text),
    onRunOperator: listener.runOperator,
  });
  listener.started(client);
  return client;
}

/** Asks the worker to begin. Resolves with null once it has spoken, or with why it did not. */
function firstWord(worker: Worker, request: StartRequest): Promise<string | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve('it did not answer'), START_TIMEOUT_MS);
    const settle = (failure: string | null) => (): void => {
      clearTimeout(timer);
      resolve(failure);
    };
    worker.addEventListener('message', settle(null), { once: true });
    worker.addEventListener('error', (event) => settle(event.message || 'its script could not be loaded')(), {
      once: true,
    });
    worker.postMessage(request);
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
