// Brings a machine that has only Node and npm to where everything here can run. Running it again is quick and harmless.
//   - pnpm, from npm, and the workspace's packages as the lock file has them
//   - root on Debian: Chromium, Firefox, and Mesa's software Vulkan driver new enough for WebGPU
//   - elsewhere: finds the Chrome, Chromium or Edge that is there, and says what is missing
// Writes .gpu-lanes.env (not committed), which scripts/machine/gpu-lanes.mjs reads.
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pnpmVersion = '12.21.0';
const toolsFolder = join(root, 'node_modules', '.tools');
const vulkanDrivers = '/usr/share/vulkan/icd.d';
const chromiumFolder = '/usr/lib/chromium';

const say = (text) => console.log(`setup: ${text}`);

function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], ...options });
  return result.status === 0;
}

function output(command, args) {
  const result = spawnSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return result.status === 0 ? result.stdout.trim() : '';
}

/** Full path of the first of these commands that is on PATH, or ''. */
function onPath(...names) {
  const suffixes = process.platform === 'win32' ? ['.cmd', '.exe'] : [''];
  for (const name of names) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      for (const suffix of suffixes) {
        const candidate = join(folder, name + suffix);
        try {
          accessSync(candidate, constants.X_OK);
          if (statSync(candidate).isFile()) return candidate;
        } catch {
          // Not here: look in the next folder.
        }
      }
    }
  }
  return '';
}

function distribution() {
  if (!existsSync('/etc/os-release')) return { id: process.platform, codename: '' };
  const fields = Object.fromEntries(
    readFileSync('/etc/os-release', 'utf8')
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1).replaceAll('"', '')]),
  );
  return { id: fields.ID ?? '', codename: fields.VERSION_CODENAME ?? '' };
}

/** The command prefix that gives root's rights, or undefined where there are none to be had without asking. */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  return onPath('sudo') && output('sudo', ['-n', 'id', '-u']) === '0' ? ['sudo', '-n'] : undefined;
}

function softwareVulkanDriver() {
  if (!existsSync(vulkanDrivers)) return '';
  const file = readdirSync(vulkanDrivers).find((name) => /^lvp_icd.*\.json$/.test(name));
  return file ? join(vulkanDrivers, file) : '';
}

/** Dawn refuses Mesa's software driver before version 24. */
function softwareVulkanIsRecent() {
  if (!softwareVulkanDriver()) return false;
  const version = output('dpkg-query', ['-W', '-f', '${Version}', 'mesa-vulkan-drivers']);
  return version === '' || Number.parseInt(version, 10) >= 24;
}

function installDebianPackages(prefix, codename) {
  const [command, ...start] = [...prefix, 'apt-get'];
  const environment = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  const apt = (...args) =>
    run(command, [...start, '-qq', '-o', 'Acquire::Retries=3', ...args], {
      ...environment,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  const install = (...args) => apt('install', '-y', '--no-install-recommends', ...args);

  const needsBrowser = !findBrowser();
  const needsVulkan = !softwareVulkanIsRecent();
  const needsFirefox = !findFirefox();
  if (!needsBrowser && !needsVulkan && !needsFirefox) return;
  const wanted = [
    needsBrowser && 'Chromium',
    needsVulkan && 'a software Vulkan driver',
    needsFirefox && 'Firefox',
  ].filter(Boolean);
  say(`installing ${wanted.join(' and ')}`);
  apt('update');
  if (needsVulkan && codename === 'bookworm') {
    addBackports(prefix);
    apt('update');
    install('-t', 'bookworm-backports', 'mesa-vulkan-drivers');
  } else if (needsVulkan) {
    install('mesa-vulkan-drivers');
  }
  if (needsBrowser) install('chromium');
  // A second make of WebGPU: its tests are skipped without it.
  if (needsFirefox) install('firefox-esr');
}

/** Debian 12's own Mesa is too old; its backports are fetched from wherever apt already fetches Debian 12. */
function addBackports(prefix) {
  if (output('apt-cache', ['policy']).includes('bookworm-backports')) return;
  const indexes = output('apt-get', ['indextargets', '--format', '$(REPO_URI) $(CODENAME)', 'Created-By: Packages']);
  const mirror = indexes
    .split('\n')
    .map((line) => line.split(' '))
    .find(([, codename]) => codename === 'bookworm')?.[0];
  if (!mirror) return;
  const source = [
    'Types: deb',
    `URIs: ${mirror}`,
    'Suites: bookworm-backports',
    'Components: main',
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg',
    '',
  ].join('\n');
  const [command, ...args] = [...prefix, 'tee', '/etc/apt/sources.list.d/bookworm-backports.sources'];
  spawnSync(command, args, { input: source, stdio: ['pipe', 'ignore', 'inherit'] });
}

function findFirefox() {
  return process.env.FIREFOX_PATH || onPath('firefox-esr', 'firefox');
}

/** Deno's binary from its npm package, which unpacks it when it is first run; '' where there is none for this machine. */
function findDeno() {
  const { DENO_PATH } = process.env;
  if (DENO_PATH) return DENO_PATH;
  const [launcher, binary] = ['bin.cjs', process.platform === 'win32' ? 'deno.exe' : 'deno'].map((name) =>
    join(root, 'node_modules', 'deno-from-npm', name),
  );
  return output(process.execPath, [launcher, '--version']) && existsSync(binary) ? binary : '';
}

function findBrowser() {
  const fixedPlaces = {
    darwin: [
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
      '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
    ],
    win32: [process.env.PROGRAMFILES, process.env['PROGRAMFILES(X86)'], process.env.LOCALAPPDATA]
      .filter(Boolean)
      .flatMap((folder) => [
        join(folder, 'Google', 'Chrome', 'Application', 'chrome.exe'),
        join(folder, 'Microsoft', 'Edge', 'Application', 'msedge.exe'),
      ]),
  };
  return (
    process.env.CHROMIUM_PATH ||
    onPath(
      'chromium',
      'google-chrome',
      'google-chrome-stable',
      'chromium-browser',
      'microsoft-edge',
      'microsoft-edge-stable',
    ) ||
    (fixedPlaces[process.platform] ?? []).find((path) => existsSync(path)) ||
    ''
  );
}

/**
 * A second Chromium whose software Vulkan is Mesa's: several times faster and with f16, for computing without a canvas.
 * Chromium loads the library beside its own binary, so the copy is hard links plus one library of ours.
 */
function prepareFastChromium(vulkanDriver) {
  const stock = join(chromiumFolder, 'libvk_swiftshader.so');
  const compiler = onPath('cc');
  if (!vulkanDriver || !compiler || !existsSync(stock)) return '';
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'cresset', 'chromium-llvmpipe');
  const stamp = join(folder, '.version');
  const version = output('dpkg-query', ['-W', '-f', '${Version}', 'chromium']);
  const binary = join(folder, 'chromium');
  if (existsSync(binary) && existsSync(stamp) && readFileSync(stamp, 'utf8') === version) return binary;

  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, '..'), { recursive: true });
  if (!run('cp', ['-al', chromiumFolder, folder], { stdio: 'ignore' })) {
    // Hard links fail across file systems and for other owners.
    rmSync(folder, { recursive: true, force: true });
    cpSync(chromiumFolder, folder, { recursive: true });
  }
  const library = join(folder, 'libvk_swiftshader.so');
  rmSync(library, { force: true });
  const source = join(root, 'scripts', 'machine', 'llvmpipe-shim.c');
  if (!run(compiler, ['-O2', '-shared', '-fPIC', '-fvisibility=hidden', '-o', library, source, '-ldl'])) {
    rmSync(folder, { recursive: true, force: true });
    return '';
  }
  writeFileSync(stamp, version);
  return binary;
}

