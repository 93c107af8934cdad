import { CressetError, setJitLogSink } from '@cresset/ir';
import {
  inProcessPorts,
  WorkerClient,
  WorkerHost,
  type FromHost,
  type Port,
  type Request,
  type RequestHandlers,
  type RunOperatorNotice,
} from '@cresset/runtime';
import { requestWebGpuDevice } from '@cresset/webgpu';

/** Starts a Worker with this library's host in it; throws where that is not possible. */
export type StartWorker = () => Worker;

/** What an edition adds to the core's. */
export interface Edition {
  /** Called in the thread of a host before it starts: operators to be registered. */
  prepare(): void;
  readonly handlers: RequestHandlers;
  /** Runs a custom operator's function in the page. */
  runOperator(notice: RunOperatorNotice, client: WorkerClient): void;
  /** A host was started; its first messages are sent here. */
  started(client: WorkerClient): void;
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

/** The name by which a worker of the classic script knows that it is one of ours. */
export const WORKER_NAME = 'cresset';

/** A host in this thread: in Node, and where a page may not start a worker. */
export function startInPage(reason: string, edition?: Edition): Placement {
  edition?.prepare();
  const [clientPort, hostPort] = inProcessPorts<Request, FromHost>();
  const host = serve(hostPort, edition?.handlers);
  const client = makeClient(clientPort, edition);
  const end = (): Promise<void> => {
    client.break(shutDown());
    return host.close();
  };
  return { client, thread: 'page', reason, end };
}

/**
 * A host in a worker, or in this thread where no worker can be started.
 *
 * @param example how this edition's worker is started from a place of one's own
 */
export async function startInWorker(startWorker: StartWorker, example: string, edition?: Edition): Promise<Placement> {
  if (typeof Worker === 'undefined') return startInPage('there are no workers here', edition);
  const inPageSince = (reason: string): Placement => {
    console.warn(
      `cresset: models run in the page's own thread, which they keep busy, since ${reason}. Serve the files of cresset's dist folder beside each other, or say where the worker is before the first model is loaded: setWorker(() => ${example}). "Where the worker is" in cresset's README has more`,
    );
    return startInPage(reason, edition);
  };
  let worker: Worker;
  try {
    worker = startWorker();
    if (typeof worker?.postMessage !== 'function') throw new TypeError('what setWorker was given returned no Worker');
  } catch (error) {
    // A script of another origin may not be a worker, and a Content-Security-Policy may forbid them.
    return inPageSince(`no worker could be started: ${error instanceof Error ? error.message : String(error)}`);
  }
  const port = portOf(worker);
  const client = makeClient(port, edition);
  const failure = await firstWord(worker);
  if (failure !== null) {
    worker.terminate();
    return inPageSince(`the worker did not start: ${failure}`);
  }
  port.hold?.(false);
  worker.addEventListener('error', (event) => {
    client.break(new CressetError('WORKER_FAILED', `the worker ended: ${event.message || 'no reason was given'}`));
  });
  const end = (): void => {
    client.break(shutDown());
    worker.terminate();
  };
  return { client, thread: 'worker', reason: '', end };
}

/** Makes this thread a host that talks through `port`, and says that it is ready. */
export function serve(port: Port<Request, FromHost>, handlers?: RequestHandlers): WorkerHost {
  const host = new WorkerHost(port, { openDevice: () => requestWebGpuDevice(), ...(handlers && { handlers }) });
  host.listen();
  return host;
}

/** The port of a worker's own global scope; what the compiler says there goes to the page too. */
export function scopePort(scope: DedicatedWorkerGlobalScope): Port<Request, FromHost> {
  setJitLogSink((text) => scope.postMessage({ type: 'log', text } satisfies FromHost));
  return {
    send: (message, transfer) => scope.postMessage(message, transfer),
    receive: (handler) => scope.addEventListener('message', (event) => handler((event as MessageEvent<Request>).data)),
  };
}

function portOf(worker: Worker & { ref?(): void; unref?(): void }): Port<FromHost, Request> {
  return {
    send: (message, transfer) => worker.postMessage(message, transfer),
    receive: (handler) => worker.addEventListener('message', (event: MessageEvent<FromHost>) => handler(event.data)),
    // Outside of browsers, a worker that nothing is asked of may not keep the process from ending.
    hold: (isNeeded) => (isNeeded ? worker.ref : worker.unref)?.call(worker),
  };
}

function makeClient(port: Port<FromHost, Request>, edition?: Edition): WorkerClient {
  const client = new WorkerClient(port, {
    onPrint: (text) => console.log(text),
    onWarning: (text) => console.warn(text),
    ...(edition && { onRunOperator: edition.runOperator }),
  });
  edition?.started(client);
  return client;
}

/** Resolves with null once the worker has spoken, or with why it did not. */
function firstWord(worker: Worker): Promise<string | null> {
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
  });
}
