// Takes corpora through every executor: each case has to have the verdict that it has with the JIT off.
//   node scripts/check-executors.mjs [CORPUS ...]     folders with cases (*.jsonl); jit, op and models of ../shared by default
//   --sample N      only so many cases of each corpus
//   --device NAME   cpu (the default) or webgpu
// A case's calls are made three times on one program, so that a program that is watched is specialised, then with other shapes, so that
// guards fail, and then with its own again; whatever comes of each has to be what comes of the program as it was compiled.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runToEnd } from './machine/process-group.mjs';

/** Exit status by which scripts/test.mjs knows a step that had nothing to work on. */
const skippedStatus = 77;
const shared = fileURLToPath(new URL('../../shared/', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: 'string' }, device: { type: 'string', default: 'cpu' }, workers: { type: 'string' } },
});
const corpora =
  positionals.length > 0 ? positionals : ['conformance/jit', 'conformance/op', 'models'].map((name) => shared + name);
const missing = corpora.find((corpus) => !existsSync(corpus));
if (missing !== undefined) {
  console.log(`skipped: ${missing} is not here`);
  process.exit(skippedStatus);
}

const folder = mkdtempSync(join(tmpdir(), 'cresset-executors-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Whether each case passes, by its id, with the reason where it does not. */
async function verdicts(corpus, executor) {
  const file = join(folder, `${executor}.json`);
  const options = Object.entries({ device: values.device, sample: values.sample, workers: values.workers });
  const given = options.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  const args = ['-s', 'conformance', '--corpus', corpus, '--executor', executor, '--repeat', '3', '--json', file];
  const { status, output } = await runToEnd('pnpm', [...args, ...given, '--timeout', '120'], { quiet: true });
  if (status !== 0) throw new Error(`the conformance runner ended with status ${status}\n${output}`);
  const results = JSON.parse(readFileSync(file, 'utf8'));
  return new Map(results.map(({ id, passed, reason }) => [id, passed ? 'passes' : `fails: ${reason}`]));
}

/** Work that nothing needs fails in them, also in PyTorch where it does not optimise; elsewhere it is not done. */
const failWithoutPasses = new Set(
  ['test_SpectralOpsModule', 'test_methods_SpectralOpsModule'].map(
    (name) => `extra_mobile_models/TestMobileModels.${name}.0`,
  ),
);

const isPass = (verdict) => verdict === 'passes';
for (const corpus of corpora) {
  const plain = await verdicts(corpus, 'off');
  const count = (found) => `${[...found.values()].filter(isPass).length} of ${found.size}`;
  console.log(`${corpus}: off ${count(plain)}`);
  for (const executor of ['default', 'simple', 'profiling', 'bailouts']) {
    const found = await verdicts(corpus, executor);
    console.log(`${corpus}: ${executor} ${count(found)}`);
    for (const [id, verdict] of found) {
      if (isPass(verdict) === (isPass(plain.get(id)) || failWithoutPasses.has(id))) continue;
      console.error(`${id}: ${verdict}; with the JIT off it ${plain.get(id)}`);
      process.exitCode = 1;
    }
  }
}
