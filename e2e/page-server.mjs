// Serves plain pages around the built library: node e2e/page-server.mjs PORT
//   /dist/...       packages/cresset/dist
//   /models/...     the playground's bundled model and its expected answer
//   /shared/...     ../shared beside this project, where that folder exists
//   /...            e2e/pages
// `/strict` in front of any of these adds a Content-Security-Policy that allows scripts and workers of this server only, `/compiling` one that
// allows to compile WebAssembly besides; `/isolated` isolates them from other origins, so that threads may share memory.
// `?ranges=no` answers a range request with the whole file, as simple servers do.
// POST /report hands what a page found to who started the server.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const folders = {
  dist: folder('../packages/cresset/dist/'),
  models: folder('../apps/playground/public/models/'),
  shared: folder('../../shared/'),
};
const pages = folder('pages/');
const contentTypes = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.css': 'text/css; charset=utf-8',
};

/** The file that a path names, never outside the folder it is looked up in. */
function fileFor(path) {
  const [, first, ...rest] = path.split('/');
  const base = folders[first] ?? pages;
  const file = normalize(join(base, folders[first] ? rest.join('/') : path));
  if (!file.startsWith(base) && file + sep !== base) return undefined;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return fileFor(`${path.replace(/\/$/, '')}/index.html`);
  return stats && { file, size: stats.size };
}

/** First and last byte of a single range, or undefined where there is none that can be served. */
function requestedRange(header, size) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const start = match[1] === '' ? Math.max(0, size - Number(match[2])) : Number(match[1]);
  const end = match[1] === '' || match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1);
  return start <= end ? { start, end } : undefined;
}

function answer(request, response) {
  const address = new URL(request.url, 'http://localhost');
  const [, strictness, path] = /^(\/strict|\/compiling|\/isolated|)(\/.*)$/.exec(decodeURIComponent(address.pathname));
  const scripts = strictness === '/compiling' ? "script-src 'self' 'wasm-unsafe-eval'" : "script-src 'self'";
  if (strictness === '/isolated') {
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
  } else if (strictness) response.setHeader('Content-Security-Policy', `${scripts}; worker-src 'self'`);
  response.setHeader('Cache-Control', 'no-store');

  const found = fileFor(path);
  if (!found) {
    response.writeHead(404, { 'Content-Type': 'text/plain' }).end(`${path} is not here\n`);
    return;
  }
  response.setHeader('Content-Type', contentTypes[extname(found.file)] ?? 'application/octet-stream');
  const servesRanges = address.searchParams.get('ranges') !== 'no';
  if (servesRanges) response.setHeader('Accept-Ranges', 'bytes');
  const range = servesRanges ? requestedRange(request.headers.range, found.size) : undefined;
  if (range) {
    response.writeHead(206, {
      'Content-Range': `bytes ${range.start}-${range.end}/${found.size}`,
      'Content-Length': range.end - range.start + 1,
    });
  } else {
    response.writeHead(200, { 'Content-Length': found.size });
  }
  if (request.method === 'HEAD') response.end();
  else createReadStream(found.file, range).pipe(response);
}

/**
 * Serves on localhost.
 * @param {number} port 0 for any that is free
 * @param {(report: unknown) => void} [onReport] gets the JSON that a page posts to /report
 * @returns {Promise<import('node:http').Server>}
 */
export function servePages(port, onReport) {
  const server = createServer((request, response) => {
    if (!onReport || request.method !== 'POST' || request.url !== '/report') return answer(request, response);
    let text = '';
    request.setEncoding('utf8').on('data', (part) => (text += part));
    request.on('end', () => {
      response.writeHead(204).end();
      onReport(JSON.parse(text));
    });
  });
  return new Promise((resolve) => server.listen(port, 'localhost', () => resolve(server)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await servePages(Number(process.argv[2]));
