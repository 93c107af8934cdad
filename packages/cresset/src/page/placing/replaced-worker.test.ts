import { afterEach, expect, it, vi } from 'vitest';
import { failure } from '../../../../../test-setup/failure.ts';
import { Library } from '../library.ts';
import { engineFiles } from './engine-files.ts';

/** A worker that begins, and answers nothing. */
class SilentWorker extends EventTarget {
  constructor() {
    super();
    setTimeout(() => this.dispatchEvent(Object.assign(new Event('message'), { data: { type: 'ready' } })), 0);
  }

  postMessage(): void {}
  terminate(): void {}
  end(message: string): void {
    this.dispatchEvent(Object.assign(new Event('error'), { message }));
  }
}

afterEach(() => vi.unstubAllGlobals());

it('a worker that ended is replaced when the next model is loaded', async () => {
  vi.stubGlobal('Worker', SilentWorker);
  const workers: SilentWorker[] = [];
  const started = vi.fn();
  const library = new Library(engineFiles, { runOperator: () => {}, started });
  library.setWorker(() => {
    workers.push(new SilentWorker());
    return workers.at(-1) as unknown as Worker;
  });
  const first = await library.placement(true);
  const waiting = failure(first.client.request('memory', { type: 'memory' }));
  expect(await library.placement(true)).toBe(first);
  workers[0].end('out of memory');
  expect(await waiting).toMatchObject({
    code: 'WORKER_FAILED',
    message: 'the worker ended (out of memory): load the model again',
  });
  expect((await failure(first.client.request('memory', { type: 'memory' }))).code).toBe('WORKER_FAILED');

  const second = await library.placement(true);
  expect(second).not.toBe(first);
  expect(workers).toHaveLength(2);
  // What the page has registered is told to each.
  expect(started.mock.calls.map(([client]) => client as unknown)).toEqual([first.client, second.client]);
  // The end of the first one is nothing to the second.
  workers[0].end('once more');
  expect(await library.placement(true)).toBe(second);
  await library.shutdown();
});
