import { fileURLToPath } from 'node:url';
import { defineConfig } from '@playwright/test';
import { launchOptions, launchOptionsWithoutGpu } from '../scripts/machine/gpu-lanes.mjs';
import { benchAddress, pagesAddress, playgroundAddress, ports } from './addresses.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const withoutGpu = '**/*.no-gpu.spec.ts';

const server = (command: string, url: string) => ({
  command,
  url,
  cwd: root,
  // A server that somebody left running may serve an older build.
  reuseExistingServer: false,
  timeout: 300_000,
});

export default defineConfig({
  testDir: '.',
  outputDir: '../test-results',
  timeout: 120_000,
  // A software GPU on a busy machine takes seconds for what a GPU does at once.
  expect: { timeout: 20_000 },
  // A software GPU uses every core for one page already.
  workers: 1,
  reporter: 'list',
  forbidOnly: Boolean(process.env.CI),
  use: { baseURL: playgroundAddress, screenshot: 'only-on-failure', actionTimeout: 30_000 },
  projects: [
    { name: 'webgpu', testIgnore: withoutGpu, use: { launchOptions } },
    { name: 'no-gpu', testMatch: withoutGpu, use: { launchOptions: launchOptionsWithoutGpu } },
  ],
  webServer: [
    server(`vite preview --mode playground --port ${ports.playground} --strictPort`, playgroundAddress),
    server(`node e2e/page-server.mjs ${ports.pages}`, pagesAddress),
    server(`vite build --mode bench && vite preview --mode bench --port ${ports.bench} --strictPort`, benchAddress),
  ],
});
