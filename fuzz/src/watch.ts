import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ChildMessage } from './message.ts';

/** The engine's heap; a child that needs more ends, and that is a failure of the case it was at. */
const HEAP_MEGABYTES = 256;

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

/** The time a process has computed: a machine under load gives it less than the clock says. NaN where that is not known. */
function busyMilliseconds(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
  } catch {
    return NaN;
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
    let hangs = false;
    let isDone = false;
    const timer = setTimeout(() => {
      hangs = true;
      child.kill('SIGKILL');
    }, 30_000);
    createInterface(child.stdout).on('line', (line) => {
      const message = JSON.parse(line) as ChildMessage;
      if ('begin' in message) current = message.begin;
      else if ('done' in message) isDone = true;
      else options.onMessage(message);
      // The first message comes once the library is loaded, which is no case's time.
      clearTimeout(timer);
      watchdog(message);
    });
    let alarm: NodeJS.Timeout | undefined;
    const watchdog = (message: ChildMessage): void => {
      clearTimeout(alarm);
      if (!('begin' in message)) return;
      const busyBefore = busyMilliseconds(child.pid);
      let patience = 10;
      const look = (): void => {
        const busy = busyMilliseconds(child.pid) - busyBefore;
        hangs = !(busy < limitMilliseconds) || --patience === 0;
        if (hangs) child.kill('SIGKILL');
        else alarm = setTimeout(look, limitMilliseconds);
      };
      alarm = setTimeout(look, limitMilliseconds);
    };
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      clearTimeout(alarm);
      if (isDone) return resolve(null);
      const reason = hangs ? `no answer after ${limitMilliseconds} ms` : `the process ended (${signal ?? code})`;
      resolve({ seed: current, reason });
    });
  });
}
