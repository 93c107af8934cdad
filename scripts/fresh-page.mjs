// A page that has nothing of the library yet but its page module, and what it fetches from then on.
import { fileURLToPath } from 'node:url';
import { serveApp } from '../e2e/apps/app-server.mjs';
import { untilIdle } from './machine/browser-processor-time.mjs';

const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/**
 * Runs a function in a page that has kept nothing of others; gives what it returned and what the page took of the library, whose files are
 * those of `dist`. `/models/` has the playground's models, `folders` adds to that. Where `library` is the address of another library's module, the page is one that has
 * nothing yet, and files are those beside that module. The page can call `functions` of this process. With `processorSeconds` of the browser it begins when
 * that does nothing by itself.
 */
export async function inFreshPage(
  browser,
  run,
  argument,
  { dist = fromRoot('packages/cresset/dist/'), folders = {}, library, functions = {}, processorSeconds } = {},
) {
  const server = await serveApp({
    folders: {
      '/': fromRoot('e2e/pages/'),
      '/dist/': dist,
      '/models/': fromRoot('apps/playground/public/models/'),
      ...folders,
    },
  });
  const context = await browser.newContext();
  try {
    for (const [name, call] of Object.entries(functions)) await context.exposeFunction(name, call);
    const page = await context.newPage();
    await page.goto(`${server.address}/${library ? 'blank' : 'module'}.html`);
    if (!library) await page.waitForFunction(() => 'cresset' in globalThis);
    if (processorSeconds) await untilIdle(processorSeconds);
    const result = await page.evaluate(run, argument);
    const folder = library ? library.slice(0, library.lastIndexOf('/') + 1) : '/dist/';
    const files = server.transferred.filter(({ path }) => path.startsWith(folder));
    return { result, files: files.map(({ path, bytes }) => ({ name: path.slice(folder.length), bytes })) };
  } finally {
    await context.close();
    server.close();
  }
}
