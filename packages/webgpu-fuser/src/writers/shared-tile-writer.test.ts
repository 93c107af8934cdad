import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  chooseSchedule,
  normalise,
  signatureOf,
  TensorView,
  type Contraction,
  type SharedTileSchedule,
} from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { plainGpu } from '../../../../test-setup/plain-gpu.ts';
import type { ShaderText } from '../shader-writer.ts';
import { writeShader } from '../shader.ts';

/** A square product of sides that lie in memory as their dimensions are named. */
function product(size: number, layout: string): Contraction {
  const [left, right, out] = Array.from({ length: 3 }, () => new TensorView(Tensor.empty([size, size], 'float32')));
  const [m, n] = out.axes('mn');
  const k = axis('k', left.sizes[1]);
  return {
    kind: 'contraction',
    label: 'aten::mm',
    batch: [],
    m,
    n,
    k,
    left: left.at(layout.startsWith('mk') ? [m, k] : [k, m]),
    right: right.at(layout.endsWith('kn') ? [k, n] : [n, k]),
    stores: [{ operand: out.operand, offset: out.offsetAt([m, n]), value: accumulator }],
  };
}

async function shader(kernel: Contraction, maxWorkgroupSize: number) {
  const launch = chooseSchedule(normalise(kernel), { ...plainGpu, maxWorkgroupSize });
  const write = (): ShaderText => writeShader(launch, signatureOf(launch.kernel), false);
  for (let text = write(); text.missing; text = write()) await text.missing();
  return { code: write().code, schedule: launch.schedule as SharedTileSchedule };
}

/** The lines of the innermost block that begins with a text, and how often a loop `for (… < limit; … += step)` runs. */
function loopsOf(code: string, start: RegExp): { body: string; trips: number }[] {
  const lines = code.split('\n');
  return lines.flatMap((line, at) => {
    if (!start.test(line)) return [];
    const [, from, limit, step] = /for \(var \w+ = ([^;]+); \w+ < (\w+); \w+(?: \+= (\d+)|\+\+)\)/.exec(line)!;
    const indent = /^ */.exec(line)![0];
    const end = lines.findIndex((other, index) => index > at && other === `${indent}}`);
    const first = from === '0' || from === 'i32(lane)' ? 0 : NaN;
    const trips = Math.ceil((Number(limit) - first) / Number(step ?? 1));
    return [{ body: lines.slice(at + 1, end).join('\n'), trips }];
  });
}

const count = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

test.each([
  ['mk,kn', 256],
  ['mk,nk', 256],
  ['km,kn', 256],
  ['km,nk', 256],
  ['mk,nk', 64],
])('a product of 1024³, sides %s and %i threads: what is loaded for each multiply-add', async (layout, threads) => {
  const { code, schedule } = await shader(product(1024, layout), threads);
  expect(schedule.kind).toBe('shared tile');
  const [piece] = /for \(var first_k = [^]*?\n {2}\}/.exec(code)!;
  // Each thread's share of a piece of the sum: vectors of four from storage, then from workgroup memory.
  const staging = loopsOf(piece, /for \(var cell/);
  const fromStorage = staging.reduce((sum, { body, trips }) => sum + trips * count(body, /buffer\d\[/g), 0);
  const [{ body, trips }] = loopsOf(piece, /for \(var four/);
  const multiplyAdds = 4 * trips * count(body, / \+= left\d+\.[xyzw] \* right\d+;/g);
  const fromWorkgroup = trips * count(body, /_tile\[/g);
  expect(multiplyAdds).toBe(schedule.tileM * schedule.tileN * schedule.depth);
  expect(staging.length).toBe(2);
  // Even element by element.
  expect((4 * fromStorage) / multiplyAdds).toBeLessThanOrEqual(1 / 16);
  expect((4 * fromWorkgroup) / multiplyAdds).toBeLessThanOrEqual(1 / 4);
  expect(count(code, /workgroupBarrier\(\)/g)).toBe(2);
  expect(count(piece, /workgroupBarrier\(\)/g)).toBe(2);
  expect(count(code, /array<vec4<f32>>/g)).toBe(2);
});

test('rows that no vector begins with are loaded element by element, and what is stored stays as it is', async () => {
  const { code } = await shader(product(1023, 'mk,nk'), 256);
  expect(count(code, /array<vec4<f32>>/g)).toBe(0);
  const turned = await shader(product(1024, 'mk,nk'), 256);
  expect(turned.code).toContain('var<storage, read_write> buffer2: array<f32>');
  expect(turned.code).toMatch(/select\(vec4<f32>\(\), four\d, flat_step\d+ < params\.p\d\)/);
});
