// Takes corpora through the runner with their tensors tiled past the thresholds of the engine: three calls with everything switched on have to
// give what the program gives as it was compiled, by the kernels in TypeScript.
//   node scripts/check-tiled.mjs [CORPUS ...]     folders with cases (*.jsonl); jit, op, grad and legacy of ../shared/conformance by default
//   --sample N      only so many cases of each corpus, spread evenly
//   --device LIST   of webassembly, webassembly-relaxed, webassembly-threads, webgpu; webassembly and webgpu by default
//   --elements N    how many the largest tensor of a case gets at least (1300)
//   --workers N     processes at a time
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runToEnd } from './machine/process-group.mjs';

/** Exit status by which scripts/test.mjs knows a step that had nothing to work on. */
const skippedStatus = 77;
const shared = fileURLToPath(new URL('../../shared/conformance/', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    device: { type: 'string', default: 'webassembly,webgpu' },
    elements: { type: 'string', default: '1300' },
    workers: { type: 'string' },
  },
});
const corpora = positionals.length > 0 ? positionals : ['jit', 'op', 'grad', 'legacy'].map((name) => shared + name);
const missing = corpora.find((corpus) => !existsSync(corpus));
if (missing !== undefined) {
  console.log(`skipped: ${missing} is not here`);
  process.exit(skippedStatus);
}

const folder = mkdtempSync(join(tmpdir(), 'cresset-tiled-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

async function resultsOf(corpus, device) {
  const file = join(folder, 'results.json');
  const runner = ['-s', 'conformance', '--corpus', corpus, '--device', device, '--no-small-host', '--json', file];
  const tiling = ['--tiled', values.elements, '--repeat', '3', '--timeout', '300'];
  const given = ['sample', 'workers'].flatMap((name) =>
    values[name] === undefined ? [] : [`--${name}`, values[name]],
  );
  const { status, output } = await runToEnd('pnpm', [...runner, ...tiling, ...given], { quiet: true });
  if (status !== 0) throw new Error(`the conformance runner ended with status ${status}\n${output}`);
  return JSON.parse(readFileSync(file, 'utf8'));
}

for (const corpus of corpora) {
  for (const device of values.device.split(',')) {
    const results = await resultsOf(corpus, device);
    const different = results.filter(({ passed }) => !passed);
    const unfit = results.filter(({ unchecked }) => unchecked !== undefined).length;
    const same = results.length - different.length - unfit;
    console.log(`${corpus}, ${device}: ${same} same, ${different.length} different, ${unfit} that no tiling fits`);
    for (const { id, reason } of different) console.error(`${id}, ${device}: ${reason}`);
    if (different.length > 0) process.exitCode = 1;
  }
}
