// Builds and runs the applications of e2e/apps with the packed library, each in its environment, and says where each model ran and what
// the page took:
//   pnpm apps                    all
//   pnpm apps vite-5 parcel-dev  these; a name stands for the built application and the development server
//   pnpm apps --ci               those that `npm test` runs, whose tools are packages of the workspace
//   pnpm apps --write-docs       all, and the table in docs/environments.md
//   --keep                       keeps the applications, their tools and what came of them in the system's temporary folder: the next time
//                                tools are not installed anew, and the table can be written of several runs with the same library
//   --report FILE                how many went well and how many did not, as JSON
// `pnpm build` comes first. Tools that are not in the workspace are installed by npm.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright';
import { serveApp } from '../e2e/apps/app-server.mjs';
import { environments } from '../e2e/apps/environments.mjs';
import { assemble, installedVersion, nothing, NotInstalled, packLibrary } from '../e2e/apps/workplace.mjs';
import { writeEnvironmentsPage } from '../e2e/apps/environments-page.mjs';
import { browserPath, denoPath, launchOptions, vulkanEnvironment } from './machine/gpu-lanes.mjs';
import { runToEnd } from './machine/process-group.mjs';

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    ci: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    'write-docs': { type: 'boolean', default: false },
    report: { type: 'string' },
  },
});

const models = fileURLToPath(new URL('../apps/playground/public/models/', import.meta.url));
const fixtures = fileURLToPath(new URL('../packages/archive/fixtures/', import.meta.url));
const expected = JSON.parse(readFileSync(join(models, 'digits.json'), 'utf8'));
/** What the application `parts` is answered, and what that takes of the library beside the engine. */
const ofParts = { spectrum: [10, Math.hypot(2, 2), 2], parts: ['complex', 'fourier'] };
/** Largest difference from PyTorch's numbers that counts as the same answer. */
const tolerance = 1e-4;
const buildLimit = 5 * 60_000;
const answerLimit = 120_000;
/** A process that has nothing left to do ends within this. */
const processLimit = 60_000;
/** Where an application of another origin finds the library's package, as on a network that distributes packages. */
const distributed = '/npm/cresset/';
const environmentOfTools = { NEXT_TELEMETRY_DISABLED: '1', NG_CLI_ANALYTICS: 'false', CI: 'true', BROWSER: 'none' };

/** What is run of an environment: its built application (or what needs no building), and its development server. */
function rowsOf(environment) {
  const rows = [{ environment, name: environment.key, isDev: false, expectation: environment.expected }];
  if (environment.dev)
    rows.push({ environment, name: `${environment.key}-dev`, isDev: true, expectation: environment.expectedDev });
  return rows;
}

function chosenRows() {
  const rows = environments.flatMap(rowsOf);
  const unknown = names.filter((name) => !rows.some((row) => row.name === name));
  if (unknown.length > 0)
    throw new Error(`no such application: ${unknown.join(', ')}; there are ${rows.map(({ name }) => name).join(', ')}`);
  if (options.ci) return rows.filter(({ environment, isDev }) => environment.ci && !isDev);
  if (names.length === 0) return rows;
  return rows.filter(({ environment, name }) => names.includes(name) || names.includes(environment.key));
}

async function runTool(command, folder) {
  const [program, ...args] = command.split(' ');
  const how = { folder, environment: environmentOfTools, mute: true, limitMilliseconds: buildLimit };
  const { status, timedOut, output } = await runToEnd(program, args, how);
  if (status !== 0) throw new Error(`${command} ${timedOut ? 'did not end' : 'failed'}:\n${output.slice(-3000)}`);
}

/** Opens an application and waits for what it shows. */
async function ask(browser, address) {
  const page = await browser.newPage();
  const complaints = [];
  page.on('console', (message) => {
    if (['warning', 'error'].includes(message.type())) complaints.push({ type: message.type(), text: message.text() });
  });
  page.on('pageerror', (error) => complaints.push({ type: 'error', text: String(error) }));
  try {
    await page.goto(address);
    const shown = await page.waitForFunction(() => document.querySelector('#result')?.textContent, undefined, {
      timeout: answerLimit,
    });
    return { ...JSON.parse(await shown.jsonValue()), complaints, workers: page.workers().length };
  } catch (error) {
    const said = complaints.map(({ text }) => text).join('\n');
    throw new Error(`${error.message.split('\n')[0]}\n${said}`, { cause: error });
  } finally {
    await page.close();
  }
}

