// Builds packages/cresset/dist: the page's module, the engine with its parts, everything at once, and the classic scripts.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import MagicString from 'magic-string';
import { build } from 'vite';
import { aliases } from './aliases.mjs';
import { classicScript, linkPage, noteImports, pageFileOf, SCRIPT_ADDRESS } from './link-page.mjs';
import { linkParts, partFileOf } from './link-parts.mjs';
import { shrinkScripts } from './shrink.mjs';

const source = (file) => fileURLToPath(new URL(`../../packages/cresset/src/${file}`, import.meta.url));
const packageFile = (file) => fileURLToPath(new URL(`../../packages/${file}`, import.meta.url));
/** What computes on a GPU, and on the host. */
const GPU_DEVICE = packageFile('webgpu/src/parts/webgpu.ts');
const HOST_DEVICE = packageFile('wasm-fuser/src/parts/device.ts');
const outDir = fileURLToPath(new URL('../../packages/cresset/dist/', import.meta.url));

/** The half of fflate that compresses comes with what writes files: taken for another module, it does not go where the other half is. */
const deflateWithTheWriter = {
  name: 'deflate-with-the-writer',
  enforce: 'pre',
  async resolveId(id, importer, options) {
    if (id !== 'fflate' || !importer?.endsWith('zip-writer.ts')) return null;
    const resolved = await this.resolve(id, importer, { ...options, skipSelf: true });
    return { ...resolved, id: `${resolved.id}?deflate` };
  },
};

/** Modules of the source that are files of their own in what is published. */
const FILES = {
  'index.ts': 'cresset',
  'engine.ts': 'engine',
  'engine-full.ts': 'engine-full',
  'engine-text.ts': 'engine-text',
};

/** Modules that are there for what they do. */
const ACTING = ['engine.ts', 'engine-full.ts', 'engine/worklet-scope.ts'];

/** Leaves modules that are files of their own to be imported, and takes another `engine-files.ts` for how the engine is found. */
function publishedFiles(engineFiles, ownFiles) {
  const external = new Map(
    Object.entries(FILES)
      .filter(([, file]) => !ownFiles.includes(file))
      .map(([module, file]) => [source(module), `./${file}.js`]),
  );
  return {
    name: 'published-files',
    enforce: 'pre',
    async resolveId(id, importer, options) {
      if (!importer || !id.startsWith('.')) return null;
      const resolved = await this.resolve(id, importer, { ...options, skipSelf: true });
      if (resolved?.id === source('page/placing/engine-files.ts')) return source(`page/placing/${engineFiles}`);
      // They do something when they are run, as the files do that the package says so of.
      if (ACTING.some((module) => resolved?.id === source(module))) resolved.moduleSideEffects = true;
      const file = resolved && external.get(resolved.id);
      return file ? { id: file, external: true } : resolved;
    },
  };
}

/**
 * Addresses of files beside a module stand in the published text as bundlers look for them. This build would take them for files of its
 * own, so it sees marks in their place.
 */
function addressesOfFiles(parts) {
  return {
    name: 'addresses-of-files',
    enforce: 'pre',
    transform(code) {
      const address = /new URL\('\.\/([\w-]+)\.[jt]s', import\.meta\.url\)/g;
      if (!address.test(code)) return null;
      return { code: code.replace(address, (_, file) => `__ADDRESS_OF_${file.replaceAll('-', '$')}__`), map: null };
    },
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue;
        chunk.code = chunk.code
          .replace(MARK, (mark) => addressOf(mark, parts, 'import.meta.url'))
          // Bundlers recognise a worker's type by a plain string only.
          .replaceAll('{type:`module`}', '{type:"module"}');
      }
    },
  };
}

/** The same for a classic script, whose own address is a variable, and whose files no bundler looks for. */
function addressesByScript(parts) {
  return {
    name: 'addresses-by-script',
    renderChunk(code) {
      const text = new MagicString(code).replace(MARK, (mark) => addressOf(mark, parts, SCRIPT_ADDRESS));
      return { code: text.toString(), map: text.generateMap({ hires: 'boundary' }) };
    },
  };
}

