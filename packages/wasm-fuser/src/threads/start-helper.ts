import type { HelperStart } from './help.ts';

/** A thread that was started. */
export interface Helper {
  terminate(): void;
}

interface NodeWorker extends Helper {
  postMessage(message: unknown): void;
  unref(): void;
  on(event: 'error', listener: () => void): void;
}

interface NodeProcess {
  getBuiltinModule?(name: 'node:worker_threads'): {
    readonly Worker: new (text: string, options: { eval: true }) => NodeWorker;
  };
}

/** Starts a thread with the text of a function. One that may not start, as a page's policy says, is one that never helps. */
export function startHelper(help: (start: HelperStart) => void, start: HelperStart): Helper {
  const { process } = globalThis as { process?: NodeProcess };
  const threads = process?.getBuiltinModule?.('node:worker_threads');
  try {
    if (threads) {
      const text = `require('node:worker_threads').parentPort.once('message', ${help})`;
      const worker = new threads.Worker(text, { eval: true });
      worker.on('error', () => undefined);
      worker.unref();
      worker.postMessage(start);
      return worker;
    }
    const address = URL.createObjectURL(new Blob([`onmessage = ({ data }) => (${help})(data)`]));
    const worker = new Worker(address);
    worker.addEventListener('error', (event) => event.preventDefault());
    worker.postMessage(start);
    return worker;
  } catch {
    return { terminate: () => undefined };
  }
}
