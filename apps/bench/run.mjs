// `pnpm bench`: the same models and inputs in Cresset and in other libraries, in turns, in Chromium and in Node.
//   --lanes LIST         of swiftshader, llvmpipe, hardware (Chromium on such a GPU), node, and micro: programs that are all interpreter,
//                        against PyTorch's where PYTHON names an interpreter that has it; by default what this machine has
//   --models LIST        names of models; by default all
//   --workload LIST      in place of models: many calls of one model that are not of one size, by name, or all; PyTorch makes what they take where PYTHON names an
//                        interpreter that has it
//   --contestants LIST   such as cresset-webgpu,ort-webgpu; by default all; pytorch-native is PyTorch itself, where PYTHON names an interpreter that has it
//   --rounds N           turns of each contestant
//   --turn MS            how long a turn goes on at least
//   --threads N          how many threads a library may take on the host, in a page that is isolated from other origins; 1 by default
//   --cold               the first answer in a page of a stranger instead: Cresset and ONNX Runtime as they are published (`pnpm build` comes first), on the host, in
//                        browser contexts that have kept nothing, as many of each as --rounds says; models are those that both have as files
//   --json FILE          writes all that was measured
//   --report FILE        prints the tables of such a file once more
//   --page               serves the page, for one's own browser
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, createServer, preview } from 'vite';
import { browserPathOf, vulkanEnvironment } from '../../scripts/machine/gpu-lanes.mjs';
import { makeWorkloads } from './workloads/make.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const config = { configFile: join(root, 'vite.config.ts'), mode: 'bench', logLevel: 'warn' };

/** Runs a command to its end; rejects where it fails. */
function run(command, args, environment = {}) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...environment } });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${command} ${args.join(' ')} failed`))));
  });
}

function availableLanes() {
  const isLinux = process.platform === 'linux';
  const browsers = (isLinux ? ['llvmpipe', 'swiftshader'] : ['hardware']).filter((lane) => browserPathOf(lane));
  const hasVulkan = !isLinux || vulkanEnvironment.VK_DRIVER_FILES;
  return [...browsers, ...(hasVulkan ? ['node'] : []), 'micro'];
}

/** What the bench compares with is a workspace of its own, so that nobody else has to fetch it. */
function installPeers() {
  const quiet = ['--frozen-lockfile', '--prefer-offline', '--reporter=append-only', '--loglevel=error'];
  return run('pnpm', ['install', '--dir', 'apps/bench', ...quiet], { CI: 'true' });
}

async function servePage() {
  await build(config);
  const server = await preview({ ...config, preview: { port: 5174 } });
  console.log(`\nThe bench is at ${server.resolvedUrls.local[0]}\nCtrl-C ends it.`);
}

/** Bundles what runs in Node, as a page is bundled: modules that a development server serves are slower. */
const buildForNode = () =>
  build({
    ...config,
    build: {
      ssr: true,
      target: 'node20',
      outDir: 'dist/node',
      rolldownOptions: { input: join(root, 'apps/bench/src/node.ts') },
    },
  });

/** Who has twins of workloads. */
const MOVING = ['cresset-webgpu', 'ort-webgpu', 'cresset-cpu', 'ort-wasm', 'pytorch-native'];

/** Lets threads of a page share memory. */
const isolation = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

/** Runs every lane in a process of its own, and returns what each measured. */
async function measureLanes(lanes, choice) {
  if (lanes.length === 0) return [];
  const folder = mkdtempSync(join(tmpdir(), 'cresset-bench-'));
  await build(config);
  if (lanes.includes('node')) await buildForNode();
  const server = await preview({ ...config, preview: { port: 0, headers: choice.threads > 1 ? isolation : {} } });
  const [address] = server.resolvedUrls.local;
  const reports = [];
  try {
    for (const lane of lanes) {
      const file = join(folder, `${lane}.json`);
      const script = join('apps', 'bench', 'lanes', lane === 'node' ? 'node.mjs' : 'browser.mjs');
      const args = [script, JSON.stringify({ ...choice, address, file })];
      await run(process.execPath, args, lane === 'node' ? vulkanEnvironment : { GPU_LANE: lane });
      reports.push({ lane, ...JSON.parse(readFileSync(file, 'utf8')) });
    }
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return reports;
}

/** Gives one of the bench's own modules to a function. */
async function withModule(path, use) {
  const server = await createServer({
    ...config,
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
  });
  try {
    return use(await server.ssrLoadModule(path));
  } finally {
    await server.close();
  }
}

const printReports = (reports) =>
  withModule('/src/report.ts', ({ markdownReport }) => {
    for (const report of reports) console.log(`\n## ${report.lane}\n\n${markdownReport(report)}`);
  });

/** Makes what workloads take; returns their names. */
const prepareWorkloads = (names) =>
  withModule('/src/workloads/workloads.ts', ({ workloads }) => {
    const known = workloads.map(({ name }) => name);
    const wanted = names.includes('all') ? known : names;
    const unknown = wanted.filter((name) => !known.includes(name));
    if (unknown.length > 0) throw new Error(`no workload ${unknown.join(', ')}; there are ${known.join(', ')}`);
    makeWorkloads(workloads.filter(({ name }) => wanted.includes(name)));
    return wanted;
  });

async function main() {
  const { values: options } = parseArgs({
    options: {
      lanes: { type: 'string' },
      models: { type: 'string' },
      workload: { type: 'string' },
      contestants: { type: 'string' },
      rounds: { type: 'string', default: '6' },
      turn: { type: 'string', default: '200' },
      threads: { type: 'string', default: '1' },
      json: { type: 'string' },
      report: { type: 'string' },
      page: { type: 'boolean', default: false },
      cold: { type: 'boolean', default: false },
    },
  });
  if (options.report) return printReports(JSON.parse(readFileSync(options.report, 'utf8')));
  await installPeers();
  if (options.page) return servePage();
  const names = (list) => list?.split(',') ?? null;
  if (options.cold) {
    const choice = {
      models: names(options.models),
      contestants: names(options.contestants),
      rounds: Number(options.rounds),
    };
    return run(process.execPath, ['apps/bench/lanes/cold.mjs', JSON.stringify(choice)]);
  }
  const workloads = options.workload ? await prepareWorkloads(names(options.workload)) : [];
  const isMoving = workloads.length > 0;
  const lanes = names(options.lanes) ?? availableLanes().filter((lane) => !isMoving || lane !== 'micro');
  const racing = lanes.filter((lane) => lane !== 'micro');
  const reports = await measureLanes(racing, {
    models: names(options.models) ?? (isMoving ? [] : null),
    workloads,
    contestants: names(options.contestants) ?? (isMoving ? MOVING : null),
    rounds: Number(options.rounds),
    turnMilliseconds: Number(options.turn),
    threads: Number(options.threads),
  });
  if (options.json) writeFileSync(options.json, JSON.stringify(reports, null, 2));
  await printReports(reports);
  if (lanes.includes('micro')) {
    console.log('\n## Programs that are all interpreter\n');
    await run(process.execPath, ['apps/bench/micro/run.mjs']);
  }
}

try {
  await main();
} catch (error) {
  console.error(`bench: ${error.message}`);
  process.exit(1);
}
