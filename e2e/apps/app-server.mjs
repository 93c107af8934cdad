// Serves a built application as a network that distributes files would, and counts what a page takes.
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { gzipSync } from 'node:zlib';

const contentTypes = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

/** What browsers ask for that is no part of a program; a worker, a module and what a program fetches are. */
const otherDestinations = new Set(['document', 'style', 'image', 'font', 'manifest']);

const compressed = new Map();

/** A file's bytes of gzip. They are made once: who measures does not wait for them. */
function compressedFile(file) {
  const { mtimeMs } = statSync(file);
  const known = compressed.get(file);
  if (known?.mtimeMs === mtimeMs) return known.bytes;
  const bytes = gzipSync(readFileSync(file), { level: 9 });
  compressed.set(file, { mtimeMs, bytes });
  return bytes;
}

function fileAt(folder, path) {
  const file = normalize(join(folder, path));
  if (!`${file}${sep}`.startsWith(normalize(`${folder}${sep}`))) return undefined;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return fileAt(folder, join(path, 'index.html'));
  return stats?.isFile() ? file : undefined;
}

function pageWith(replacements, file) {
  const text = Object.entries(replacements).reduce(
    (html, [name, value]) => html.replaceAll(name, value),
    readFileSync(file, 'utf8'),
  );
  return gzipSync(text, { level: 9 });
}

/**
 * Serves on a free port of localhost.
 * @param {object} options
 * @param {Record<string, string>} options.folders from the start of a path to the folder that has the rest; the longest start counts
 * @param {Record<string, string>} [options.headers] of every answer
 * @param {Record<string, string>} [options.replacements] in HTML
 * @param {string} [options.uncounted] the start of paths that hold data, not program
 */
export async function serveApp({ folders, headers = {}, replacements = {}, uncounted = '/models/' }) {
  const starts = Object.keys(folders).sort((a, b) => b.length - a.length);
  const transferred = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const start = starts.find((text) => path.startsWith(text));
    const file = start && fileAt(folders[start], path.slice(start.length));
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (!file) {
      // Browsers ask for an icon whether a page has one or not.
      if (path === '/favicon.ico') return void response.writeHead(204).end();
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end();
      return;
    }
    response.setHeader('Content-Type', contentTypes[extname(file)] ?? 'application/octet-stream');
    if (path.startsWith(uncounted)) {
      const body = readFileSync(file);
      response.writeHead(200, { 'Content-Length': body.length }).end(body);
      return;
    }
    // Kept by the browser as anywhere: what page and worker share comes once.
    response.setHeader('Cache-Control', 'public, max-age=3600');
    response.setHeader('Content-Encoding', 'gzip');
    const body = extname(file) === '.html' ? pageWith(replacements, file) : compressedFile(file);
    if (!otherDestinations.has(request.headers['sec-fetch-dest'])) transferred.push({ path, bytes: body.length });
    response.writeHead(200, { 'Content-Length': body.length }).end(body);
  });
  await new Promise((resolve) => server.listen(0, 'localhost', resolve));
  return {
    address: `http://localhost:${server.address().port}`,
    /** Of the program, one for each request that got here: where from, and how many bytes of gzip. */
    transferred,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
