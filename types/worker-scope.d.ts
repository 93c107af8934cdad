// The DOM library describes the page; loading the WebWorker library beside it gives two meanings to every shared name.
// These are the few names that exist only inside a dedicated worker and that the library uses.

interface WorkerGlobalScope extends EventTarget {
  readonly location: Location;
  readonly self: WorkerGlobalScope;
}

interface DedicatedWorkerGlobalScope extends WorkerGlobalScope {
  readonly name: string;
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown, transfer?: Transferable[]): void;
  close(): void;
}

declare var WorkerGlobalScope: { readonly prototype: WorkerGlobalScope; new (): WorkerGlobalScope } | undefined;

declare var DedicatedWorkerGlobalScope:
  | { readonly prototype: DedicatedWorkerGlobalScope; new (): DedicatedWorkerGlobalScope }
  | undefined;
