import { version } from '@cresset/ir';
import type { ChoiceStore } from '@cresset/tensorexpr';

/** What the browser's Cache API knows them by. */
const cacheName = 'cresset schedules';
/** No server has this name: nothing is asked for at the address, which names what is kept. */
const root = 'https://schedules.cresset.invalid/';

/** What this thread has measured, by address: all there is where nothing can be kept, as in Node. */
const ofThread = new Map<string, string>();

/** An adapter as the browser tells of it. */
type Adapter = Partial<Pick<GPUAdapterInfo, 'vendor' | 'architecture' | 'device' | 'description'>>;

/** Choices for one adapter, in this version of the library: those of another stand at another address and are never read. */
export class KeptChoices implements ChoiceStore {
  readonly #address: string;

  constructor({ vendor, architecture, device, description }: Adapter, otherName: string) {
    const names = [vendor, architecture, device, description].map((name) => name ?? '');
    const adapter = names.some((name) => name !== '') ? names : [otherName];
    this.#address = root + [version, ...adapter].map(encodeURIComponent).join('/');
  }

  async read(): Promise<string | null> {
    const known = ofThread.get(this.#address);
    if (known !== undefined) return known;
    try {
      const kept = await (await caches.open(cacheName)).match(this.#address);
      return (await kept?.text()) ?? null;
    } catch {
      // No Cache API, or not for this page.
      return null;
    }
  }

  async write(text: string): Promise<void> {
    ofThread.set(this.#address, text);
    try {
      await (await caches.open(cacheName)).put(this.#address, new Response(text));
    } catch {
      // As above, or there is no room.
    }
  }
}
