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
for (const { name } of Deno.readDirSync(folder)) {
  if (!name.endsWith('.wgsl')) continue;
  device.pushErrorScope('validation');
  device.createShaderModule({ label: name, code: Deno.readTextFileSync(`${folder}/${name}`) });
  const error = await device.popErrorScope();
  if (error) {
    refused++;
    console.log(`${name}: ${error.message}`);
  } else accepted++;
}
console.log(`naga: ${accepted} accepted, ${refused} refused`);
Deno.exit(refused > 0 ? 1 : 0);
