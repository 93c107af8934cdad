// Runs one command in a process group of its own, so that whatever it starts ends with it.
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const windows = process.platform === 'win32';
const timeToEndByItself = 10_000;

function signalGroup(pid, signal) {
  try {
    process.kill(windows ? pid : -pid, signal);
  } catch {
    // It has ended already.
  }
}

/**
 * Runs a command of this workspace (node_modules/.bin is on its PATH) and waits for it; what it left running is ended.
 * @param {string} command
 * @param {string[]} args
 * @param {{ environment?: Record<string, string>, folder?: string, limitMilliseconds?: number, quiet?: boolean, mute?: boolean,
 *   signal?: AbortSignal }} [options] `folder` is where it runs, with the commands of its node_modules before those of this workspace;
 *   `quiet` keeps what it writes as `output`, `mute` what it complains of as well; `signal` ends it
 * @returns {Promise<{ status: number | null, timedOut: boolean, output: string }>}
 */
export function runToEnd(command, args, options = {}) {
  const { environment = {}, folder = root, limitMilliseconds = 0, mute = false, quiet = mute, signal } = options;
  return new Promise((resolve, reject) => {
    const tools = [...new Set([folder, root])].map((place) => join(place, 'node_modules', '.bin'));
    const path = [...tools, process.env.PATH].join(delimiter);
    const child = spawn(command, args, {
      cwd: folder,
      detached: !windows,
      shell: windows,
      env: { ...process.env, ...environment, PATH: path },
      // Some servers stop when nobody could type to them any more.
      stdio: [signal ? 'pipe' : 'ignore', quiet ? 'pipe' : 'inherit', mute ? 'pipe' : 'inherit'],
    });
    let output = '';
    let timedOut = false;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += text));

    // A group of its own does not hear the terminal's Ctrl-C.
    let interrupted = false;
    const passOn = (signal) => {
      interrupted = true;
      signalGroup(child.pid, signal);
    };
    process.on('SIGINT', passOn).on('SIGTERM', passOn);
    const timers = [];
    signal?.addEventListener('abort', () => signalGroup(child.pid, 'SIGKILL'), { once: true });
    if (limitMilliseconds > 0) {
      timers.push(
        setTimeout(() => {
          timedOut = true;
          // An interrupt first: test runners then close their browsers and servers.
          signalGroup(child.pid, 'SIGINT');
          timers.push(setTimeout(() => signalGroup(child.pid, 'SIGKILL'), timeToEndByItself));
        }, limitMilliseconds),
      );
    }
    const finish = () => {
      timers.forEach(clearTimeout);
      process.off('SIGINT', passOn).off('SIGTERM', passOn);
      if (child.pid) signalGroup(child.pid, 'SIGKILL');
      if (interrupted) process.exit(130);
    };
    child.on('error', (error) => {
      finish();
      reject(error);
    });
    child.on('exit', (status) => {
      finish();
      resolve({ status, timedOut, output });
    });
  });
}
