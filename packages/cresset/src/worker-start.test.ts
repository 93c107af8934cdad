import { afterEach, describe, expect, it, vi } from 'vitest';
import { startInWorker } from './worker-start.ts';

/** A worker that ends before it says anything. */
class SilentWorker extends EventTarget {
  constructor() {
    super();
    setTimeout(() => this.dispatchEvent(Object.assign(new Event('error'), { message: 'its file is missing' })), 0);
  }

  postMessage(): void {}
  terminate(): void {}
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('startInWorker', () => {
  it('runs in the page where the browser allows no worker, and says so', async () => {
    const said = vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.stubGlobal('Worker', SilentWorker);
    const placement = await startInWorker(() => {
      throw new Error('cannot be accessed from this origin');
    });
    expect(placement).toMatchObject({ thread: 'page', reason: expect.stringContaining('this origin') });
    expect(said).toHaveBeenCalledWith(expect.stringContaining("the page's own thread"));
    const { report } = await placement.client.request('memory', { type: 'memory' });
    expect(report.models).toBe(0);
  });

  it('runs in the page where the worker does not come up', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.stubGlobal('Worker', SilentWorker);
    const placement = await startInWorker(() => new SilentWorker() as unknown as Worker);
    expect(placement).toMatchObject({ thread: 'page', reason: 'the worker did not start: its file is missing' });
  });
});