const MARK = /__(?:ADDRESS_OF_[\w$]+?|PART_ADDRESSES)__/g;
/** Any mark: the instructions `__IS__`, `__ISNOT__` and `__NOT__` of PyTorch's interpreter look like one. */
const LEFT_MARK = /__(?:ADDRESS_OF_|PART_ADDRESSES|ENGINE_TEXT)/;

/** The text that a mark stands for. */
function addressOf(mark, parts, base) {
  const of = (file) => `new URL("./${file}", ${base})`;
  if (mark === '__PART_ADDRESSES__') return `({${parts.map((file) => `"${file}": ${of(file)}.href`).join(', ')}})`;
  return of(`${mark.slice('__ADDRESS_OF_'.length, -2).replaceAll('$', '-')}.js`);
}

/** One file, with all that its module imports at any time. */
const WHOLE = { output: { codeSplitting: false } };

/**
 * What a module comes to without what it imports later: the modules that it uses itself, and what it exports. Without being told the first, the
 * bundler would make chunks of those that its later files use too, and it would come in pieces; what those files need of it, it would export to everybody.
 */
async function withoutLaterFiles(module, plugins = []) {
  const leaveOut = {
    name: 'leave-out-later-files',
    enforce: 'pre',
    resolveId: (id, _importer, { kind }) => (kind === 'dynamic-import' ? { id, external: true } : null),
  };
  const { output } = await library({ module }, { plugins: [leaveOut, ...plugins], write: false });
  const { modules, exports } = output.find(({ isEntry }) => isEntry);
  return { used: new Set(Object.keys(modules).filter((id) => modules[id].renderedLength > 0)), exports };
}

