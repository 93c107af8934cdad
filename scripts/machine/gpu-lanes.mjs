// The one place that knows browser paths and GPU flags; vite.config.ts, e2e and the scripts read it.
// GPU_LANE chooses how Chromium reaches a GPU:
//   swiftshader (Linux)    Chromium's own software Vulkan: canvas and video work, no f16
//   llvmpipe               Mesa's software Vulkan behind a shim: f16 and subgroups, compute only
//   hardware (elsewhere)   the GPU that the machine has
import { existsSync, readFileSync } from 'node:fs';

const settingsFile = new URL('../../.gpu-lanes.env', import.meta.url);
const settings = new Map();
if (existsSync(settingsFile)) {
  for (const line of readFileSync(settingsFile, 'utf8').split('\n')) {
    const equals = line.indexOf('=');
    if (equals > 0) settings.set(line.slice(0, equals), line.slice(equals + 1));
  }
}
const setting = (name) => process.env[name] || settings.get(name) || '';
const firstExisting = (...paths) => paths.find((path) => existsSync(path)) ?? '';

export const lane = process.env.GPU_LANE || (process.platform === 'linux' ? 'swiftshader' : 'hardware');

const quietFlags = [
  '--no-first-run',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const laneFlags = {
  // The whole set is needed: with --enable-unsafe-webgpu alone a WebGPU canvas reads back as zeros.
  swiftshader: [
    '--enable-gpu',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--ignore-gpu-blocklist',
    '--enable-features=Vulkan',
    '--use-vulkan=swiftshader',
  ],
  llvmpipe: ['--use-angle=vulkan', '--enable-features=Vulkan'],
  hardware: ['--ignore-gpu-blocklist', ...(process.platform === 'linux' ? ['--enable-features=Vulkan'] : [])],
};
if (!(lane in laneFlags)) throw new Error(`GPU_LANE is "${lane}"; it can be ${Object.keys(laneFlags).join(', ')}`);

/** Path of the browser for a lane; empty when this machine has none. */
export const browserPathOf = (name) =>
  name === 'llvmpipe'
    ? setting('CHROMIUM_LLVMPIPE_PATH')
    : setting('CHROMIUM_PATH') ||
      firstExisting('/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/microsoft-edge');

/** Path of the browser for the chosen lane; empty when this machine has none. */
export const browserPath = browserPathOf(lane);

// Chromium refuses to run its sandbox as root.
const rootFlags = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
const executable = browserPath ? { executablePath: browserPath } : {};

/** Options for Playwright's `chromium.launch`. */
export const launchOptions = {
  args: [
    '--enable-unsafe-webgpu',
    '--enable-webgpu-developer-features',
    ...laneFlags[lane],
    ...quietFlags,
    ...rootFlags,
  ],
  ...executable,
};

/** Options for a launch without any GPU: `navigator.gpu` is there and finds no adapter. */
export const launchOptionsWithoutGpu = {
  args: ['--disable-gpu', '--disable-software-rasterizer', ...quietFlags, ...rootFlags],
  ...executable,
};

/** Deno, whose WebGPU is wgpu; empty where its package has no binary for this machine. */
export const denoPath = setting('DENO_PATH');

/** Firefox, whose WebGPU is wgpu too; empty when this machine has none. */
export const firefoxPath = setting('FIREFOX_PATH') || firstExisting('/usr/bin/firefox-esr', '/usr/bin/firefox');

/** What a profile of Firefox has to say for WebGPU on a software driver, in pages and workers. */
export const firefoxPreferences = {
  'dom.webgpu.enabled': true,
  'dom.webgpu.workers.enabled': true,
  'gfx.webgpu.ignore-blocklist': true,
  'gfx.webgpu.force-enabled': true,
  // Nothing is asked, updated or reported by a profile that lives for a minute.
  'browser.shell.checkDefaultBrowser': false,
  'browser.aboutwelcome.enabled': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.enabled': false,
  'app.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
};

const vulkanDriver =
  setting('VK_DRIVER_FILES') ||
  firstExisting('/usr/share/vulkan/icd.d/lvp_icd.json', '/usr/share/vulkan/icd.d/lvp_icd.x86_64.json');

/** Environment that makes Dawn in Node use Mesa's llvmpipe; empty when that driver is not installed. */
export const vulkanEnvironment = vulkanDriver
  ? {
      VK_DRIVER_FILES: vulkanDriver,
      VK_ICD_FILENAMES: vulkanDriver,
      XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR || '/tmp',
    }
  : {};
