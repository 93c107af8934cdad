// Runs models through the built package in engines of another make than Chromium's, on WebGPU:
//   node scripts/check-engines.mjs deno       Deno, an npm package of the workspace
//   node scripts/check-engines.mjs firefox    Firefox, in a page and its worker
// Both have wgpu, which is stricter than Dawn in places and compiles shaders with naga. Status 77 where the engine, or a Vulkan driver
// for it, is not installed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { servePages } from '../e2e/page-server.mjs';
import { denoPath, firefoxPath, firefoxPreferences, vulkanEnvironment } from './machine/gpu-lanes.mjs';
import { runToEnd } from './machine/process-group.mjs';

const limitMilliseconds = 8 * 60_000;
const address = (relative) => new URL(relative, import.meta.url).href;

async function inDeno() {
  const args = [
    'run',
    '--allow-all',
    '--no-config',
    '--no-lock',
    fileURLToPath(address('../e2e/pages/engines/in-deno.js')),
  ];
  const folders = [address('../packages/cresset/dist/'), address('../apps/playground/public/models/')];
  const { status, output } = await runToEnd(denoPath, [...args, ...folders], {
    environment: vulkanEnvironment,
    limitMilliseconds,
    quiet: true,
  });
  const line = /^outcomes (.*)$/m.exec(output);
  if (!line) throw new Error(`Deno ended with status ${status} and without a result:\n${output}`);
  return JSON.parse(line[1]);
}

/** The page says by itself when it is done, so that nothing has to steer the browser. */
async function inFirefox() {
  const profile = mkdtempSync(join(tmpdir(), 'cresset-firefox-'));
  const lines = Object.entries(firefoxPreferences).map(
    ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`,
  );
  writeFileSync(join(profile, 'user.js'), lines.join('\n'));
  let report;
  const reported = new Promise((resolve) => (report = resolve));
  const server = await servePages(0, report);
  const stop = new AbortController();
  const page = `http://localhost:${server.address().port}/engine.html`;
  const browser = runToEnd(firefoxPath, ['--headless', '--no-remote', '--profile', profile, page], {
    environment: { ...vulkanEnvironment, MOZ_HEADLESS: '1', HOME: profile },
    limitMilliseconds,
    quiet: true,
    signal: stop.signal,
  });
  try {
    const ended = browser.then(({ status, timedOut }) => {
      throw new Error(timedOut ? 'Firefox had no result in time' : `Firefox ended with status ${status}`);
    });
    ended.catch(() => {});
    return await Promise.race([reported, ended]);
  } finally {
    stop.abort();
    await browser;
    server.closeAllConnections();
    server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const engines = {
  deno: {
    path: denoPath,
    run: inDeno,
    hint: 'pnpm run setup unpacks it, where its npm package has a binary; DENO_PATH can name one',
  },
  firefox: { path: firefoxPath, run: inFirefox, hint: 'the Debian package is firefox-esr; FIREFOX_PATH can name one' },
};
const engine = engines[process.argv[2]];
if (!engine) {
  console.error('usage: node scripts/check-engines.mjs deno|firefox');
  process.exit(2);
}
if (!engine.path) {
  console.log(`skipped: ${process.argv[2]} is not installed (${engine.hint})`);
  process.exit(77);
}
if (process.platform === 'linux' && !vulkanEnvironment.VK_DRIVER_FILES) {
  console.log('skipped: there is no software Vulkan driver');
  process.exit(77);
}
const outcomes = await engine.run();
for (const { name, error, milliseconds } of outcomes) {
  console.log(error === null ? `  ${name} (${milliseconds} ms)` : `FAILED ${name}: ${error}`);
}
const failed = outcomes.filter(({ error }) => error !== null).length;
console.log(`${outcomes.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 || outcomes.length === 0 ? 1 : 0);
