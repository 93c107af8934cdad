// Asks both WGSL compilers about every shader of a folder: Tint, through Dawn in Node, and naga, through Deno.
//   pnpm -s conformance --corpus DIR --device webgpu --no-small-host --dump-shaders FOLDER
//   node scripts/check-shaders.mjs FOLDER
// Deno is no dependency of the workspace; where it is not on the PATH (or named by DENO_PATH) naga is skipped, status 77.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, globals } from 'webgpu';
import { vulkanEnvironment } from './gpu-lanes.mjs';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node scripts/check-shaders.mjs FOLDER');
  process.exit(2);
}

/** Dawn's null backend compiles and computes nothing: it needs no driver, and has every feature. */
async function checkWithTint() {
  Object.assign(globalThis, globals);
  // Held on to: Dawn goes with it.
  globalThis.dawn = create(['backend=null']);
  const adapter = await globalThis.dawn.requestAdapter();
  const device = await adapter.requestDevice({ requiredFeatures: ['shader-f16', 'subgroups'] });
  const names = readdirSync(folder).filter((name) => name.endsWith('.wgsl'));
  let refused = 0;
  for (const name of names) {
    device.pushErrorScope('validation');
    device.createShaderModule({ label: name, code: readFileSync(join(folder, name), 'utf8') });
    const error = await device.popErrorScope();
    if (error) {
      refused++;
      console.log(`${name}: ${error.message}`);
    }
  }
  console.log(`Tint: ${names.length - refused} accepted, ${refused} refused`);
  return refused === 0 && names.length > 0;
}

function checkWithNaga() {
  const deno = process.env.DENO_PATH || 'deno';
  const script = fileURLToPath(new URL('naga-shaders.ts', import.meta.url));
  const { status, error } = spawnSync(deno, ['run', '--allow-read', '--no-check', script, folder], {
    stdio: 'inherit',
    env: { ...process.env, ...vulkanEnvironment },
  });
  if (error?.code === 'ENOENT') {
    console.log('naga: skipped, there is no deno on the PATH (npm install --global deno@2.9.6)');
    return 77;
  }
  return status ?? 1;
}

const isAccepted = await checkWithTint();
const status = checkWithNaga();
process.exit(isAccepted ? status : 1);
