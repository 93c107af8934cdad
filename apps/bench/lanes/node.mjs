// Runs the bench in this process, with Dawn's WebGPU; see run.mjs.
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { create, globals } from 'webgpu';
import { modelFolder, modelNames } from '../vite-plugin.mjs';
import { workloadFolder } from '../workloads/make.mjs';

const { address, file, ...choice } = JSON.parse(process.argv[2]);
Object.assign(globalThis, globals);
const navigator = { gpu: create([]), userAgent: `Node.js/${process.versions.node}` };
Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true });
const { runInNode } = await import('../dist/node/node.js');
const readerOf = (folder) => async (path) => new Uint8Array(await readFile(join(folder, path)));
const models = { names: modelNames(), read: readerOf(modelFolder) };
const report = await runInNode(choice, models, readerOf(workloadFolder), address);
writeFileSync(file, JSON.stringify({ ...report, environment: `Node ${process.versions.node}` }));
// Libraries leave threads behind.
process.exit(0);
