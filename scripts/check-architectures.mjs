// Makes TorchScript files of many architectures and of every torch.nn module in PyTorch, and runs them here on host and WebGPU.
//   PYTHON=... node scripts/check-architectures.mjs [LIBRARY ...] [--out FOLDER] [--workers N]
// LIBRARY is torchvision, timm, torchaudio, transformers or torch_nn; without one, all. PYTHON names an interpreter that has PyTorch and
// the libraries; one that it lacks is left out, by name. FOLDER keeps what was made (some gigabytes); what it holds is not made again.
// N processes compare at a time, as many as there are cores without it; each holds a model.
// Not part of `npm test`: it takes an hour, and libraries that the project doesn't have.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runToEnd } from './machine/process-group.mjs';

const minutes = 60_000;
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' }, workers: { type: 'string' } },
});
const all = ['torchvision', 'timm', 'torchaudio', 'transformers', 'torch_nn'];
const unknown = positionals.find((library) => !all.includes(library));
if (unknown !== undefined) throw new Error(`no such library: ${unknown}; there are ${all.join(', ')}`);
const libraries = positionals.length > 0 ? positionals : all;

const folder = options.out ?? mkdtempSync(join(tmpdir(), 'cresset-architectures-'));
if (options.out === undefined) process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const python = process.env.PYTHON ?? 'python3';
const make = fileURLToPath(new URL('architectures/make.py', import.meta.url));
const workers = options.workers === undefined ? [] : ['--workers', options.workers];
const devices = [
  { name: 'host', args: ['--device', 'cpu'] },
  { name: 'WebGPU', args: ['--device', 'webgpu', '--no-small-host'] },
];

function makeFiles(library) {
  // Answers do not depend on the number of threads, and one leaves room for whatever else runs.
  const environment = { ...process.env, OMP_NUM_THREADS: '1' };
  const { status } = spawnSync(python, [make, folder, library], { stdio: 'inherit', env: environment });
  if (status !== 0)
    throw new Error(`${python} could not make the files of ${library}; PYTHON names another interpreter`);
}

/** What PyTorch itself can't script, trace, freeze or save: no case, and named. */
function printRefused(library) {
  const refused = JSON.parse(readFileSync(join(folder, library, 'refused.json'), 'utf8'));
  for (const [architecture, forms] of Object.entries(refused)) {
    const reasons = Object.entries(forms).map(([form, reason]) => `${form}: ${reason}`);
    console.log(`PyTorch refuses ${library}/${architecture}\n  ${reasons.join('\n  ')}`);
  }
}

const rows = [];
for (const library of libraries) {
  const made = () => existsSync(join(folder, library, 'refused.json'));
  if (!made()) makeFiles(library);
  if (!made()) continue;
  printRefused(library);
  for (const { name, args } of devices) {
    const command = ['-s', 'conformance', '--corpus', join(folder, library), ...args, ...workers, '--timeout', '300'];
    const { output } = await runToEnd('pnpm', [...command, '--verbose'], {
      limitMilliseconds: 120 * minutes,
      quiet: true,
    });
    console.log(output);
    const total = /^TOTAL: (\d+) cases, (\d+) passed, (\d+) failed$/m.exec(output);
    rows.push({ library, device: name, files: Number(total?.[1] ?? 0), right: Number(total?.[2] ?? 0) });
    if (!total || total[3] !== '0') process.exitCode = 1;
  }
}
console.table(rows);
