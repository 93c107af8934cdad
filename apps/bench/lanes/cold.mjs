// How long a page of a stranger waits for its first answer, in Cresset and in ONNX Runtime Web as they are published; see ../run.mjs. Each figure is of a
// browser context of its own, which has kept nothing: neither files nor what was compiled of them. The bytes of the model are there when the time begins, and the browser
// has done what it does by itself for a new window.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';
import { createServer } from 'vite';
import { firstCalls, modelFolder } from '../../../scripts/cold-load/model-calls.mjs';
import { inFreshPage } from '../../../scripts/fresh-page.mjs';
import { processorSecondsOf } from '../../../scripts/machine/browser-processor-time.mjs';
import { launchOptions } from '../../../scripts/machine/gpu-lanes.mjs';
import { modelNames } from '../vite-plugin.mjs';

const fromRoot = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const versionOf = (path) => JSON.parse(readFileSync(fromRoot(`${path}/package.json`), 'utf8')).version;
const ORT = 'apps/bench/node_modules/onnxruntime-web';

/** From where the clock runs: the import of the library, or what comes after it. */
const BEGINNINGS = ['import', 'bytes'];

/** Runs in the page. Cresset answers from its Worker, as it does where nobody chooses otherwise. */
async function timeCresset({ library, beginning, address, calls }) {
  const bytes = new Uint8Array(await (await fetch(address)).arrayBuffer());
  const arrays = { float32: Float32Array, int64: BigInt64Array };
  const elements = ({ dtype, base64 }) =>
    new arrays[dtype](Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)).buffer);
  const given = calls.map(({ method, inputs }) => ({
    method,
    inputs: inputs.map((input) => (input.base64 ? { data: elements(input), shape: input.shape } : input)),
  }));
  const known = beginning === 'bytes' ? await import(library) : null;
  const seconds = await globalThis.benchCpuSeconds();
  const begin = performance.now();
  const { load, tensor } = known ?? (await import(library));
  const model = await load(bytes, { device: 'cpu' });
  let output;
  for (const { method, inputs } of given) {
    const tensors = inputs.map((input) => (input.data ? tensor(input.data, { shape: input.shape }) : input));
    output = await model.call(method, tensors);
  }
  const clock = performance.now() - begin;
  const processor = 1000 * ((await globalThis.benchCpuSeconds()) - seconds);
  const tensorsIn = (value) =>
    'shape' in value ? [value] : (value instanceof Map ? [...value.values()] : value).flatMap(tensorsIn);
  return {
    clock,
    processor,
    answer: tensorsIn(output).map(({ shape, data }) => ({ shape: [...shape], data: [...data] })),
  };
}

/** Runs in the page. ONNX Runtime answers in the page's own thread, as it does where nobody chooses otherwise. */
async function timeOnnxRuntime({ library, beginning, address, feeds }) {
  const bytes = new Uint8Array(await (await fetch(address)).arrayBuffer());
  const arrays = { float32: Float32Array, int64: BigInt64Array };
  const given = feeds.map(({ name, dtype, shape, base64 }) => {
    const data = new arrays[dtype](Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)).buffer);
    return { name, dtype, shape, data };
  });
  const known = beginning === 'bytes' ? await import(library) : null;
  const seconds = await globalThis.benchCpuSeconds();
  const begin = performance.now();
  const { InferenceSession, Tensor, env } = known ?? (await import(library));
  env.wasm.numThreads = 1;
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'] });
  const named = given.map(({ name, dtype, shape, data }, at) => [
    name ?? session.inputNames[at],
    new Tensor(dtype, data, shape),
  ]);
  const results = await session.run(Object.fromEntries(named));
  const answer = session.outputNames.map((name) => results[name]);
  const clock = performance.now() - begin;
  const processor = 1000 * ((await globalThis.benchCpuSeconds()) - seconds);
  return { clock, processor, answer: answer.map(({ dims, data }) => ({ shape: [...dims], data: [...data] })) };
}

/** What the twin in ONNX is fed in place of the first call: the detector keeps neither the end of the chunk before nor its state. */
function feedsOf(name, inputs) {
  if (name !== 'silero-vad') return inputs;
  const [chunk, rate] = inputs;
  const base64 = (array) => Buffer.from(array.buffer).toString('base64');
  const samples = Buffer.concat([Buffer.alloc(64 * 4), Buffer.from(chunk.base64, 'base64')]);
  return [
    { name: 'input', dtype: 'float32', shape: [1, samples.length / 4], base64: samples.toString('base64') },
    { name: 'state', dtype: 'float32', shape: [2, 1, 128], base64: base64(new Float32Array(256)) },
    { name: 'sr', dtype: 'int64', shape: [], base64: base64(BigInt64Array.of(BigInt(rate))) },
  ];
}

