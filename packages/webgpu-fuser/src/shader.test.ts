import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  chooseSchedule,
  constant,
  normalise,
  param,
  reduce,
  select,
  signatureOf,
  TensorView,
  unary,
  type Kernel,
  type Expr,
} from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { fetchRareFunctions } from './functions/function-library.ts';
import type { ShaderText } from './shader-writer.ts';
import { plainGpu, softwareGpu } from '../../../test-setup/plain-gpu.ts';
import { writeShader } from './shader.ts';

function shader(kernel: Kernel, capabilities = plainGpu): string {
  const launch = chooseSchedule(normalise(kernel), capabilities);
  return writeShader(launch, signatureOf(launch.kernel), false).code;
}

const view = (sizes: number[], dtype: 'float32' | 'int64' = 'float32') => new TensorView(Tensor.empty(sizes, dtype));

function softmax(rows: number, columns: number): Kernel {
  const [x, out] = [view([rows, columns]), view([rows, columns])];
  const [i, j] = out.axes();
  const r = axis('r', x.sizes[1]);
  const largest = reduce('max', [r], x.at([i, r]));
  const total = reduce('sum', [r], unary('exp', binary('sub', x.at([i, r]), largest)));
  const value = binary('div', unary('exp', binary('sub', x.at([i, j]), largest)), total);
  const stores = [{ operand: out.operand, offset: out.offsetAt([i, j]), value }];
  return { kind: 'nest', label: 'aten::softmax', axes: [i], innerAxes: [j], stores };
}

test('contiguous operands are one loop, and a scalar is a param', () => {
  const [x, out] = [view([8, 16, 32]), view([8, 16, 32])];
  const axes = out.axes();
  const value = binary('add', binary('mul', x.at(axes), param('float', 3)), constant('float', 0.1));
  const code = shader({
    kind: 'nest',
    label: 'aten::mul, aten::add',
    axes,
    innerAxes: [],
    stores: [{ operand: out.operand, offset: out.offsetAt(axes), value }],
  });
  expect(code).toMatchInlineSnapshot(`
    "// aten::mul, aten::add

    struct Params {
      p0: i32,
      p1: f32,
    }

    @group(0) @binding(0) var<uniform> params: Params;

    @group(0) @binding(1) var<storage, read> buffer0: array<f32>;
    @group(0) @binding(2) var<storage, read_write> buffer1: array<f32>;

    @compute @workgroup_size(64)
    fn main(
      @builtin(global_invocation_id) thread: vec3<u32>,
    ) {
      let point = i32(thread.x);
      if (point >= params.p0) { return; }
      let i0 = point;
      buffer1[i0] = ((buffer0[i0] * params.p1) + 0.1);
    }
    "
  `);
});

test('a bias of the last dimension leaves two loops', () => {
  const [x, bias, out] = [view([8, 16, 32]), view([32]), view([8, 16, 32])];
  const axes = out.axes();
  const sum = binary('add', x.at(axes), bias.at([axes[2]]));
  const code = shader({
    kind: 'nest',
    label: 'aten::add, aten::mul',
    axes,
    innerAxes: [],
    stores: [{ operand: out.operand, offset: out.offsetAt(axes), value: binary('mul', sum, sum) }],
  });
  expect(code).toMatchInlineSnapshot(`
    "// aten::add, aten::mul

    struct Params {
      p0: i32,
      p1: i32,
      p2: i32,
      p3: i32,
    }

    @group(0) @binding(0) var<uniform> params: Params;

    @group(0) @binding(1) var<storage, read> buffer0: array<f32>;
    @group(0) @binding(2) var<storage, read> buffer1: array<f32>;
    @group(0) @binding(3) var<storage, read_write> buffer2: array<f32>;

    @compute @workgroup_size(64)
    fn main(
      @builtin(global_invocation_id) thread: vec3<u32>,
    ) {
      let point = i32(thread.x);
      if (point >= params.p0 * params.p1) { return; }
      let rest0 = point / params.p1;
      let k0 = point - rest0 * params.p1;
      let i0 = rest0;
      let v0 = (buffer0[((i0 * params.p2) + k0)] + buffer1[k0]);
      buffer2[((i0 * params.p3) + k0)] = (v0 * v0);
    }
    "
  `);
});

