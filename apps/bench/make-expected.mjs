// Writes src/programs/expected.json: what PyTorch makes of the bench's own programs. PYTHON names an interpreter that has PyTorch.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

const server = await createServer({
  configFile: path('../../vite.config.ts'),
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
  logLevel: 'error',
});
const { programs } = await server.ssrLoadModule('/apps/bench/src/programs/programs.ts');
const { trainingPrograms } = await server.ssrLoadModule('/apps/bench/src/programs/training.ts');
const { pytorchProgram } = await server.ssrLoadModule('/apps/bench/src/programs/pytorch-program.ts');
await server.close();

const input = JSON.stringify([...programs, ...trainingPrograms].map(pytorchProgram));
const python = process.env.PYTHON || 'python3';
const { status, stdout } = spawnSync(python, [path('make-expected.py')], {
  input,
  encoding: 'utf8',
  stdio: ['pipe', 'pipe', 'inherit'],
  maxBuffer: 1 << 28,
});
if (status !== 0) throw new Error(`${python} could not compute the answers`);
writeFileSync(path('src/programs/expected.json'), `${stdout}\n`);
