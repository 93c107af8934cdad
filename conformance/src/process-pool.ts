import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { vulkanEnvironment } from '../../scripts/gpu-lanes.mjs';
import type { CaseReference, CaseResult } from './case.ts';
import type { Options } from './command-line.ts';

/** What the pool tells a worker process, and back: one case at a time. */
export type WorkerRequest = { readonly reference: CaseReference };
export type WorkerReply = { readonly result: CaseResult };

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
      child ??= start(options);
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

function start(options: Options): ChildProcess {
  return fork(script, [options.device, options.checks.join(',')], {
    env: { ...process.env, ...vulkanEnvironment },
    // The Vulkan driver talks on stderr; a crash shows as the end of the process.
    stdio: ['ignore', 'ignore', process.env.CONFORMANCE_STDERR ? 'inherit' : 'ignore', 'ipc'],
    execArgv: ['--max-old-space-size=6144', '--stack-size=4000'],
    serialization: 'advanced',
  });
}

function runOne(
  child: ChildProcess,
  reference: CaseReference,
  seconds: number,
): Promise<WorkerReply | { readonly failure: string }> {
  return new Promise((resolve) => {
    const settle = (answer: WorkerReply | { readonly failure: string }): void => {
      clearTimeout(timer);
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(answer);
    };
    const onMessage = (reply: unknown): void => settle(reply as WorkerReply);
    const onExit = (code: number | null, signal: string | null): void =>
      settle({ failure: `the process ended (${signal ?? code})` });
    const timer = setTimeout(() => settle({ failure: `no result after ${seconds} s` }), seconds * 1000);
    child.on('message', onMessage);
    child.on('exit', onExit);
    child.send({ reference } satisfies WorkerRequest);
  });
}
