// Who imports whom: the rules of .dependency-cruiser.mjs, and what each package.json of packages/ declares. `dependencies` are the packages that
// what others can import leads to, `devDependencies` those that only tests import; neither more nor less.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from './machine/process-group.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'cresset-dependencies-'));

/** All modules by their paths, with the paths of what they import; null where a rule is broken. */
async function modulesByPath() {
  const report = join(folder, 'modules.json');
  const places = ['packages', 'apps', 'conformance', 'e2e', 'fuzz'];
  const cruise = ['--config', '.dependency-cruiser.mjs', '--output-type', 'json', '--output-to', report, ...places];
  await runToEnd('depcruise', cruise, { folder: root });
  const { status } = await runToEnd('depcruise-fmt', ['--output-type', 'err', '--exit-code', report], { folder: root });
  if (status !== 0) return null;
  const { modules } = JSON.parse(readFileSync(report, 'utf8'));
  return new Map(modules.map(({ source, dependencies }) => [source, dependencies]));
}

/** The files that a package's exports name. */
function entriesOf(name, paths) {
  const source = `packages/${name}/src/`;
  // What is published of the last package is built of these.
  const own =
    name === 'cresset'
      ? /^(?:index|engine|engine-full|full|worker|provide-engine)\.ts$/
      : /^(?:index\.ts|parts\/[\w-]+\.ts)$/;
  return paths.filter(
    (path) => path.startsWith(source) && own.test(path.slice(source.length)) && !path.endsWith('.test.ts'),
  );
}

/** The package that an import names, of the workspace or of a registry; undefined for files of the package and for what Node has. */
function packageOf({ module, coreModule }) {
  return coreModule || module.startsWith('.') ? undefined : /^(?:@[^/]+\/)?[^/]+/.exec(module)[0];
}

/** The packages that files import which can be reached from others. */
function importedFrom(starts, name, modules) {
  const found = new Set();
  const seen = new Set(starts);
  for (const path of seen) {
    for (const dependency of modules.get(path) ?? []) {
      const imported = packageOf(dependency);
      if (imported) found.add(imported);
      else if (dependency.resolved.startsWith(`packages/${name}/src/`)) seen.add(dependency.resolved);
    }
  }
  return found;
}

/** What is declared too much or too little, in words. */
function faultsOf(name, modules) {
  const paths = [...modules.keys()];
  const manifest = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
  const used = importedFrom(entriesOf(name, paths), name, modules);
  const everywhere = importedFrom(
    paths.filter((path) => path.startsWith(`packages/${name}/src/`)),
    name,
    modules,
  );
  // The workspace itself has what all tests are made with.
  const { devDependencies: ofWorkspace } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const inTests = [...everywhere].filter((each) => !used.has(each) && !Object.hasOwn(ofWorkspace, each));
  // What is published has them inside, and nobody who installs it installs them.
  const wanted = manifest.private
    ? { dependencies: [...used], devDependencies: inTests }
    : { dependencies: [], devDependencies: [...used, ...inTests] };
  return Object.entries(wanted).flatMap(([kind, names]) => {
    const declared = Object.keys(manifest[kind] ?? {});
    return [
      ...declared
        .filter((each) => !names.includes(each))
        .map((each) => `${each} is among the ${kind}, and nothing imports it`),
      ...names
        .filter((each) => !declared.includes(each))
        .map((each) => `${each} is not among the ${kind}, and is imported`),
    ].map((fault) => `packages/${name}/package.json: ${fault}`);
  });
}

try {
  const modules = await modulesByPath();
  const faults = modules && readdirSync(join(root, 'packages')).flatMap((name) => faultsOf(name, modules));
  faults?.forEach((fault) => console.error(fault));
  if (!faults || faults.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