function preparePnpm() {
  process.env.PATH = [join(toolsFolder, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  if (onPath('pnpm')) return;
  say(`installing pnpm ${pnpmVersion}`);
  const shell = process.platform === 'win32';
  const quiet = ['--no-fund', '--no-audit', '--loglevel=error'];
  if (
    run('npm', ['install', '--global', ...quiet, `pnpm@${pnpmVersion}`], { shell, stdio: 'ignore' }) &&
    onPath('pnpm')
  )
    return;
  // Without the right to install for everybody: inside this folder, for these scripts only.
  mkdirSync(toolsFolder, { recursive: true });
  if (!run('npm', ['install', '--prefix', toolsFolder, ...quiet, `pnpm@${pnpmVersion}`], { shell })) {
    throw new Error('npm could not install pnpm; see its message above');
  }
}

function installPackages() {
  const quiet = ['--frozen-lockfile', '--prefer-offline', '--reporter=append-only', '--loglevel=error'];
  // Asked for by hand: in CI pnpm may otherwise wait for a confirmation that nobody gives.
  const environment = { env: { ...process.env, CI: 'true' }, shell: process.platform === 'win32' };
  if (!run('pnpm', ['install', ...quiet], environment)) {
    throw new Error('pnpm could not install the packages of pnpm-lock.yaml; see its message above');
  }
}

/**
 * Installs what is missing and reports which lanes this machine has. PATH of this process then includes pnpm.
 * @returns {{ browser: boolean, vulkan: boolean, missing: string[] }}
 */
export function prepareMachine() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(`Node ${process.versions.node} is too old: 20.19 or later is needed`);
  }
  const { id, codename } = distribution();
  const prefix = id === 'debian' ? rootPrefix() : undefined;
  if (prefix) installDebianPackages(prefix, codename);
  preparePnpm();
  installPackages();

  const browserPath = findBrowser();
  const linux = process.platform === 'linux';
  const vulkanDriver = linux ? softwareVulkanDriver() : '';
  const fastBrowserPath = linux ? prepareFastChromium(vulkanDriver) : '';
  const lines = [
    `CHROMIUM_PATH=${browserPath}`,
    `CHROMIUM_LLVMPIPE_PATH=${fastBrowserPath}`,
    `VK_DRIVER_FILES=${vulkanDriver}`,
    `DENO_PATH=${findDeno()}`,
    `FIREFOX_PATH=${findFirefox()}`,
  ];
  writeFileSync(join(root, '.gpu-lanes.env'), `${lines.join('\n')}\n`);

  const missing = [];
  if (!browserPath) missing.push('a browser: install Chrome, Chromium or Edge, or set CHROMIUM_PATH');
  if (linux && !softwareVulkanIsRecent()) {
    missing.push("a Vulkan driver for WebGPU in Node: install Mesa's Vulkan drivers, version 24 or later");
  }
  for (const what of missing) say(`missing ${what}`);
  if (missing.length > 0 && process.env.CI) throw new Error('in CI nothing may be missing');
  return { browser: browserPath !== '', vulkan: !linux || softwareVulkanIsRecent(), missing };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    prepareMachine();
    say('ready');
  } catch (error) {
    console.error(`setup: ${error.message}`);
    process.exitCode = 1;
  }
}
