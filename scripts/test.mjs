// `npm test`: prepares the machine, then runs everything that is checked, to the end whatever fails on the way.
// The last line is `N passed, N failed`: tests one by one, every other step as one.
//   TEST_TIME_FACTOR=3 npm test    on a slow machine: every step has so many times its time; 0 lets steps take what they take
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { prepareMachine } from './machine/prepare-machine.mjs';
import { runToEnd } from './machine/process-group.mjs';

const minutes = 60_000;
const timeFactor = Number(process.env.TEST_TIME_FACTOR || 1);
const skippedStatus = 77;
const reports = mkdtempSync(join(tmpdir(), 'cresset-test-'));
/** Where GPU tests leave the shaders that they compile. */
const shaders = join(reports, 'shaders');
const counts = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
/** What failed, test by test with its first message: told again at the end, where a log that was cut still has it. */
const failedTests = [];

function add(step, { passed, failed, skipped = 0, failedTests: tests = [], limit }) {
  counts.passed += passed;
  counts.failed += failed;
  counts.skipped += skipped;
  if (failed > 0) failures.push(`${step} (${[failed, limit].filter(Boolean).join(', ')})`);
  failedTests.push(...tests);
}

/** Runs a command of a step for a time that is enough where nothing hangs; `limit` says in words that it was ended there. */
async function runWithin(time, command, args, environment) {
  const limitMilliseconds = time * timeFactor;
  const { status, timedOut } = await runToEnd(command, args, { environment, limitMilliseconds });
  if (!timedOut) return { status };
  const limit = `ended after ${limitMilliseconds / 1000} s, its limit`;
  console.error(`${limit}: where the machine is slow, TEST_TIME_FACTOR=3 gives every step three times its time`);
  return { status, limit };
}

const readReport = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined);

/** A runner that fails without a failed test (a file that does not load, a crash) still counts as a failure. */
const failedAtLeast = (failed, status) => (status === 0 ? failed : Math.max(failed, 1));

/** The failed tests of a report of Vitest. */
const failedOf = (report) =>
  (report?.testResults ?? []).flatMap(({ name, message, assertionResults }) => [
    ...(message === '' ? [] : [`${relative('.', name)}: ${message}`]),
    ...assertionResults
      .filter(({ status }) => status === 'failed')
      .map(
        ({ fullName, failureMessages: [first = ''] }) =>
          `${relative('.', name)}: ${fullName}\n${stripVTControlCharacters(first).slice(0, 2000)}`,
      ),
  ]);

/** The failed tests of a report of Playwright. */
const failedInBrowser = ({ suites = [], specs = [] } = {}) => [
  ...suites.flatMap(failedInBrowser),
  ...specs
    .filter(({ ok }) => !ok)
    .map(({ file, title, tests }) => {
      const [first = ''] = tests.flatMap(({ results }) => results.flatMap(({ error }) => error?.message ?? []));
      return `e2e/${file}: ${title}\n${stripVTControlCharacters(first).slice(0, 2000)}`;
    }),
];

const check = (name, command, args = []) => ({
  name,
  async run() {
    const { status, limit } = await runWithin(12 * minutes, command, args);
    if (status === skippedStatus) return { passed: 0, failed: 0, skipped: 1 };
    return status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1, limit };
  },
});

const vitest = (name, project, environment = {}) => ({
  name,
  async run() {
    const file = join(reports, `${project}.json`);
    const args = ['run', '--project', project, '--passWithNoTests'];
    // A line for each file, and for each test that fails.
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const { status, limit } = await runWithin(14 * minutes, 'vitest', [...args, ...reporters], environment);
    const report = readReport(file);
    return {
      passed: report?.numPassedTests ?? 0,
      failed: failedAtLeast(report?.numFailedTests ?? 0, status),
      skipped: report?.numPendingTests ?? 0,
      failedTests: failedOf(report),
      limit,
    };
  },
});

const playwright = (name) => ({
  name,
  async run() {
    const file = join(reports, 'playwright.json');
    const { status, limit } = await runWithin(
      12 * minutes,
      'playwright',
      ['test', '-c', 'e2e/playwright.config.ts', '--reporter=list,json', '--pass-with-no-tests'],
      { PLAYWRIGHT_JSON_OUTPUT_NAME: file, E2E_PORT: String(await firstOfFreePorts(3)) },
    );
    const report = readReport(file);
    const stats = report?.stats;
    return {
      passed: (stats?.expected ?? 0) + (stats?.flaky ?? 0),
      failed: failedAtLeast(stats?.unexpected ?? 0, status),
      skipped: stats?.skipped ?? 0,
      failedTests: failedInBrowser(report),
      limit,
    };
  },
});

const applications = (name) => ({
  name,
  async run() {
    const file = join(reports, 'applications.json');
    const args = ['scripts/check-apps.mjs', '--ci', '--report', file];
    const { status, limit } = await runWithin(12 * minutes, process.execPath, args);
    const { passed, failed, skipped } = readReport(file) ?? { passed: 0, failed: 0, skipped: 0 };
    return { passed, failed: failedAtLeast(failed, status), skipped, limit };
  },
});