test('points on a software adapter: what is the same along an axis is loaded once, and no position is divided in the loop', () => {
  const written = (sizes: number[], same: number): string => {
    const [x, y, out] = [view(sizes), view([sizes[1 - same]]), view(sizes)];
    const axes = out.axes();
    const value = binary('mul', x.at(axes), unary('tanh', y.at([axes[1 - same]])));
    const stores = [{ operand: out.operand, offset: out.offsetAt(axes), value }];
    const code = shader({ kind: 'nest', label: 'aten::mul', axes, innerAxes: [], stores }, softwareGpu);
    return code.slice(code.indexOf('let first'));
  };
  // A thread by itself along rows, and all of a workgroup side by side along columns.
  expect(written([1000, 300], 0)).toMatchInlineSnapshot(`
    "let first = stretch0 * 32;
      let end = min(first + 32, params.p0);
      let v0 = params.p2;
      let v1 = hyperbolic_tangent(buffer1[j0]);
      let v2 = params.p3;
      for (var i0 = first; i0 < end; i0++) {
        buffer2[((i0 * v2) + j0)] = (buffer0[((i0 * v0) + j0)] * v1);
      }
    }
    "
  `);
  expect(written([10, 3000], 1)).toMatchInlineSnapshot(`
    "let first = stretch0 * 2048;
      let end = min(first + 2048, params.p1);
      let v0 = (i0 * params.p2);
      let v1 = hyperbolic_tangent(buffer1[i0]);
      let v2 = (i0 * params.p3);
      for (var j0 = first + i32(lane); j0 < end; j0 += 64) {
        buffer2[(v2 + j0)] = (buffer0[(v0 + j0)] * v1);
      }
    }
    "
  `);
});

test('softmax on a GPU: a workgroup a row', () => {
  expect(shader(softmax(100, 64))).toMatchInlineSnapshot(`
    "// aten::softmax

    struct Params {
      p0: i32,
      p1: i32,
      p2: i32,
      p3: i32,
    }

    @group(0) @binding(0) var<uniform> params: Params;

    @group(0) @binding(1) var<storage, read> buffer0: array<f32>;
    @group(0) @binding(2) var<storage, read_write> buffer1: array<f32>;

    fn is_nan(x: f32) -> bool {
      return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
    }

    fn max_nan(x: f32, y: f32) -> f32 {
      return select(select(max(x, y), y, is_nan(y)), x, is_nan(x));
    }

    fn infinity() -> f32 {
      var bits = 0x7f800000u;
      return bitcast<f32>(bits);
    }

    fn exponential(x: f32) -> f32 {
      let whole = bitcast<i32>(x * 1.442695 + 12582912.0) - 0x4b400000;
      let n = f32(whole);
      let r = (x - n * 0.693359375) + n * 0.00021219444;
      let tail = 0.49999994 + r * (0.1666652 + r * (0.041668404 + r * (0.008368899 + r * 0.0013814222)));
      let value = bitcast<f32>(bitcast<i32>(1.0 + (r + r * r * tail)) + (whole << 23u));
      return select(x * 3.0e38, select(0.0, value, x >= -87.33654), x <= 88.72284);
    }

    var<workgroup> scratch_workgroup_max_float: array<f32, 32>;

    fn workgroup_max_float(value: f32, lane: i32) -> f32 {
      scratch_workgroup_max_float[lane] = value;
      workgroupBarrier();
      for (var width = 16; width > 0; width = width / 2) {
        if (lane < width) {
          scratch_workgroup_max_float[lane] = max_nan(scratch_workgroup_max_float[lane], scratch_workgroup_max_float[lane + width]);
        }
        workgroupBarrier();
      }
      return workgroupUniformLoad(&scratch_workgroup_max_float[0]);
    }

    var<workgroup> scratch_workgroup_sum_float: array<f32, 32>;

    fn workgroup_sum_float(value: f32, lane: i32) -> f32 {
      scratch_workgroup_sum_float[lane] = value;
      workgroupBarrier();
      for (var width = 16; width > 0; width = width / 2) {
        if (lane < width) {
          scratch_workgroup_sum_float[lane] = (scratch_workgroup_sum_float[lane] + scratch_workgroup_sum_float[lane + width]);
        }
        workgroupBarrier();
      }
      return workgroupUniformLoad(&scratch_workgroup_sum_float[0]);
    }

    @compute @workgroup_size(32)
    fn main(
      @builtin(local_invocation_index) thread: u32,
      @builtin(workgroup_id) group: vec3<u32>,
    ) {
      let lane = i32(thread);
      let row = i32(group.x);
      if (row >= params.p0) { return; }
      let i0 = row;
      var kept0: array<f32, 2>;
      var kept1: array<f32, 2>;
      var max0 = -infinity();
      let v0 = params.p1;
      let v1 = (i0 * params.p2);
      for (var own0 = 0; own0 < 2; own0++) {
        let step0 = lane + own0 * 32;
        if (step0 >= v0) { continue; }
        let j0 = step0;
        let v2 = buffer0[(v1 + j0)];
        max0 = max_nan(max0, v2);
        kept0[own0] = v2;
      }
      let max1 = workgroup_max_float(max0, lane);
      var sum0 = 0.0;
      for (var own1 = 0; own1 < 2; own1++) {
        let step1 = lane + own1 * 32;
        if (step1 >= v0) { continue; }
        let j1 = step1;
        let v3 = exponential((kept0[own1] - max1));
        sum0 = (sum0 + v3);
        kept1[own1] = v3;
      }
      let sum1 = workgroup_sum_float(sum0, lane);
      let v4 = (i0 * params.p3);
      for (var own2 = 0; own2 < 2; own2++) {
        let step2 = lane + own2 * 32;
        if (step2 >= v0) { continue; }
        let j2 = step2;
        buffer1[(v4 + j2)] = (kept1[own2] / sum1);
      }
    }
    "
  `);
});

