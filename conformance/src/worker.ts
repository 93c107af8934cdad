import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CaseRunner } from './cases/case-runner.ts';
import { openHostDevice } from './runner/host-device.ts';
import { openNodeDevice } from './runner/node-device.ts';
import type { WorkerReply, WorkerRequest } from './runner/process-pool.ts';
import type { RunnerSettings } from './runner/runner-settings.ts';
import { ShaderFolder } from './runner/shader-folder.ts';

const [json, shaderPath] = process.argv.slice(2);
const settings = JSON.parse(json) as RunnerSettings;
const gpu = settings.device === 'webgpu' ? await openNodeDevice(settings) : null;
const device = gpu ?? (await openHostDevice(settings));
const limits = settings.smallHost ? {} : { smallWork: -1 };
const runner = new CaseRunner({ device, limits }, settings.checks, settings);
const shaders = shaderPath && gpu ? new ShaderFolder(shaderPath, gpu) : null;

// Corpora are large and cases of one file come one after the other: keep the lines of the last file.
let loaded: { file: string; lines: string[] } | null = null;
// What lies beside them too, as far as it is not much: whole models are needed once.
const keptBytes = 64 << 20;
const sidecars = new Map<string, Uint8Array>();

async function linesOf(file: string): Promise<string[]> {
  if (loaded?.file !== file) {
    loaded = { file, lines: (await readFile(file, 'utf8')).split('\n') };
    sidecars.clear();
  }
  return loaded.lines;
}

process.on('message', async ({ reference }: WorkerRequest) => {
  const lines = await linesOf(reference.file);
  const readBeside = async (path: string): Promise<Uint8Array> => {
    const known = sidecars.get(path);
    if (known) return known;
    const bytes = await readFile(join(dirname(reference.file), path));
    const kept = [...sidecars.values()].reduce((sum, { byteLength }) => sum + byteLength, bytes.byteLength);
    if (kept <= keptBytes) sidecars.set(path, bytes);
    return bytes;
  };
  const result = await runner.run(JSON.parse(lines[reference.line]), readBeside);
  await shaders?.save();
  process.send?.({ result } satisfies WorkerReply);
});

process.send?.({ ready: true } satisfies WorkerReply);
