// Asks both WGSL compilers about every shader of a folder: Tint, through Dawn in Node, and naga, through Deno.
//   pnpm -s conformance --corpus DIR --device webgpu --no-small-host --dump-shaders FOLDER
//   GPU_SHADERS=FOLDER pnpm gpu
//   node scripts/check-shaders.mjs FOLDER
// Where Deno has no binary for this machine naga is skipped, status 77.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, globals } from 'webgpu';
import { denoPath, vulkanEnvironment } from './machine/gpu-lanes.mjs';

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
  const script = fileURLToPath(new URL('naga-shaders.ts', import.meta.url));
  if (!denoPath) {
    console.log('naga: skipped, there is no deno (pnpm run setup unpacks it)');
    return 77;
  }
  const { status } = spawnSync(denoPath, ['run', '--allow-read', '--no-check', script, folder], {
    stdio: 'inherit',
    env: { ...process.env, ...vulkanEnvironment },
  });
  return status ?? 1;
}

const isAccepted = await checkWithTint();
const status = checkWithNaga();
process.exit(isAccepted ? status : 1);
