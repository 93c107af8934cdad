// Takes files of TorchScript through Cresset: loads each, saves it, and compares what was saved with the original, here and in PyTorch.
//   node scripts/check-round-trip.mjs [CORPUS ...]    folders with cases (*.jsonl), ../shared/models by default
// Answers have to be equal bit for bit: those of Cresset on both files, and those of PyTorch on both. Code has to be the same when a
// saved file is loaded and saved once more. PYTHON names the interpreter that has PyTorch; where none has, that half is left out.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/** Exit status by which scripts/test.mjs knows a step that had nothing to work on. */
const skippedStatus = 77;
const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const corpora = process.argv.length > 2 ? process.argv.slice(2) : [path('../../shared/models')];
const missing = corpora.find((corpus) => !existsSync(corpus));
if (missing !== undefined) {
  console.log(`skipped: ${missing} is not here`);
  process.exit(skippedStatus);
}

const folder = mkdtempSync(join(tmpdir(), 'cresset-round-trip-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const outDir = join(folder, 'bundle');
await build({ configFile: path('../vite.config.ts'), mode: 'round-trip', logLevel: 'error', build: { outDir } });
const run = (command, args) => spawnSync(command, args, { stdio: 'inherit' }).status ?? 1;
const options = ['--enable-source-maps', '--max-old-space-size=6144', '--stack-size=4000'];
const saved = join(folder, 'saved');
const inCresset = run(process.execPath, [...options, join(outDir, 'round-trip.js'), '--out', saved, ...corpora]);

const python = process.env.PYTHON ?? 'python3';
const hasTorch = spawnSync(python, ['-c', 'import torch'], { stdio: 'ignore' }).status === 0;
if (!hasTorch) console.log(`PyTorch: left out, since ${python} has no torch; PYTHON names another interpreter`);
const inTorch = hasTorch ? run(python, [path('check-round-trip.py'), join(saved, 'saved.json')]) : 0;
process.exitCode = inCresset === 0 && inTorch === 0 ? 0 : 1;
