// Where an application of an environment is put together as its author would have it: in a folder outside of the workspace, with its
// tools and the packed library in `node_modules`, so that nothing of it comes from the library's sources.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../../scripts/machine/process-group.mjs';

const apps = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
const minutes = 60_000;

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** `@scope/name@1.2.3` as its two parts. */
function splitTool(tool) {
  const at = tool.lastIndexOf('@');
  return { name: tool.slice(0, at), version: tool.slice(at + 1) };
}

/** Where the workspace has this version of a package, or undefined. */
function inWorkspace(tool) {
  const { name, version } = splitTool(tool);
  return [apps, root]
    .map((folder) => join(folder, 'node_modules', name))
    .find((folder) => existsSync(folder) && readJson(join(folder, 'package.json')).version === version);
}

/**
 * Packs the library and unpacks it as an installation would.
 * @returns {Promise<string>} the folder of the package
 */
export async function packLibrary(folder) {
  const packed = join(folder, 'packed');
  rmSync(packed, { recursive: true, force: true });
  mkdirSync(packed, { recursive: true });
  const pack = ['--dir', join(root, 'packages', 'cresset'), 'pack', '--pack-destination', packed];
  const { status } = await runToEnd('pnpm', pack, { quiet: true });
  const archive = readdirSync(packed).find((name) => name.endsWith('.tgz'));
  if (status !== 0 || !archive) throw new Error('the package could not be packed');
  await runToEnd('tar', ['xzf', archive], { folder: packed });
  const library = join(packed, 'package');
  if (!existsSync(join(library, 'dist'))) throw new Error('the package has no dist: run `pnpm build` first');
  return library;
}

/** Tools that the workspace has are linked, where it has them all; others npm installs, unless they are there from the last time. */
async function installTools(folder, tools) {
  const modules = join(folder, 'node_modules');
  const places = tools.map(inWorkspace);
  const wanted = JSON.stringify(tools);
  const installed = join(modules, '.tools.json');
  const isLinked = places.every(Boolean);
  if (!isLinked && existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return;
  rmSync(modules, { recursive: true, force: true });
  mkdirSync(modules, { recursive: true });
  if (isLinked) {
    places.forEach((place, index) => {
      const link = join(modules, splitTool(tools[index]).name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(place, link, 'dir');
    });
    symlinkSync(join(apps, 'node_modules', '.bin'), join(modules, '.bin'), 'dir');
    return;
  }
  const quiet = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { folder, mute: true, limitMilliseconds: 10 * minutes };
  const { status, output } = await runToEnd('npm', ['install', ...quiet, ...tools], options);
  if (status !== 0) throw new NotInstalled(output.trim().split('\n').slice(0, 6).join('\n'));
  writeFileSync(installed, wanted);
}

/** The registry does not have what an environment needs. */
export class NotInstalled extends Error {}

/**
 * Puts an environment's application together.
 * @param {import('./environments.mjs').Environment} environment
 * @param {{ folder: string, library: string, tools: string[] }} options
 */
export async function assemble(environment, { folder, library, tools }) {
  mkdirSync(folder, { recursive: true });
  cleanUp(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }));
  await installTools(folder, tools);
  install(folder, library);
  const shared = join(apps, 'shared');
  for (const name of ['digits.js', 'page.js', 'main.js']) cpSync(join(shared, name), join(folder, name));
  if (environment.page) cpSync(join(shared, `${environment.page}.html`), join(folder, 'index.html'));
  const own = join(apps, environment.app);
  if (existsSync(own)) cpSync(own, folder, { recursive: true });
}

/** Gives an application the library; from a copy of it, as tools follow links out of `node_modules`. */
function install(folder, library) {
  const place = join(folder, 'node_modules', 'cresset');
  rmSync(place, { recursive: true, force: true });
  cpSync(library, place, { recursive: true });
}

/**
 * Leaves of an application nothing but its tools. What they keep to be faster goes too: another build of the library has the same version,
 * so none of it may be trusted.
 */
function cleanUp(folder) {
  const caches = ['.cache', '.vite', 'cresset'].map((name) => join('node_modules', name));
  const others = readdirSync(folder).filter((name) => name !== 'node_modules');
  for (const name of [...others, ...caches]) rmSync(join(folder, name), { recursive: true, force: true });
}

/** A package in the library's place that does nothing: what a page transfers with it is the framework's. */
export const nothing = join(apps, 'nothing');

/** The version of the tool that an environment is named after, as it was installed. */
export function installedVersion(folder, tools) {
  if (tools.length === 0) return '';
  return readJson(join(folder, 'node_modules', splitTool(tools[0]).name, 'package.json')).version;
}
