import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  chooseSchedule,
  normalise,
  reduce,
  runningSoftmaxOf,
  signatureOf,
  TensorView,
  unary,
  type Contraction,
  type DeviceCapabilities,
  type Expr,
} from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { plainGpu, softwareGpu } from '../../../../test-setup/plain-gpu.ts';
import { writeShader } from '../shader.ts';

/** `rows` queries of `width` numbers among `positions`, with values of `columns`. */
function attention(rows: number, positions: number, width: number, columns: number): Contraction {
  const view = (...sizes: number[]): TensorView => new TensorView(Tensor.empty(sizes, 'float32'));
  const [queries, keys, values, out] = [
    view(rows, width),
    view(positions, width),
    view(positions, columns),
    view(rows, columns),
  ];
  const [m, n] = out.axes();
  const position = (): ReturnType<typeof axis> => axis('s', keys.sizes[0]);
  const at = (place: Expr): Expr => {
    const e = axis('e', queries.sizes[1]);
    return reduce('sum', [e], binary('mul', queries.at([m, e]), keys.at([place, e])));
  };
  const [k, r, s] = [position(), position(), position()];
  const most = reduce('max', [r], at(r));
  const power = (place: Expr): Expr => unary('exp', binary('sub', at(place), most));
  return {
    kind: 'contraction',
    label: 'attention',
    batch: [],
    m,
    n,
    k,
    left: binary('div', power(k), reduce('sum', [s], power(s))),
    right: values.at([k, n]),
    stores: [{ operand: out.operand, offset: out.offsetAt([m, n]), value: accumulator }],
  };
}

async function written(kernel: Contraction, capabilities: DeviceCapabilities) {
  const launch = chooseSchedule(normalise(runningSoftmaxOf(kernel)!), capabilities);
  const write = () => writeShader(launch, signatureOf(launch.kernel), false);
  let text = write();
  for (; text.missing; text = write()) await text.missing();
  return { workgroups: launch.workgroups, code: text.code };
}

const elementsIn = (code: string): number =>
  [...code.matchAll(/var<workgroup> \w+: array<f32, (\d+)>/g)].reduce((sum, [, count]) => sum + Number(count), 0);

test.each([
  ['software', softwareGpu],
  ['hardware', plainGpu],
] as const)('no scores are stored, and each side is read at one place (%s)', async (_, capabilities) => {
  const { code } = await written(attention(64, 64, 32, 64), capabilities);
  expect(code.match(/var<storage/g)).toHaveLength(4);
  expect(code.match(/read_write/g)).toHaveLength(1);
  expect(code.match(/buffer3\[.*\] = /g)).toHaveLength(capabilities.software ? 4 : 1);
});

test('a block of rows fits into the memory that every device has, whatever the sizes', async () => {
  for (const columns of [1, 17, 64, 128, 500]) {
    for (const rows of [1, 64]) {
      const { code, workgroups } = await written(attention(rows, 64, 32, columns), plainGpu);
      expect(4 * elementsIn(code)).toBeLessThanOrEqual(16384);
      // Two barriers for each piece of the depth, four for the rest of a block of positions.
      expect(code.match(/workgroupBarrier/g)).toHaveLength(6);
      expect(workgroups).toBeGreaterThanOrEqual(Math.ceil(columns / 128));
    }
  }
});