/** In a browser of its own, which has kept nothing of others and cannot end with them. */
async function inFreshBrowser(address) {
  const browser = await chromium.launch(launchOptions);
  try {
    return await ask(browser, address);
  } finally {
    await browser.close();
  }
}

/** Serves what was built, opens it, and counts what it transferred. */
async function runBuilt({ environment }, { folder, library }) {
  const { headers, output } = environment;
  const elsewhere = await serveApp({
    folders: { [distributed]: library },
    headers: { 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin' },
  });
  const server = await serveApp({
    folders: { '/': output ? join(folder, output) : folder, '/models/': models, '/models/fixtures/': fixtures },
    headers,
    replacements: { '%CDN%': `${elsewhere.address}${distributed.replace(/\/$/, '')}` },
  });
  try {
    const run = await inFreshBrowser(`${server.address}/`);
    return { ...run, transferred: [...server.transferred, ...elsewhere.transferred] };
  } finally {
    server.close();
    elsewhere.close();
  }
}

async function build({ environment }, folder) {
  if (!environment.build) return;
  await runTool(environment.build, folder);
  if (environment.copiesFiles) {
    const dist = join(folder, 'node_modules', 'cresset', 'dist');
    const files = readdirSync(dist).filter((name) => /^(?:engine|part-[\w-]+)\.js$/.test(name));
    for (const name of files) cpSync(join(dist, name), join(folder, environment.output, name));
  }
  // Some tools take a page as their entry; for others it is copied.
  const page = join(folder, environment.output, 'index.html');
  if (!existsSync(page)) cpSync(join(folder, 'index.html'), page);
}

const bytesOf = (transferred) => transferred.reduce((sum, { bytes }) => sum + bytes, 0);

async function buildAndRun(row, place) {
  let bytesWithout = 0;
  if (row.environment.withFramework) {
    await assemble(row.environment, { ...place, library: nothing });
    await build(row, place.folder);
    bytesWithout = bytesOf((await runBuilt(row, place)).transferred);
    await assemble(row.environment, place);
  }
  await build(row, place.folder);
  const run = await runBuilt(row, place);
  return { ...run, bytes: bytesOf(run.transferred) - bytesWithout };
}

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, 'localhost', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

async function untilServed(address, server) {
  const ended = server.then(({ output }) => {
    throw new Error(`the development server ended:\n${output.slice(-3000)}`);
  });
  const served = (async () => {
    for (;;) {
      const answer = await fetch(address, { signal: AbortSignal.timeout(answerLimit) }).catch(() => null);
      if (answer?.ok) return;
      await sleep(300);
    }
  })();
  const late = sleep(answerLimit, undefined, { ref: false }).then(() => {
    throw new Error('the development server did not answer');
  });
  await Promise.race([served, ended, late]);
}

async function runDevelopmentServer({ environment }, { folder }) {
  const port = await freePort();
  const data = await serveApp({
    folders: { '/models/': models, '/models/fixtures/': fixtures },
    headers: { 'Access-Control-Allow-Origin': '*' },
  });
  const stop = new AbortController();
  const [program, ...args] = environment.dev.replace('PORT', String(port)).split(' ');
  const how = { folder, environment: environmentOfTools, mute: true, signal: stop.signal };
  const server = runToEnd(program, args, how);
  const address = `http://localhost:${port}/`;
  try {
    await untilServed(address, server);
    // Most such servers serve nothing but what they build, so the model comes from elsewhere.
    return await inFreshBrowser(`${address}?models=${encodeURIComponent(`${data.address}/models/`)}`);
  } finally {
    stop.abort();
    await server;
    data.close();
  }
}

async function runExtension(_row, { folder }) {
  if (/chrome|edge/.test(browserPath))
    throw new NotInstalled('this browser loads no extension that is not from its store');
  cpSync(models, join(folder, 'models'), { recursive: true });
  const profile = mkdtempSync(join(tmpdir(), 'cresset-profile-'));
  const context = await chromium.launchPersistentContext(profile, {
    ...launchOptions,
    args: [...launchOptions.args, `--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
  });
  try {
    const [worker = await context.waitForEvent('serviceworker', { timeout: answerLimit })] = context.serviceWorkers();
    return await ask(context, new URL('index.html', worker.url()).href);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function runProcess({ environment }, { folder }) {
  const file = join(models, 'digits.pt');
  const places = { PATH: file, ADDRESS: pathToFileURL(file).href };
  const programs = { node: process.execPath, deno: denoPath };
  const [program, ...args] = environment.run.split(' ').map((word) => places[word] ?? word);
  if (programs[program] === '') throw new NotInstalled(`there is no ${program} here`);
  const { status, timedOut, output } = await runToEnd(
    programs[program] ?? program,
    [...args, join(models, 'digits.json')],
    {
      folder,
      environment: vulkanEnvironment,
      mute: true,
      limitMilliseconds: processLimit,
    },
  );
  const line = output.split('\n').find((text) => text.startsWith('{'));
  if (!line) throw new Error(`it ended with status ${status} and without an answer:\n${output.slice(-3000)}`);
  const complaints = output
    .split('\n')
    .filter((text) => text !== line && text.includes('cresset'))
    .map((text) => ({ type: 'warning', text }));
  return { ...JSON.parse(line), complaints, ended: !timedOut };
}

/** Whether these are PyTorch's numbers. A NaN has to show, and no comparison holds for it. */
const isSame = (got, wanted) =>
  got.length === wanted.length && wanted.every((value, index) => Math.abs(got[index] - value) < tolerance);

function faultsOfParts({ spectrum, parts }) {
  const faults = isSame(spectrum, ofParts.spectrum) ? [] : ['the answer of the second model is wrong'];
  if (parts.join() !== ofParts.parts.join()) faults.push(`it took the parts ${parts.join()}`);
  return faults;
}

/** What is not as it has to be, in words; nothing where all is well. */
function faultsOf({ environment, expectation, isDev }, run) {
  const faults = [];
  if (run.error) return [run.error];
  if (!isSame(run.probabilities, expected.probabilities) || !isSame(run.seen, expected.seen)) {
    faults.push('the answer is wrong');
  }
  if (environment.app === 'parts') faults.push(...faultsOfParts(run));
  if (run.hostFallback.length > 0) faults.push(`on the host instead of the GPU: ${run.hostFallback.join(', ')}`);
  const { thread, threadReason } = run.place;
  if (expectation.thread === 'worker' && thread !== 'worker') faults.push(`it ran in the ${thread}: ${threadReason}`);
  if (thread === 'worker' && run.workers === 0)
    faults.push('it says that it ran in a worker, and the browser has none');
  if (run.bytes > expectation.limit)
    faults.push(`${kilobytes(run.bytes)} are more than ${kilobytes(expectation.limit)}`);
  if (run.ended === false) faults.push('the process did not end when its work was done');
  if (thread === 'worker') {
    // Development servers have things of their own to say.
    const serious = run.complaints.filter(
      ({ type, text }) => text.startsWith('cresset:') || (type === 'error' && !isDev),
    );
    faults.push(...serious.map(({ text }) => text));
  }
  return faults;
}

function notesOf(run) {
  const paths = run.transferred?.map(({ path }) => path) ?? [];
  const again = [...new Set(paths.filter((path, index) => paths.indexOf(path) !== index))];
  return [
    ...again.map((path) => `${path} was fetched more than once`),
    ...(run.ended === false ? ['did not end by itself'] : []),
    ...(run.place?.thread === 'page' && run.place.threadReason ? [run.place.threadReason] : []),
  ];
}

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

async function check(row, place) {
  const { environment } = row;
  const runners = { extension: runExtension, process: runProcess };
  const runner = runners[environment.kind] ?? (row.isDev ? runDevelopmentServer : buildAndRun);
  const run = await runner(row, place).catch((error) => {
    if (error instanceof NotInstalled) throw error;
    return { error: String(error.message ?? error) };
  });
  return { row, run, faults: faultsOf(row, run), notes: notesOf(run) };
}

/** All rows, one after the other: a software GPU uses every core for one page already. */
async function checkAll(rows, workFolder, library) {
  const results = [];
  for (const row of rows) {
    const { environment } = row;
    // Both rows of an environment have the same tools where both are run.
    const hasServer = rows.some((other) => other.isDev && other.environment === environment);
    const tools = [...(environment.tools ?? []), ...((hasServer && environment.devTools) || [])];
    const folder = join(workFolder, environment.key);
    let result;
    try {
      const place = { folder, library, tools };
      await assemble(environment, place);
      result = await check(row, place);
      result.version = installedVersion(folder, tools);
    } catch (error) {
      if (!(error instanceof NotInstalled)) throw error;
      result = { row, run: {}, faults: [], notes: [error.message], isMissing: true };
    }
    print(result);
    results.push(result);
  }
  return results;
}

/** What the docs say of a run. */
function record({ row, run, faults, version = '', isMissing = false }) {
  const { thread = null } = run.place ?? {};
  return [row.name, { version, thread, bytes: run.bytes ?? null, isFaulty: faults.length > 0, isMissing }];
}

/** What came of these runs, and of earlier ones with the same library in a folder that was kept. */
function allRecords(results, workFolder, library) {
  const file = join(workFolder, 'records.json');
  const hash = createHash('sha256');
  for (const name of readdirSync(join(library, 'dist')).sort()) hash.update(readFileSync(join(library, 'dist', name)));
  const of = hash.digest('hex');
  const earlier = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
  const records = { ...(earlier?.of === of ? earlier.records : {}), ...Object.fromEntries(results.map(record)) };
  writeFileSync(file, JSON.stringify({ of, records }));
  return records;
}

function print({ row, run, faults, notes, version = '', isMissing }) {
  const verdict = isMissing ? 'absent' : faults.length === 0 ? 'ok' : 'FAILED';
  const { thread = '', device = '' } = run.place ?? {};
  const size = run.bytes === undefined ? '' : kilobytes(run.bytes);
  const cells = [
    verdict.padEnd(7),
    row.name.padEnd(20),
    version.padEnd(9),
    thread.padEnd(6),
    device.padEnd(6),
    size.padStart(9),
  ];
  console.log(cells.join('  ').trimEnd());
  for (const text of [...faults, ...notes]) console.log(`         ${text.replaceAll('\n', '\n         ')}`);
}

const rows = chosenRows();
const workFolder = options.keep ? join(tmpdir(), 'cresset-apps') : mkdtempSync(join(tmpdir(), 'cresset-apps-'));
mkdirSync(workFolder, { recursive: true });
try {
  const library = await packLibrary(workFolder);
  const results = await checkAll(rows, workFolder, library);
  const count = (isCounted) => results.filter(isCounted).length;
  const missing = count(({ isMissing }) => isMissing);
  const failed = count(({ faults }) => faults.length > 0);
  const passed = results.length - missing - failed;
  console.log(`${passed} passed, ${failed} failed, ${missing} not installed`);
  if (options.report) writeFileSync(options.report, JSON.stringify({ passed, failed, skipped: missing }));
  const records = allRecords(results, workFolder, library);
  if (options['write-docs']) {
    const unknown = environments.flatMap(rowsOf).filter(({ name }) => !records[name]);
    if (unknown.length > 0) throw new Error(`the page needs ${unknown.map(({ name }) => name).join(', ')} too`);
    writeEnvironmentsPage(environments, records);
  }
  if (failed > 0) process.exitCode = 1;
} finally {
  if (!options.keep) rmSync(workFolder, { recursive: true, force: true, maxRetries: 5 });
}
