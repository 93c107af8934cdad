import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { denoPath, vulkanEnvironment } from '../../../scripts/machine/gpu-lanes.mjs';
import type { CaseReference, CaseResult } from '../cases/case.ts';
import type { Options } from './command-line.ts';
import { settingsOf } from './runner-settings.ts';

/** What the pool tells a worker process, and back: one case at a time. */
export type WorkerRequest = { readonly reference: CaseReference };
export type WorkerReply = { readonly ready: true } | { readonly result: CaseResult };

type Outcome = { readonly result: CaseResult } | { readonly failure: string };

const script = fileURLToPath(new URL('./worker.js', import.meta.url));

/**
 * Runs cases in child processes, so that one that hangs or crashes costs itself only: its process is ended and another
 * takes over. Results come in the order of the cases.
 */
export async function runInProcesses(cases: readonly CaseReference[], options: Options): Promise<CaseResult[]> {
  const results = new Array<CaseResult>(cases.length);
  let next = 0;
  const lane = async (): Promise<void> => {
    let child: ChildProcess | null = null;
    while (next < cases.length) {
      const at = next++;
      child ??= await start(options);
      const reply = await runOne(child, cases[at], options.timeout);
      if ('result' in reply) results[at] = reply.result;
      else {
        const { id, suite } = cases[at];
        results[at] = { id, suite, passed: false, reason: reply.failure };
        child.kill('SIGKILL');
        child = null;
      }
    }
    child?.kill();
  };
  await Promise.all(Array.from({ length: Math.min(options.workers, cases.length) }, lane));
  return results;
}

async function start(options: Options): Promise<ChildProcess> {
  if (options.deno && !denoPath) throw new Error('there is no deno here (pnpm run setup unpacks it)');
  // Node 20 has these instructions behind a flag.
  const relaxed = options.device === 'webassembly-relaxed' ? ['--experimental-wasm-relaxed-simd'] : [];
  const engine = options.deno
    ? { execPath: denoPath, execArgv: ['run', '--allow-all', '--v8-flags=--max-old-space-size=6144,--stack-size=4000'] }
    : { execArgv: ['--max-old-space-size=6144', '--stack-size=4000', ...relaxed] };
  const child = fork(script, [JSON.stringify(settingsOf(options)), options.dumpShaders ?? ''], {
    env: { ...process.env, ...vulkanEnvironment },
    // The Vulkan driver talks on stderr; a crash shows as the end of the process.
    stdio: ['ignore', 'ignore', process.env.CONFORMANCE_STDERR ? 'inherit' : 'ignore', 'ipc'],
    ...engine,
  });
  // A process that cannot even start would fail every case alike: that is an error of the runner.
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', () => reject(new Error('a worker process did not start; CONFORMANCE_STDERR=1 shows why')));
  });
  child.removeAllListeners('exit');
  return child;
}

function runOne(child: ChildProcess, reference: CaseReference, seconds: number): Promise<Outcome> {
  return new Promise((resolve) => {
    const settle = (answer: Outcome): void => {
      clearTimeout(timer);
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(answer);
    };
    const onMessage = (reply: unknown): void => settle(reply as Outcome);
    const onExit = (code: number | null, signal: string | null): void =>
      settle({ failure: `the process ended (${signal ?? code})` });
    const timer = setTimeout(() => settle({ failure: `no result after ${seconds} s` }), seconds * 1000);
    child.on('message', onMessage);
    child.on('exit', onExit);
    child.send({ reference } satisfies WorkerRequest);
  });
}
