// `npm start`: prepares the machine and serves the playground.
// `npm start -- --headless`: serves it, runs the bundled model once in a browser without a window, prints what came out.
// `--port N` asks for a port; without it the first free one is taken.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { prepareMachine } from './machine/prepare-machine.mjs';

const timeToAnswer = 120_000;

async function servePlayground(port) {
  const { createServer } = await import('vite');
  const server = await createServer({
    configFile: fileURLToPath(new URL('../vite.config.ts', import.meta.url)),
    mode: 'playground',
    server: { port: port ?? 5173, strictPort: port !== undefined },
  });
  await server.listen();
  return { server, address: server.resolvedUrls.local[0] };
}

/** Opens the playground so that it runs its bundled model by itself, and waits for what it reports. */
async function runOnce(address) {
  const [{ chromium }, { launchOptions }] = await Promise.all([
    import('playwright'),
    import('./machine/gpu-lanes.mjs'),
  ]);
  const browser = await chromium.launch(launchOptions);
  const complaints = [];
  try {
    const page = await browser.newPage();
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    const broken = new Promise((_resolve, reject) => {
      page.on('pageerror', reject);
      page.on(
        'response',
        (response) => response.status() >= 500 && reject(new Error(`${response.url()} could not be served`)),
      );
    });
    const answer = async () => {
      await page.goto(new URL('?headless=1', address).href);
      const handle = await page.waitForFunction(() => globalThis.__cresset_result, undefined, {
        timeout: timeToAnswer,
      });
      return handle.jsonValue();
    };
    return await Promise.race([answer(), broken]);
  } catch (error) {
    const reason = error.name === 'TimeoutError' ? `no answer after ${timeToAnswer / 1000} s` : error.message;
    throw new Error([reason, ...complaints].join('\n  '), { cause: error });
  } finally {
    await browser.close();
  }
}

async function main() {
  const { values: options } = parseArgs({
    options: { headless: { type: 'boolean', default: false }, port: { type: 'string' } },
  });
  const machine = prepareMachine();
  if (options.headless && !machine.browser) throw new Error('there is no browser to run in');
  const { server, address } = await servePlayground(options.port === undefined ? undefined : Number(options.port));
  if (!options.headless) {
    console.log(`\nCresset's playground is at ${address}\nCtrl-C ends it.`);
    return;
  }
  try {
    const result = await runOnce(address);
    if (result.error) throw new Error(result.error);
    console.log(`answer: ${result.answer}`);
    console.log(`device: ${result.device}${result.inWorker ? ', in a Worker' : ''}`);
    console.log(`time: ${Number(result.milliseconds).toFixed(1)} ms`);
  } finally {
    await server.close();
  }
}

try {
  await main();
} catch (error) {
  console.error(`start: ${error.message}`);
  process.exit(1);
}
