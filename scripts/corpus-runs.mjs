// Corpora that a check takes through the conformance runner, and what the runner says of their cases.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from './machine/process-group.mjs';

/** Exit status by which scripts/test.mjs knows a step that had nothing to work on. */
const skippedStatus = 77;
const shared = fileURLToPath(new URL('../../shared/', import.meta.url));

/** The corpora that were asked for, or those of ../shared; the process ends as skipped where one is not here. */
export function corporaOf(asked, byDefault) {
  const corpora = asked.length > 0 ? asked : byDefault.map((name) => shared + name);
  const missing = corpora.find((corpus) => !existsSync(corpus));
  if (missing === undefined) return corpora;
  console.log(`skipped: ${missing} is not here`);
  process.exit(skippedStatus);
}

/** Runs the cases of a corpus on a device, everything that has a kernel there; `given` are options that are handed on where they have a value. */
export async function runCorpus(corpus, device, options, given) {
  const folder = mkdtempSync(join(tmpdir(), 'cresset-corpus-'));
  try {
    const file = join(folder, 'results.json');
    const runner = ['-s', 'conformance', '--corpus', corpus, '--device', device, '--no-small-host', '--json', file];
    const handedOn = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    );
    const all = [...runner, ...options, '--timeout', '300', ...handedOn];
    const { status, output } = await runToEnd('pnpm', all, { quiet: true });
    if (status !== 0) throw new Error(`the conformance runner ended with status ${status}\n${output}`);
    return JSON.parse(readFileSync(file, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Takes corpora through the runner with their tensors tiled, and says how many cases give on each device what they give as they were compiled, by the kernels in
 * TypeScript. `options` are those of the runner; the process fails where a case gives something else.
 */
export async function compareTiled(corpora, devices, { elements, repeat, ...options }) {
  for (const corpus of corpora) {
    for (const device of devices) {
      const results = await runCorpus(corpus, device, ['--tiled', elements, '--repeat', repeat], options);
      const different = results.filter(({ passed }) => !passed);
      const unfit = results.filter(({ unchecked }) => unchecked !== undefined).length;
      const same = results.length - different.length - unfit;
      console.log(`${corpus}, ${device}: ${same} same, ${different.length} different, ${unfit} that no tiling fits`);
      for (const { id, reason } of different) console.error(`${id}, ${device}: ${reason}`);
      if (different.length > 0) process.exitCode = 1;
    }
  }
}
