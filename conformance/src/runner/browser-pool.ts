import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright';
import { launchOptions } from '../../../scripts/machine/gpu-lanes.mjs';
import type { CaseReference, CaseResult } from '../cases/case.ts';
import type { Options } from './command-line.ts';
import { settingsOf } from './runner-settings.ts';

const pageFolder = fileURLToPath(new URL('./page/', import.meta.url));
const contentTypes: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** Runs cases in one Chromium page; a case that hangs or crashes gets its page closed and the next a new one. */
export async function runInBrowser(cases: readonly CaseReference[], options: Options): Promise<CaseResult[]> {
  const folders = new Set(cases.map(({ file }) => resolve(dirname(file))));
  const server = await serve([...folders]);
  const browser = await chromium.launch(launchOptions);
  const address = `http://localhost:${(server.address() as AddressInfo).port}/`;
  const results: CaseResult[] = [];
  let page: Page | null = null;
  let loaded = { file: '', lines: [''] };
  try {
    for (const { file, line, id, suite } of cases) {
      if (loaded.file !== file) loaded = { file, lines: (await readFile(file, 'utf8')).split('\n') };
      page ??= await openPage(() => browser.newPage(), address);
      const answer = await within(options.timeout, runCase(page, options, loaded.lines[line], resolve(dirname(file))));
      if (typeof answer !== 'string') results.push(answer);
      else {
        results.push({ id, suite, passed: false, reason: answer });
        // A page that hangs may not even close: leave it behind.
        void page.close().catch(() => undefined);
        page = null;
      }
    }
  } finally {
    await browser.close();
    server.close();
  }
  return results;
}

async function openPage(newPage: () => Promise<Page>, address: string): Promise<Page> {
  const page = await newPage();
  await page.goto(address);
  await page.waitForFunction(() => 'runCase' in window);
  return page;
}

async function runCase(page: Page, options: Options, text: string, folder: string): Promise<CaseResult | string> {
  try {
    return await page.evaluate(
      ([settings, json, path]) =>
        (window as unknown as { runCase(...args: unknown[]): Promise<CaseResult> }).runCase(settings, json, path),
      [settingsOf(options), text, folder] as const,
    );
  } catch (error) {
    return `the page failed: ${(error as Error).message.split('\n')[0]}`;
  }
}

async function within(seconds: number, answer: Promise<CaseResult | string>): Promise<CaseResult | string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((settle) => {
    timer = setTimeout(() => settle(`no result after ${seconds} s`), seconds * 1000);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Serves the page, and files of the corpora's own folders below `/corpus/`. */
async function serve(folders: readonly string[]): Promise<Server> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname);
    const wanted = path.startsWith('/corpus/')
      ? resolve(path.slice('/corpus/'.length))
      : join(pageFolder, path === '/' ? 'index.html' : path);
    const allowed = [...folders, resolve(pageFolder)].some((folder) => wanted.startsWith(folder + sep));
    void send(response, allowed ? wanted : null);
  });
  await new Promise<void>((listening) => {
    server.listen(0, 'localhost', listening);
  });
  return server;
}

async function send(response: ServerResponse, file: string | null): Promise<void> {
  const found = file !== null && (await stat(file).catch(() => null))?.isFile();
  if (!found) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': contentTypes[extname(file)] ?? 'application/octet-stream' });
  createReadStream(file).pipe(response);
}
