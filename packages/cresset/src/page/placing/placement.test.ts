import { version } from '@cresset/ir';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { failure } from '../../../../../test-setup/failure.ts';
import { engineFiles } from './engine-files.ts';
import { startInWorker } from './placement.ts';

/** A worker that ends before it says anything. */
class SilentWorker extends EventTarget {
  constructor() {
    super();
    setTimeout(() => this.dispatchEvent(Object.assign(new Event('error'), { message: 'its file is missing' })), 0);
  }

  postMessage(): void {}
  terminate(): void {}
}

const listener = { runOperator: () => {}, started: () => {} };

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('startInWorker', () => {
  it('runs in the page where the browser allows no worker, and says so', async () => {
    const said = vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.stubGlobal('Worker', SilentWorker);
    const placement = await startInWorker(
      () => {
        throw new Error('cannot be accessed from this origin');
      },
      engineFiles,
      listener,
      null,
    );
    expect(placement).toMatchObject({ thread: 'page', reason: expect.stringContaining('this origin') });
    expect(said).toHaveBeenCalledWith(expect.stringContaining("the page's own thread"));
    expect(said).toHaveBeenCalledWith(expect.stringContaining(`setWorker(() => new Worker(`));
    const { report } = await placement.client.request('memory', { type: 'memory' });
    expect(report.models).toBe(0);
  });

  it('tells the engine where the first program runs, and whole addresses, where a bundler has put paths', async () => {
    const told: unknown[] = [];
    class ListeningWorker extends EventTarget {
      postMessage(message: unknown): void {
        told.push(message);
        setTimeout(() => this.dispatchEvent(Object.assign(new Event('message'), { data: { type: 'ready' } })), 0);
      }
    }
    vi.stubGlobal('Worker', ListeningWorker);
    vi.stubGlobal('location', { href: 'https://page.test/app/index.html' });
    const files = {
      ...engineFiles,
      startWorker: () => new Worker(''),
      engineAddress: () => '/static/engine.1.js',
      partAddresses: () => ({ 'part-x.js': '/static/part-x.2.js', 'part-y.js': 'https://cdn.test/part-y.js' }),
    };
    expect((await startInWorker(null, files, listener, 'cpu')).thread).toBe('worker');
    expect(told[0]).toEqual({
      type: 'cresset:start',
      version,
      parts: { 'part-x.js': 'https://page.test/static/part-x.2.js', 'part-y.js': 'https://cdn.test/part-y.js' },
      device: 'cpu',
    });
  });

  it('runs in the page where the worker does not come up', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.stubGlobal('Worker', SilentWorker);
    const placement = await startInWorker(() => new SilentWorker() as unknown as Worker, engineFiles, listener, null);
    expect(placement).toMatchObject({ thread: 'page', reason: 'the worker did not start: its file is missing' });
  });

  it('says so where setWorker was given something that starts none', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.stubGlobal('Worker', SilentWorker);
    const placement = await startInWorker(() => undefined as unknown as Worker, engineFiles, listener, null);
    expect(placement.reason).toContain('returned no Worker');
  });

  it('keeps the process only while an answer is waited for, and ends the worker', async () => {
    const calls: string[] = [];
    class EchoWorker extends EventTarget {
      constructor() {
        super();
        setTimeout(() => this.#say({ type: 'ready' }), 0);
      }
      #say(data: unknown): void {
        this.dispatchEvent(Object.assign(new Event('message'), { data }));
      }
      postMessage({ id }: { id?: number }): void {
        if (id !== undefined && id < 3) setTimeout(() => this.#say({ type: 'done', id }), 0);
      }
      ref = (): unknown => calls.push('ref');
      unref = (): unknown => calls.push('unref');
      terminate = (): unknown => calls.push('terminate');
    }
    vi.stubGlobal('Worker', EchoWorker);
    const { client, end } = await startInWorker(
      () => new EchoWorker() as unknown as Worker,
      engineFiles,
      listener,
      null,
    );
    expect(calls.splice(0)).toEqual(['unref']);
    await Promise.all([1, 2].map((model) => client.request('done', { type: 'dispose', model })));
    expect(calls.splice(0)).toEqual(['ref', 'unref']);
    const waiting = failure(client.request('memory', { type: 'memory' }));
    await end();
    expect((await waiting).code).toBe('SHUT_DOWN');
    expect(calls).toEqual(['ref', 'unref', 'terminate']);
    await client.request('done', { type: 'dispose', model: 1 });
    expect((await failure(client.request('memory', { type: 'memory' }))).code).toBe('SHUT_DOWN');
  });

  it('keeps a process of Deno only while an answer is waited for', async () => {
    const calls: boolean[] = [];
    const keep = Symbol();
    class DenoWorker extends EventTarget {
      constructor() {
        super();
        setTimeout(() => this.#say({ type: 'ready' }), 0);
      }
      #say(data: unknown): void {
        this.dispatchEvent(Object.assign(new Event('message'), { data }));
      }
      postMessage({ id }: { id?: number }): void {
        if (id !== undefined) setTimeout(() => this.#say({ type: 'done', id }), 0);
      }
      [keep](isNeeded: boolean): void {
        calls.push(isNeeded);
      }
    }
    vi.stubGlobal('Deno', {});
    vi.stubGlobal('Worker', DenoWorker);
    const { client } = await startInWorker(() => new DenoWorker() as unknown as Worker, engineFiles, listener, null);
    await client.request('done', { type: 'dispose', model: 1 });
    expect(calls).toEqual([false, true, false]);
  });
});
