// Run by Deno, whose WebGPU is wgpu: naga's verdict on every shader of a folder. See check-shaders.mjs.
const adapter = await navigator.gpu.requestAdapter();
if (!adapter) {
  console.log('naga: no adapter');
  Deno.exit(2);
}
const requiredFeatures = [...adapter.features].filter((feature) => feature === 'shader-f16') as GPUFeatureName[];
const device = await adapter.requestDevice({ requiredFeatures });
const [folder] = Deno.args;
let accepted = 0;
let refused = 0;
let beyond = 0;
for (const { name } of Deno.readDirSync(folder)) {
  if (!name.endsWith('.wgsl')) continue;
  const code = Deno.readTextFileSync(`${folder}/${name}`);
  // A device of naga's has no subgroups, and no shader gets to it that wants them.
  if (code.includes('enable subgroups;')) {
    beyond++;
    continue;
  }
  device.pushErrorScope('validation');
  device.createShaderModule({ label: name, code });
  const error = await device.popErrorScope();
  if (error) {
    refused++;
    console.log(`${name}: ${error.message}`);
  } else accepted++;
}
console.log(`naga: ${accepted} accepted, ${refused} refused, ${beyond} left out that use subgroups`);
Deno.exit(refused > 0 ? 1 : 0);
