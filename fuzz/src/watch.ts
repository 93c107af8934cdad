import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ChildMessage } from './message.ts';

/** The engine's heap; a child that needs more ends, and that is a failure of the case it was at. */
const HEAP_MEGABYTES = 256;
/** What a child may compute before its first case, and for making an input: packing one that unpacks to much takes seconds. */
const OWN_MILLISECONDS = 30_000;
/** A child that was looked at so often, and had computed nothing in between, waits for something that never comes. */
const PATIENCE = 5;

export interface WatchOptions {
  readonly script: string;
  readonly seedFolder: string;
  readonly first: number;
  readonly last: number;
  /** Every how manieth seed is taken: lanes share a range. */
  readonly step: number;
  /** A case that computes for longer hangs. */
  readonly limitMilliseconds: number;
  onMessage(message: ChildMessage): void;
}

/** Takes a range of seeds in child processes; one that hangs or dies fails its case, and another goes on after it. */
export async function watchRange(options: WatchOptions): Promise<void> {
  let next = options.first;
  const away = (): boolean => (options.step > 0 ? next <= options.last : next >= options.last);
  while (away()) {
    const stopped = await watchChild({ ...options, first: next });
    if (stopped === null) return;
    options.onMessage({ failed: stopped.seed, target: '', reason: stopped.reason });
    next = stopped.seed + options.step;
  }
}

/** Clock ticks a second in /proc, whatever the kernel's own. */
const TICKS = 100;

const computingIsTold = existsSync('/proc/self/stat');

/**
 * The time a process has computed: a machine under load gives it less than the clock says, which counts where that is not known. Null for one
 * that has ended.
 */
function busyMilliseconds(pid: number | undefined): number | null {
  if (!computingIsTold) return performance.now();
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
  } catch {
    return null;
  }
}

/** Null where all was taken; else the case at which the child ended. */
function watchChild(options: WatchOptions): Promise<{ seed: number; reason: string } | null> {
  const { script, seedFolder, first, last, step, limitMilliseconds } = options;
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${HEAP_MEGABYTES}`,
      '--enable-source-maps',
      script,
      seedFolder,
      `${first}`,
      `${last}`,
      `${step}`,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  return new Promise((resolve) => {
    let current = first;
    let hang: string | null = null;
    let isDone = false;
    let alarm: NodeJS.Timeout | undefined;
    let ending: NodeJS.Immediate | undefined;
    const callOff = (): void => {
      clearTimeout(alarm);
      clearImmediate(ending);
    };
    /** Ends the child once it has computed for so long, or does nothing at all. */
    const watchdog = (limit: number): void => {
      callOff();
      const start = busyMilliseconds(child.pid) ?? 0;
      let last = start;
      let patience = PATIENCE;
      const look = (): void => {
        const busy = busyMilliseconds(child.pid);
        if (busy === null) return;
        // However little of the machine it gets, a child that has something to do gets on.
        patience = busy > last ? PATIENCE : patience - 1;
        last = busy;
        if (!(busy - start < limit)) end(`no answer after ${Math.round(busy - start)} ms of computing`);
        else if (patience === 0) end(`no answer, and nothing computed for ${PATIENCE * limitMilliseconds} ms`);
        else alarm = setTimeout(look, limitMilliseconds);
      };
      /** After what was said meanwhile is read: where this process did not get its turn, the child may be many cases on. */
      const end = (reason: string): void => {
        ending = setImmediate(() => {
          hang = reason;
          child.kill('SIGKILL');
        });
      };
      alarm = setTimeout(look, limitMilliseconds);
    };
    createInterface(child.stdout).on('line', (line) => {
      const message = JSON.parse(line) as ChildMessage;
      if ('begin' in message) current = message.begin;
      else if ('done' in message) isDone = true;
      else if (!('made' in message)) options.onMessage(message);
      if ('begin' in message) watchdog(OWN_MILLISECONDS);
      else if ('made' in message) watchdog(limitMilliseconds);
      else callOff();
    });
    // The first message comes once the library is loaded, which is no case's time.
    watchdog(OWN_MILLISECONDS);
    child.on('close', (code, signal) => {
      callOff();
      if (isDone) return resolve(null);
      resolve({ seed: current, reason: hang ?? `the process ended (${signal ?? code})` });
    });
  });
}
