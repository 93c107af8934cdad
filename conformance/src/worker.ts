import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Check } from './case.ts';
import { CaseRunner } from './case-runner.ts';
import { openNodeDevice } from './node-device.ts';
import type { WorkerReply, WorkerRequest } from './process-pool.ts';

const [deviceName, checks] = process.argv.slice(2);
const device = deviceName === 'webgpu' ? await openNodeDevice() : null;
const runner = new CaseRunner(device, checks.split(',') as Check[]);

// Corpora are large and cases of one file come one after the other: keep the lines of the last file.
let loaded: { file: string; lines: string[] } | null = null;
const sidecars = new Map<string, Promise<Uint8Array>>();

async function linesOf(file: string): Promise<string[]> {
  if (loaded?.file !== file) {
    loaded = { file, lines: (await readFile(file, 'utf8')).split('\n') };
    sidecars.clear();
  }
  return loaded.lines;
}

process.on('message', async ({ reference }: WorkerRequest) => {
  const lines = await linesOf(reference.file);
  const readBeside = (path: string): Promise<Uint8Array> => {
    let bytes = sidecars.get(path);
    if (!bytes) sidecars.set(path, (bytes = readFile(join(dirname(reference.file), path))));
    return bytes;
  };
  const result = await runner.run(JSON.parse(lines[reference.line]), readBeside);
  process.send?.({ result } satisfies WorkerReply);
});

process.send?.({ ready: true } satisfies WorkerReply);