test('softmax on a software adapter: a thread a row', () => {
  const code = shader(softmax(100, 64), softwareGpu);
  expect(code.slice(code.indexOf('@compute'))).toMatchInlineSnapshot(`
    "@compute @workgroup_size(8)
    fn main(
      @builtin(global_invocation_id) thread: vec3<u32>,
    ) {
      let point = i32(thread.x);
      if (point >= params.p0) { return; }
      let i0 = point;
      let v0 = params.p1;
      let v1 = (i0 * params.p2);
      var max0 = -infinity();
      let v2 = params.p3;
      let v3 = (i0 * params.p4);
      for (var r0 = 0; r0 < v2; r0++) {
        let v4 = buffer0[(v3 + r0)];
        max0 = max_nan(max0, v4);
      }
      var sum0 = 0.0;
      for (var r1 = 0; r1 < v2; r1++) {
        let v5 = buffer0[(v3 + r1)];
        sum0 = (sum0 + exponential((v5 - max0)));
      }
      let v6 = (i0 * params.p5);
      for (var j0 = 0; j0 < v0; j0++) {
        buffer1[(v6 + j0)] = (exponential((buffer0[(v1 + j0)] - max0)) / sum0);
      }
    }
    "
  `);
});

test('a product of matrices', () => {
  const [a, b, out] = [view([6, 100]), view([100, 8]), view([6, 8])];
  const [m, n] = out.axes('mn');
  const k = axis('k', a.sizes[1]);
  const code = shader(
    {
      kind: 'contraction',
      label: 'aten::mm, aten::relu',
      batch: [],
      m,
      n,
      k,
      left: a.at([m, k]),
      right: b.at([k, n]),
      stores: [{ operand: out.operand, offset: out.offsetAt([m, n]), value: unary('neg', accumulator) }],
    },
    softwareGpu,
  );
  expect(code.slice(code.indexOf('@compute'))).toMatchInlineSnapshot(`
    "@compute @workgroup_size(8)
    fn main(
      @builtin(local_invocation_id) local: vec3<u32>,
      @builtin(workgroup_id) group: vec3<u32>,
    ) {
      let tile = i32(group.x);
      let tiles_n = (params.p1 + 7) / 8;
      let tiles_m = (params.p0 + 7) / 8;
      let first_m = (tile / tiles_n % tiles_m) * 8;
      let first_n = (tile % tiles_n) * 8 + i32(local.x);
      let m0 = first_m;
      let m1 = first_m + 1;
      let m2 = first_m + 2;
      let m3 = first_m + 3;
      let m4 = first_m + 4;
      let m5 = first_m + 5;
      let m6 = first_m + 6;
      let m7 = first_m + 7;
      let n0 = first_n;
      var sum0 = 0.0;
      var sum1 = 0.0;
      var sum2 = 0.0;
      var sum3 = 0.0;
      var sum4 = 0.0;
      var sum5 = 0.0;
      var sum6 = 0.0;
      var sum7 = 0.0;
      let v0 = params.p2;
      let v1 = (m0 * params.p3);
      let v3 = (m1 * params.p3);
      let v5 = (m2 * params.p3);
      let v7 = (m3 * params.p3);
      let v9 = (m4 * params.p3);
      let v11 = (m5 * params.p3);
      let v13 = (m6 * params.p3);
      let v15 = (m7 * params.p3);
      let v17 = params.p4;
      for (var k0 = 0; k0 < v0; k0++) {
        let v2 = buffer0[(v1 + k0)];
        let v4 = buffer0[(v3 + k0)];
        let v6 = buffer0[(v5 + k0)];
        let v8 = buffer0[(v7 + k0)];
        let v10 = buffer0[(v9 + k0)];
        let v12 = buffer0[(v11 + k0)];
        let v14 = buffer0[(v13 + k0)];
        let v16 = buffer0[(v15 + k0)];
        let v18 = buffer1[(n0 + (k0 * v17))];
        sum0 += v2 * v18;
        sum1 += v4 * v18;
        sum2 += v6 * v18;
        sum3 += v8 * v18;
        sum4 += v10 * v18;
        sum5 += v12 * v18;
        sum6 += v14 * v18;
        sum7 += v16 * v18;
      }
      var results = array<f32, 8>(sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7);
      let cells = select(0, 8, tiles_m > 0);
      let v19 = params.p5;
      let v20 = params.p0;
      let v21 = params.p1;
      for (var cell = 0; cell < cells; cell++) {
        let m8 = first_m + (cell / 1);
        let n1 = first_n + (cell % 1) * 8;
        if (m8 < v20 && n1 < v21) {
          buffer2[((m8 * v19) + n1)] = (-results[cell]);
        }
      }
    }
    "
  `);
});

