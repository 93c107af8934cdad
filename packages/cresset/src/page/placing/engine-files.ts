import type * as Engine from '../../engine.ts';

/** The library's other files, seen from the page. */
export interface EngineFiles {
  /** Starts a worker with the engine in it. Throws where the browser does not let it. */
  startWorker(): Worker;
  /** Where the engine's file is; null where that makes no sense here. Throws where the page does not know its own address. */
  engineAddress(): string | null;
  /** The text of the engine, for a page whose bundler has moved it away from its files; null where there is none. */
  readonly engineText: (() => Promise<string>) | null;
  /** The engine in this thread. */
  importEngine(): Promise<typeof Engine>;
  /** Where the parts are that the engine fetches when a program needs them, by file name. */
  partAddresses(): Readonly<Record<string, string>>;
}

/** As they are in the source; in what is published, `published-files.ts` takes the place of this. */
export const engineFiles: EngineFiles = {
  startWorker: () => new Worker(new URL('../../engine.ts', import.meta.url), { type: 'module' }),
  engineAddress: () => null,
  engineText: null,
  importEngine: () => import('../../engine.ts'),
  // The engine's own imports lead there.
  partAddresses: () => ({}),
};
