/** What environments have beside timers: browsers let those that follow each other wait four milliseconds each. */
const { setImmediate, scheduler } = globalThis as {
  setImmediate?: (task: () => void) => unknown;
  scheduler?: { postTask?(task: () => void): Promise<void> };
};

const waiting: (() => void)[] = [];
let channel: MessageChannel | null = null;

function throughChannel(task: () => void): void {
  if (!channel) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => waiting.shift()!();
  }
  waiting.push(task);
  channel.port2.postMessage(null);
}

/** Calls `task` when what waits in the event loop has had its turn. */
export function onNextTurn(task: () => void): void {
  if (setImmediate) setImmediate(task);
  else if (scheduler?.postTask) void scheduler.postTask(task);
  else if (typeof MessageChannel === 'function') throughChannel(task);
  // A worklet has no turns of its own.
  else void Promise.resolve().then(task);
}

export const nextTurn = (): Promise<void> => new Promise(onNextTurn);
