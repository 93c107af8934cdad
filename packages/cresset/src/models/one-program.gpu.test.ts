import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createModule, tensor, type Tensor } from '../index.ts';

const page = readFileSync(new URL('../../../../docs/design.md', import.meta.url), 'utf8');
const [, section] = /\n## One program, all the way\n(.*?)\n## /s.exec(page)!;
const [source, compiled, planned, , shader, stretch] = [...section.matchAll(/```\w*\n(.*?)```/gs)].map(
  ([, text]) => text,
);

const waves = (...shape: number[]): Tensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length: count }, (_, at) => Math.sin(at)),
    shape,
  );
};

it('is what docs/design.md shows of it', async () => {
  const module = await createModule('Block', { worker: false, device: 'webgpu' });
  await module.registerParameter('weight', waves(64, 64));
  await module.registerParameter('bias', waves(64));
  await module.registerAttribute('residual', 'bool', true);
  await module.define(source);
  expect(await module.graph('forward')).toBe(compiled);
  expect(await module.graph('forward', { optimized: true })).toBe(planned);

  const x = waves(32, 64);
  for (let call = 0; call < 3; call++) await module.forward(x);
  const { stretches } = await module.explain();
  expect(stretches).toMatchObject([JSON.parse(stretch)]);

  const { kernels } = await module.profile([x]);
  const { code } = kernels.find(({ place }) => place === 'device')!;
  let at = 0;
  for (const piece of shader.split('…\n')) {
    const found = code!.indexOf(piece, at);
    expect(found, piece).toBeGreaterThanOrEqual(at);
    at = found + piece.length;
  }
  await module.dispose();
});
