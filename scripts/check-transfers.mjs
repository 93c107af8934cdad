// What pages take over the network to have an answer of a few programs, on a GPU and on the host: the library's files that page and worker ask a server for, compressed
// (`pnpm check:transfers`, after a build). Each program has a budget. The models are the project's own: what none of its files has is
// authored in one page, saved, and loaded in another that has nothing yet.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';
import { inFreshPage } from './fresh-page.mjs';
import { launchOptions } from './machine/gpu-lanes.mjs';
import { programs } from './transfers/programs.mjs';

const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const sharedModels = fromRoot('../shared/models/');
const folders = { '/models/shared/': sharedModels };
/** Largest difference of numbers that counts as the same answer. */
const tolerance = 1e-4;

function checkAnswer(answer, wanted) {
  const differs = (value, at) => !(Math.abs(value - wanted[at]) <= tolerance);
  if (answer.length !== wanted.length || answer.some(differs)) {
    throw new Error(`the answer is ${answer}, and should be ${wanted}`);
  }
}

/** What loading and running a program takes, once it has been authored elsewhere where it has to be. */
async function transfersOf(browser, { author, given, wanted, run }, device) {
  const authored = author && (await inFreshPage(browser, author, undefined, { folders })).result;
  const { result, files } = await inFreshPage(browser, run, { given: authored?.bytes ?? given, device }, { folders });
  checkAnswer(result, authored?.answer ?? wanted);
  return files;
}

const shown = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

const digits = JSON.parse(readFileSync(fromRoot('apps/playground/public/models/digits.json'), 'utf8'));
const browser = await chromium.launch(launchOptions);
try {
  for (const program of programs(digits)) {
    if (program.file && !existsSync(sharedModels + program.file)) continue;
    for (const [device, budget] of Object.entries(program.budgets)) {
      const files = await transfersOf(browser, program, device);
      const size = files.reduce((sum, { bytes }) => sum + bytes, 0);
      const verdict = size <= budget ? 'fits' : 'is too large';
      console.log(`${program.name}, ${device}: ${shown(size)} gzip of ${budget / 1000} kB, ${verdict}`);
      for (const { name, bytes } of files) console.log(`  ${name.padEnd(28)} ${shown(bytes).padStart(9)}`);
      if (size > budget) process.exitCode = 1;
      const ofGpu = device === 'cpu' ? files.find(({ name }) => /webgpu|command-lists/.test(name)) : undefined;
      if (ofGpu) throw new Error(`a program on the host takes ${ofGpu.name}`);
      const ofDerivatives = files.filter(({ name }) => /gradients|training/.test(name));
      if (ofDerivatives.length > 0) throw new Error(`a program that is only run takes ${ofDerivatives[0].name}`);
    }
  }
} finally {
  await browser.close();
}