test('a product on a software adapter: a quarter of a load for each multiply-add, and no param in a loop', () => {
  const product = (rows: number, columns: number, isWorkedOut: boolean): string => {
    const [a, b, out] = [view([rows, 100]), view([100, columns]), view([rows, columns])];
    const [m, n] = out.axes('mn');
    const k = axis('k', a.sizes[1]);
    const left = a.at([m, k]);
    const store = { operand: out.operand, offset: out.offsetAt([m, n]), value: accumulator };
    const sides = { left: isWorkedOut ? unary('neg', left) : left, right: b.at([k, n]) };
    return shader(
      { kind: 'contraction', label: 'aten::mm', batch: [], m, n, k, ...sides, stores: [store] },
      softwareGpu,
    );
  };
  const loop = (code: string): string => /for \(var k0 [^]*?\n {2}\}/.exec(code)![0];
  const counts = (code: string): (number | undefined)[] =>
    [/= -?\(?-?buffer\d\[/g, / \+= \w+ \* \w+;/g].map((what) => loop(code).match(what)?.length);
  expect(counts(product(64, 100, false))).toEqual([16, 64]);
  // Even where half of the tile is beyond the last row.
  expect(counts(product(4, 10, false))).toEqual([16, 64]);
  expect(counts(product(3, 100, false))).toEqual([8, 16]);
  expect(counts(product(64, 100, true))).toEqual([8, 16]);
  const code = product(64, 100, false);
  expect([...code.matchAll(/for \([^]*?\n {2}\}/g)].map(([text]) => text.includes('params.'))).toEqual([false, false]);
});

test('64-bit integers bring along what they need, once', () => {
  const [x, out] = [view([5], 'int64'), view([5], 'int64')];
  const [i] = out.axes();
  const product = binary('mul', x.at([i]), param('i64', 3n));
  const code = shader({
    kind: 'nest',
    label: 'aten::mul',
    axes: [i],
    innerAxes: [],
    stores: [{ operand: out.operand, offset: i, value: binary('add', product, constant('i64', -1n)) }],
  });
  expect(code.match(/fn \w+/g)?.sort()).toEqual(['fn i64_add', 'fn i64_mul', 'fn main', 'fn u32_mul_wide']);
  expect(code).toContain(
    'buffer1[i0] = i64_add(i64_mul(buffer0[i0], params.p1), vec2<u32>(4294967295u, 4294967295u));',
  );
});

test('a shader that calls functions few programs call is complete once they were fetched', async () => {
  const [x, out] = [view([4]), view([4])];
  const axes = out.axes();
  const store = { operand: out.operand, offset: out.offsetAt(axes), value: unary('atanh', x.at(axes)) };
  const launch = chooseSchedule(
    normalise({ kind: 'nest', label: 'aten::atanh', axes, innerAxes: [], stores: [store] }),
    plainGpu,
  );
  const write = (): ShaderText => writeShader(launch, signatureOf(launch.kernel), false);
  expect(write()).toMatchObject({
    missing: fetchRareFunctions,
    code: expect.not.stringContaining('fn area_tangent') as string,
  });
  await fetchRareFunctions();
  const { code, missing } = write();
  expect(missing).toBeNull();
  // With what it calls in its turn, before it.
  expect(code.indexOf('fn log1p(')).toBeGreaterThan(0);
  expect(code.indexOf('fn area_tangent(')).toBeGreaterThan(code.indexOf('fn log1p('));
});

test('sums over the same elements are one loop, and what needs another one comes after it', () => {
  const [x, out] = [view([8, 40]), view([3, 8])];
  const [i] = x.axes();
  const r = axis('r', x.sizes[1]);
  const element = x.at([i, r]);
  const total = reduce('sum', [r], element);
  const largest = reduce('max', [r], element);
  const spread = reduce('sum', [r], unary('abs', binary('sub', element, largest)));
  const stores = [total, largest, spread].map((value, at) => ({
    operand: out.operand,
    offset: out.offsetAt([constant('i32', at), i]),
    value,
  }));
  const code = shader({ kind: 'nest', label: 'aten::sum', axes: [i], innerAxes: [], stores }, softwareGpu);
  const loops = code.split('for (').slice(1);
  expect(loops.length).toBe(2);
  expect(loops[0]).toMatch(/sum0 = .*\n\s*max0 = /);
  expect(loops[1]).toContain('sum1 = ');
});

test('sums that need others are one loop, whatever those could stand beside', () => {
  const [x, y, out] = [view([8, 40]), view([8, 40]), view([2, 8])];
  const [i] = x.axes();
  const r = axis('r', x.sizes[1]);
  const spreadOf = (element: Expr): Expr => reduce('sum', [r], binary('sub', element, reduce('max', [r], element)));
  const stores = [x, y].map((of, at) => ({
    operand: out.operand,
    offset: out.offsetAt([constant('i32', at), i]),
    value: spreadOf(of.at([i, r])),
  }));
  const code = shader({ kind: 'nest', label: 'aten::sum', axes: [i], innerAxes: [], stores }, softwareGpu);
  const loops = code.split('for (').slice(1);
  expect(loops.filter((loop) => loop.includes('sum1 = '))).toHaveLength(1);
  expect(loops.at(-1)).toMatch(/sum0 = [^]*sum1 = /);
  expect(code.match(/var (sum|max)\d/g)).toHaveLength(4);
});

test('threads wait for each other once a step, and find what was stored in the one before', () => {
  const [x, out] = [view([12, 3, 20]), view([12, 3, 20])];
  const [t, b, j] = out.axes();
  const before = out.at([binary('sub', t, constant('i32', 1)), b, j]);
  const state = select(binary('eq', t, constant('i32', 0)), constant('float', 0), before);
  const store = { operand: out.operand, offset: out.offsetAt([t, b, j]), value: binary('add', state, x.at([t, b, j])) };
  const kernel: Kernel = { kind: 'recurrence', label: 'scan', time: t, axes: [b], innerAxes: [j], stores: [store] };
  const code = shader(kernel);
  expect(code.match(/storageBarrier\(\)/g)?.length).toBe(1);
  expect(code.match(/var<storage, read_write> buffer\d/g)?.length).toBe(1);
  expect(chooseSchedule(normalise(kernel), plainGpu)).toMatchObject({
    schedule: { kind: 'steps', workgroupSize: 32 },
    workgroups: 3,
  });
});

test('an element that each step changes is read in each of them', () => {
  const [x, out] = [view([12]), view([1])];
  const [t] = x.axes();
  const total = binary('add', out.at([constant('i32', 0)]), x.at([t]));
  const store = { operand: out.operand, offset: constant('i32', 0), value: total };
  const code = shader({ kind: 'recurrence', label: 'scan', time: t, axes: [], innerAxes: [], stores: [store] });
  const [beforeLoop, inLoop] = code.slice(code.indexOf('let row')).split('for (var i0');
  expect(beforeLoop).not.toContain('buffer');
  expect(inLoop).toContain('buffer0[0] + buffer1[i0]');
});

test('a softmax on a GPU reads its input once, and works out each power once', async () => {
  const subgroups = { ...plainGpu, subgroupSize: 32 };
  for (const [columns, capabilities] of [
    [1000, plainGpu],
    [3000, plainGpu],
    [1000, subgroups],
  ] as const) {
    const launch = chooseSchedule(normalise(softmax(100, columns)), capabilities);
    const write = (): ShaderText => writeShader(launch, signatureOf(launch.kernel), false);
    for (let text = write(); text.missing; text = write()) await text.missing();
    const { code } = write();
    const main = code.slice(code.indexOf('fn main'));
    expect(main.match(/buffer0\[/g)?.length).toBe(1);
    expect(main.match(/exponential\(/g)?.length).toBe(1);
    // Twice for each of the two reductions where subgroups reduce first.
    if (capabilities === subgroups) {
      expect(code).toContain('enable subgroups;');
      expect(code.match(/workgroupBarrier/g)?.length).toBe(4);
    }
  }
  // A row that registers have no room for is read by each loop.
  expect(shader(softmax(100, 100_000)).match(/buffer0\[/g)?.length).toBe(3);
});
