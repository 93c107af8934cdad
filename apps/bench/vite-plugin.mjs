// What the bench needs of Vite: whole models served under /models, with a list of those that have a twin in ONNX, files of workloads, and a version.
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PythonProcess } from './pytorch/python-process.mjs';
import { workloadFolder } from './workloads/make.mjs';

/** Whole models with PyTorch's answers, where they lie beside this repository. */
export const modelFolder = fileURLToPath(new URL('../../../shared/models', import.meta.url));

/** The models of the folder that are there as `.pt`, as `.onnx` and with cases. */
export function modelNames() {
  if (!existsSync(modelFolder)) return [];
  const files = (folder) => {
    const name = folder.replaceAll('-', '_');
    return [`${name}.pt`, `${name}.onnx`, 'cases.jsonl'].map((file) => join(modelFolder, folder, file));
  };
  return readdirSync(modelFolder).filter((name) => files(name).every((file) => existsSync(file)));
}

function listModels(_request, response) {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(modelNames()));
}

const filesOf =
  (folder) =>
  ({ url = '' }, response, next) => {
    const file = normalize(join(folder, decodeURIComponent(url.split('?')[0])));
    if (!file.startsWith(folder) || !existsSync(file) || !statSync(file).isFile()) return next();
    response.setHeader('content-type', 'application/octet-stream');
    createReadStream(file).pipe(response);
  };

/** Serves what PyTorch answers, where PYTHON names an interpreter that has it; files are those of the folder with models. */
function servePyTorch(server) {
  const python = process.env.PYTHON;
  let peer = null;
  server.httpServer?.on('close', () => peer?.close());
  // Others have their turns meanwhile: whoever asks again finds the connection as it was.
  if (server.httpServer) server.httpServer.keepAliveTimeout = 0;
  const answer = async (request) => {
    if (!python) throw new Error('PYTHON names no interpreter that has PyTorch');
    peer ??= new PythonProcess(python, fileURLToPath(new URL('pytorch/turns.py', import.meta.url)), [modelFolder]);
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    return peer.ask(text);
  };
  server.middlewares.use('/pytorch', (request, response) => {
    answer(request).then(
      (text) => response.end(text),
      (error) => {
        response.statusCode = 500;
        response.end(error.message);
      },
    );
  });
}

/** jax-js is the one library that does not tell its version. */
const jaxPackage = new URL('node_modules/@jax-js/jax/package.json', import.meta.url);
const arePeersInstalled = existsSync(jaxPackage);
const jaxVersion = arePeersInstalled ? JSON.parse(readFileSync(jaxPackage, 'utf8')).version : '';

const isPeer = (name) => /^(onnxruntime-web|@tensorflow|@jax-js)\//.test(`${name}/`);

/** @returns {import('vite').Plugin} */
export function benchPlugin() {
  const serve = (server) => {
    server.middlewares.use('/models/index.json', listModels);
    server.middlewares.use('/models', filesOf(modelFolder));
    server.middlewares.use('/workloads', filesOf(workloadFolder));
    servePyTorch(server);
  };
  return {
    name: 'bench',
    // No headers that would isolate the page, and so no threads of WebAssembly: every library has one thread on the host.
    config: () => ({ define: { __JAX_VERSION__: JSON.stringify(jaxVersion) } }),
    // Where the libraries are not installed the page says so, and Cresset runs alone.
    resolveId: (name) => (isPeer(name) && !arePeersInstalled ? `\0not-installed:${name}` : null),
    load: (id) =>
      id.startsWith('\0not-installed:')
        ? "throw new Error('not installed: `pnpm bench` installs it'); export default null;"
        : null,
    configureServer: serve,
    configurePreviewServer: serve,
  };
}