const contestants = {
  'cresset-cpu': {
    title: 'Cresset',
    run: timeCresset,
    library: '/published/cresset/cresset.js',
    argumentOf: (name) => {
      const { path, calls } = firstCalls(name);
      return { address: `/models/${path}`, calls };
    },
  },
  'ort-wasm': {
    title: 'ORT',
    run: timeOnnxRuntime,
    library: '/published/ort/ort.wasm.bundle.min.mjs',
    argumentOf: (name) => {
      const { path, calls } = firstCalls(name);
      return { address: `/models/${path.replace(/\.pt$/, '.onnx')}`, feeds: feedsOf(name, calls.at(-1).inputs) };
    },
  },
};
const folders = {
  '/models/': modelFolder,
  '/published/cresset/': fromRoot('packages/cresset/dist/'),
  '/published/ort/': fromRoot(`${ORT}/dist/`),
};

const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
};

/** PyTorch's answer, as the bench compares with it. */
function expectationOf(name) {
  const { output, rtol, atol } = firstCalls(name).expected;
  const tensors = [output].flat(Infinity).map(({ shape, base64 }) => {
    const bytes = Uint8Array.from(Buffer.from(base64, 'base64'));
    return { shape, step: 1, values: new Float32Array(bytes.buffer) };
  });
  return { tensors, rtol, atol };
}

/** Times and bytes of one model: each contestant, from each beginning, in turns. */
async function measureModel(browser, name, chosen, rounds, processorSeconds, differenceFrom) {
  const expected = expectationOf(name);
  const measured = chosen.flatMap((id) => BEGINNINGS.map((beginning) => ({ id, beginning, times: [], bytes: 0 })));
  // The first round warms the browser itself, and the system's cache of files.
  for (let round = -1; round < rounds; round++) {
    for (const each of measured) {
      const { library, run, argumentOf } = contestants[each.id];
      const argument = { library, beginning: each.beginning, ...argumentOf(name) };
      const { result, files } = await inFreshPage(browser, run, argument, {
        folders,
        library,
        functions: { benchCpuSeconds: processorSeconds },
        processorSeconds,
      });
      const difference = differenceFrom(expected, result.answer);
      if (difference !== null) throw new Error(`${name}, ${each.id}: ${difference}`);
      each.bytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
      if (round >= 0) each.times.push(result);
    }
  }
  return measured.map(({ times, ...rest }) => ({
    ...rest,
    clock: median(times.map(({ clock }) => clock)),
    processor: median(times.map(({ processor }) => processor)),
  }));
}

/** @param figure `clock` or `processor` */
function printTable(results, chosen, figure) {
  const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
  const columns = BEGINNINGS.flatMap((beginning) => chosen.map((id) => ({ id, beginning })));
  const titles = columns.map(({ id, beginning }) => `${contestants[id].title}, from ${beginning}`);
  const head = ['model', ...titles, ...chosen.map((id) => `${contestants[id].title}, downloaded`)];
  row(head);
  row(head.map(() => '---'));
  const timeOf = (measured, id, beginning) =>
    measured.find((each) => each.id === id && each.beginning === beginning)[figure];
  const [own] = chosen;
  const ratios = columns.map(({ id, beginning }) =>
    results.map(({ measured }) => timeOf(measured, id, beginning) / timeOf(measured, own, beginning)),
  );
  for (const [at, { name, measured }] of results.entries()) {
    const times = columns.map(({ id, beginning }, column) => {
      const text = `${timeOf(measured, id, beginning).toFixed(0)} ms`;
      return id === own ? text : `${text} (${ratios[column][at].toFixed(2)} ×)`;
    });
    const kilobytes = chosen.map((id) => `${(measured.find((each) => each.id === id).bytes / 1000).toFixed(0)} kB`);
    row([name, ...times, ...kilobytes]);
  }
  const meanOf = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
  const means = columns.map(({ id }, column) => (id === own ? '' : `${meanOf(ratios[column]).toFixed(2)} ×`));
  row(['geometric mean', ...means, ...chosen.map(() => '')]);
}

const { models, contestants: named, rounds } = JSON.parse(process.argv[2]);
const chosen = named?.filter((id) => id in contestants) ?? Object.keys(contestants);
const server = await createServer({
  configFile: fromRoot('vite.config.ts'),
  mode: 'bench',
  logLevel: 'warn',
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
});
const browser = await chromium.launch(launchOptions);
try {
  const { differenceFrom } = await server.ssrLoadModule('/src/models/bench-model.ts');
  const processorSeconds = await processorSecondsOf(browser);
  const versions = `Cresset ${versionOf('packages/cresset')}, ONNX Runtime Web ${versionOf(ORT)}`;
  console.log(`\n## Cold\n\nChromium ${browser.version()}. ${versions}. Medians of ${rounds}.`);
  const results = [];
  for (const name of models ?? modelNames()) {
    results.push({
      name,
      measured: await measureModel(browser, name, chosen, rounds, processorSeconds, differenceFrom),
    });
  }
  console.log('\nBy the clock:\n');
  printTable(results, chosen, 'clock');
  console.log('\nProcessor time of the whole browser:\n');
  printTable(results, chosen, 'processor');
} finally {
  await browser.close();
  await server.close();
}
