// Holds every conformance total from falling: each recorded run is repeated and has to pass at least as many cases.
//   node scripts/check-conformance.mjs            compare with conformance/totals.json
//   node scripts/check-conformance.mjs --record   write what passes now
// The corpora are too large to be part of the project; they are read from ../shared where that folder exists.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runToEnd } from './machine/process-group.mjs';

/** Exit status by which scripts/test.mjs knows a step that had nothing to work on. */
const skippedStatus = 77;
const totalsFile = new URL('../conformance/totals.json', import.meta.url);
const corpora = fileURLToPath(new URL('../../shared/', import.meta.url));

async function conformance({ corpus, device, options = [] }) {
  const args = ['-s', 'conformance', '--corpus', corpora + corpus, '--device', device, ...options];
  const { status, output } = await runToEnd('pnpm', args, { quiet: true });
  const total = /^TOTAL: (\d+) cases, (\d+) passed, (\d+) failed$/m.exec(output);
  if (status !== 0 || !total) {
    console.log(output);
    throw new Error(`the conformance runner ended with status ${status} and ${total ? 'a' : 'no'} total`);
  }
  return { cases: Number(total[1]), passed: Number(total[2]), output };
}

if (!existsSync(corpora)) {
  console.log('skipped: ../shared is not here');
  process.exit(skippedStatus);
}
const recording = process.argv.includes('--record');
const totals = JSON.parse(readFileSync(totalsFile, 'utf8'));
for (const recorded of totals) {
  const name = [recorded.corpus, recorded.device, ...(recorded.options ?? [])].join(' ');
  const { cases, passed, output } = await conformance(recorded);
  console.log(`${name}: ${passed} of ${cases} passed, ${recorded.passed} of ${recorded.cases} recorded`);
  if (recording) {
    Object.assign(recorded, { cases, passed });
  } else if (passed < recorded.passed) {
    console.log(output);
    console.error(`${name}: ${recorded.passed - passed} fewer than before`);
    process.exitCode = 1;
  }
}
if (recording) writeFileSync(totalsFile, `${JSON.stringify(totals, null, 2)}\n`);
