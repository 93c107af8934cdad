import { abortable, throwIfAborted, type ByteSource, type TransferOptions } from './byte-source.ts';

/** Opens an address, and transfers what is needed for that. */
type Open = (address: string, options: TransferOptions) => Promise<ByteSource>;

/** Those under way, by what is opened. */
const openings = new Map<string, SharedOpening>();

/**
 * One transfer for all who open an address while it is being opened, and what is read of the file later goes by it too: progress is everybody's, and it
 * ends early where nobody wants it any more.
 */
class SharedOpening {
  readonly #abort = new AbortController();
  readonly #users = new Set<TransferOptions>();
  /** The source, or a share of it, of each. */
  readonly #opened: Promise<ReadonlyMap<TransferOptions, ByteSource>>;

  /** @param options of who comes first, who is also told of what the library fetches for it */
  constructor(
    private readonly key: string,
    open: Open,
    address: string,
    options: TransferOptions,
  ) {
    openings.set(key, this);
    const opened = open(address, {
      ...options,
      signal: this.#abort.signal,
      onProgress: (progress) => {
        for (const { onProgress } of this.#users) onProgress?.(progress);
      },
    });
    this.#opened = opened
      .finally(() => this.#end())
      .then((source) => new Map([...this.#users].map((user) => [user, source.share?.() ?? source])));
    this.#opened.catch(() => {});
  }

  /** Waits for it with others. */
  async join(options: TransferOptions): Promise<ByteSource> {
    const user = { ...options };
    const { signal } = user;
    this.#users.add(user);
    signal?.addEventListener('abort', () => this.#leave(user), { once: true });
    return (await abortable(this.#opened, signal)).get(user)!;
  }

  #leave(user: TransferOptions): void {
    this.#users.delete(user);
    if (this.#users.size > 0) return;
    this.#end();
    this.#abort.abort(user.signal!.reason);
  }

  /** Who comes later begins anew. */
  #end(): void {
    if (openings.get(this.key) === this) openings.delete(this.key);
  }
}

/** Opens an address together with those who are opening it too. Rejects as `open` does. */
export async function openTogether(open: Open, address: string, options: TransferOptions): Promise<ByteSource> {
  throwIfAborted(options.signal);
  // What is kept for later visits is asked for in another way.
  const key = `${options.cache ?? false} ${address}`;
  return (openings.get(key) ?? new SharedOpening(key, open, address, options)).join(options);
}