/** Texts of Python without their comments, in lines that stay where they were. */
const withoutPythonComments = {
  name: 'without-python-comments',
  transform: (code) => (/^ +# /m.test(code) ? { code: code.replace(/^ +# .*$/gm, ''), map: null } : null),
};

async function library(entry, { plugins = [], name, output = {}, emptyOutDir = false, write = true }) {
  const results = await build({
    configFile: false,
    logLevel: 'warn',
    resolve: { alias: aliases },
    plugins: [withoutPythonComments, ...plugins],
    build: {
      target: 'es2022',
      sourcemap: true,
      outDir,
      emptyOutDir,
      lib: { entry, ...(name ? { name, formats: ['iife'] } : { formats: ['es'] }) },
      rolldownOptions: {
        preserveEntrySignatures: 'allow-extension',
        // Vite leaves the white space of ES libraries alone unless the bundler itself is told to minify.
        output: { minify: true, entryFileNames: '[name].js', ...output },
      },
      write,
    },
  });
  return results[0];
}

/**
 * Parts that come in one file with the engine where files of their own would not be found, in the engine's text and in a service worker: what computes on
 * a GPU, and parts of models that see.
 */
const PARTS_WITH_ENGINE = ['part-webgpu.js', 'part-padding.js', 'part-resampling.js'];

const textOf = (file) => readFileSync(join(outDir, file), 'utf8');

/** Parts with those that they need. */
function withNeeds(files, found = new Set()) {
  for (const file of files) {
    if (found.has(file)) continue;
    found.add(file);
    withNeeds(JSON.parse(/needs:(\[.*?\])/.exec(textOf(file))[1]), found);
  }
  return [...found];
}

/**
 * Vite puts files of less than 4096 bytes into the page as they are, where everybody downloads them. Blanks, which compress to nothing, keep
 * a short part a file of its own.
 */
function lengthen(file) {
  const code = textOf(file);
  const missing = 4096 - Buffer.byteLength(code);
  if (missing > 0) writeFileSync(join(outDir, file), `${code}\n/*${' '.repeat(missing)}*/\n`);
}

/**
 * The engine and its parts. What devices of both kinds use comes with the engine: every page has one of them, which is then a single file that the
 * first answer waits for.
 */
async function buildEngine() {
  const { used, exports } = await withoutLaterFiles(source('engine.ts'));
  const [{ used: onGpu }, { used: onHost }] = await Promise.all(
    [GPU_DEVICE, HOST_DEVICE].map((id) => withoutLaterFiles(id)),
  );
  const isInEngine = (id) => used.has(id) || (onGpu.has(id) && onHost.has(id));
  const groups = [
    { name: 'engine', test: isInEngine },
    { name: 'webgpu', test: (id) => id === GPU_DEVICE || onGpu.has(id) },
  ];
  await library(
    { engine: source('engine.ts') },
    {
      // The first of its exports links parts, and is for itself alone.
      plugins: [deflateWithTheWriter, linkParts(exports.filter((name) => name !== 'linkPart'))],
      output: { chunkFileNames: partFileOf, codeSplitting: { groups } },
      emptyOutDir: true,
    },
  );
}

/** The page's module with the files that it imports later, which serve the classic script too. */
async function buildPage(published, parts) {
  const files = published(['cresset']);
  const { used, exports } = await withoutLaterFiles(source('index.ts'), files);
  const outputAs = (name) => ({
    chunkFileNames: pageFileOf,
    codeSplitting: { groups: [{ name, test: (id) => used.has(id) || id.includes('rolldown/runtime') }] },
  });
  const importsOfFiles = new Map();
  await library(
    { cresset: source('index.ts') },
    { plugins: [...files, noteImports(importsOfFiles)], output: outputAs('cresset'), write: false },
  );
  const plugins = [...files, linkPage(exports, importsOfFiles)];
  await library({ cresset: source('index.ts') }, { plugins, output: outputAs('cresset') });
  const script = [addressesByScript(parts), classicScript('cresset')];
  const output = outputAs('cresset.global');
  await library({ 'cresset.global': source('index.ts') }, { plugins: [...plugins, ...script], output });
}

/**
 * Builds all files of the library; `dist` holds nothing else then.
 * @param {() => Promise<void>} declare writes the declarations there: what users of the library see keeps its names
 */
export async function buildLibrary(declare) {
  await buildEngine();
  const parts = readdirSync(outDir).filter((file) => /^part-[\w-]+\.js$/.test(file));
  const published = (ownFiles) => [publishedFiles('published-files.ts', ownFiles), addressesOfFiles(parts)];
  await buildPage(published, parts);
  const modules = { worker: 'worker.ts', 'provide-engine': 'provide-engine.ts', full: 'full.ts' };
  for (const [file, module] of Object.entries(modules)) {
    await library({ [file]: source(module) }, { plugins: published([file]) });
  }
  await library(
    { 'engine-full': source('engine-full.ts') },
    { plugins: published(['engine-full', 'engine']), ...WHOLE },
  );
  await library(
    { 'full.global': source('index.ts') },
    { plugins: [publishedFiles('full-script-files.ts', Object.values(FILES))], name: 'cresset', ...WHOLE },
  );
  await declare();
  await shrinkScripts(outDir);
  for (const file of readdirSync(outDir).filter((each) => each.endsWith('.js'))) {
    if (LEFT_MARK.test(textOf(file))) throw new Error(`a mark of the build was left in ${file}`);
  }
  parts.forEach(lengthen);
  const withEngine = withNeeds(PARTS_WITH_ENGINE);
  const texts = ['engine.js', ...withEngine].map((file) => textOf(file).replace(/\n\/\/# sourceMappingURL=.*\s*$/, ''));
  writeFileSync(join(outDir, 'engine-text.js'), `export default ${JSON.stringify(texts.join('\n'))};\n`);
  const imports = withEngine.map((file) => `import ${JSON.stringify(`./${file}`)};`).join('');
  writeFileSync(join(outDir, 'provide-engine.js'), `${imports}${textOf('provide-engine.js')}`);
}
