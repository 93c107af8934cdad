import type { Port } from './wire/protocol.ts';

/**
 * Two ends of a channel within one thread, for a host without a worker: in Node, in tests, or where a page may not start one.
 * Messages arrive in order and never during `send`, as between threads; their contents are handed over as they are.
 */
export function inProcessPorts<ToHost, FromHost>(): readonly [
  client: Port<FromHost, ToHost>,
  host: Port<ToHost, FromHost>,
] {
  const toHost = new Lane<ToHost>();
  const toClient = new Lane<FromHost>();
  return [
    { send: (message) => toHost.put(message), receive: (handler) => toClient.take(handler) },
    { send: (message) => toClient.put(message), receive: (handler) => toHost.take(handler) },
  ];
}

class Lane<Message> {
  #handler: ((message: Message) => void) | null = null;
  #waiting: Message[] = [];

  put(message: Message): void {
    const handler = this.#handler;
    if (handler) queueMicrotask(() => handler(message));
    else this.#waiting.push(message);
  }

  take(handler: (message: Message) => void): void {
    this.#handler = handler;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) this.put(message);
  }
}