const isFree = (port) =>
  new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false));
    probe.listen(port, 'localhost', () => probe.close(() => resolve(true)));
  });

/** The first of so many neighbouring ports on which nobody listens. */
async function firstOfFreePorts(count) {
  for (let first = 4173; first < 60_000; first += count) {
    const free = await Promise.all(Array.from({ length: count }, (_, at) => isFree(first + at)));
    if (free.every(Boolean)) return first;
  }
  throw new Error('no free ports');
}

const skipped = (name, reason) => ({
  name,
  async run() {
    console.log(`skipped: ${reason}`);
    return { passed: 0, failed: 0, skipped: 1 };
  },
});

/** On which devices random programs are run, and how many of them. */
const programLanes = ({ vulkan }) => [['host', '500'], ['threads', '150'], ...(vulkan ? [['webgpu', '150']] : [])];

function steps(machine) {
  return [
    check('format', 'oxfmt', ['--check']),
    check('lint', 'oxlint', ['--deny-warnings', '--format=unix']),
    check('types', 'tsc', ['-p', '.']),
    check('dependencies', process.execPath, ['scripts/check-dependencies.mjs']),
    check('lock file', process.execPath, ['scripts/check-lockfile.mjs']),
    vitest('unit tests', 'unit'),
    ...(machine.vulkan
      ? [
          vitest('GPU tests in Node', 'gpu', { GPU_SHADERS: shaders }),
          check('shaders of the GPU tests', process.execPath, ['scripts/check-shaders.mjs', shaders]),
        ]
      : [skipped('GPU tests in Node', 'no Vulkan driver')]),
    check('hostile input', process.execPath, ['fuzz/run.mjs', '--count', '20000']),
    ...programLanes(machine).map(([device, count]) =>
      check(`random programs, ${device}`, process.execPath, [
        'fuzz/programs.mjs',
        '--device',
        device,
        '--count',
        count,
      ]),
    ),
    check('conformance totals', process.execPath, ['scripts/check-conformance.mjs']),
    check('executors', process.execPath, [
      'scripts/check-executors.mjs',
      ...['jit', 'op'].map((corpus) => `../shared/conformance/${corpus}`),
      '--device',
      `typescript,webassembly,webassembly-relaxed,webassembly-threads${machine.vulkan ? ',webgpu' : ''}`,
      '--sample',
      '25',
    ]),
    check('gradients under executors', process.execPath, [
      'scripts/check-executors.mjs',
      ...['jit', 'op'].map((corpus) => `../shared/conformance/${corpus}`),
      '--gradients',
      '--device',
      'typescript,webassembly',
      '--sample',
      '60',
    ]),
    check('tiled corpora', process.execPath, [
      'scripts/check-tiled.mjs',
      '--device',
      `webassembly${machine.vulkan ? ',webgpu' : ''}`,
      '--sample',
      '60',
    ]),
    check('stopping', process.execPath, ['scripts/check-stopping.mjs', '--sample', '12']),
    check('cycles', process.execPath, ['scripts/check-cycles.mjs', '--cycles', '60', '--programs', '5']),
    check('round trips', process.execPath, ['scripts/check-round-trip.mjs']),
    check('build', process.execPath, ['scripts/build.mjs']),
    check('size', process.execPath, ['scripts/check-size.mjs']),
    machine.browser
      ? check('transfers', process.execPath, ['scripts/check-transfers.mjs'])
      : skipped('transfers', 'no browser'),
    check('package', process.execPath, ['scripts/check-package.mjs']),
    check('models in Deno', process.execPath, ['scripts/check-engines.mjs', 'deno']),
    check('models in Firefox', process.execPath, ['scripts/check-engines.mjs', 'firefox']),
    machine.browser ? playwright('end to end') : skipped('end to end', 'no browser'),
    machine.browser ? applications('environments') : skipped('environments', 'no browser'),
  ];
}

if (!(timeFactor >= 0)) throw new Error(`TEST_TIME_FACTOR is no number: ${process.env.TEST_TIME_FACTOR}`);
if (!process.stdout.isTTY) {
  // Tools write control codes into files too where CI or FORCE_COLOR is set.
  delete process.env.FORCE_COLOR;
  Object.assign(process.env, { NO_COLOR: '1', PLAYWRIGHT_FORCE_TTY: '0' });
}
try {
  const machine = prepareMachine();
  for (const step of steps(machine)) {
    console.log(`\n--- ${step.name}`);
    const started = performance.now();
    const result = await step.run();
    add(step.name, result);
    const verdict = result.failed > 0 ? `${result.failed} failed, ` : '';
    console.log(`--- ${step.name}: ${verdict}${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
} catch (error) {
  console.error(error.message);
  add('setup', { passed: 0, failed: 1 });
} finally {
  rmSync(reports, { recursive: true, force: true });
}
console.log();
for (const test of failedTests) console.log(`failed: ${test}\n`);
if (failures.length > 0) console.log(`failed: ${failures.join(', ')}`);
if (counts.skipped > 0) console.log(`${counts.skipped} skipped`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed > 0 ? 1 : 0;
