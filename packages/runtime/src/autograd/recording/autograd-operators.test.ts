import { registerAllOperators } from '@cresset/operators';
import { List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { beforeAll, expect, it } from 'vitest';
import cases from '../goldens/programs.json';
import { leafOf, TapedProgram } from '../tape-fixture.ts';
import { requiresGrad } from './tensor-history.ts';

beforeAll(registerAllOperators);

/** As scripts/fixtures/make-autograd-goldens.py writes values. */
function plain(value: IValue): unknown {
  if (value instanceof Tensor) {
    const elements = [...value.contiguousArray()].map((each) => (Number.isNaN(each) ? null : Number(each)));
    return { elements, sizes: [...value.sizes], requiresGrad: requiresGrad(value) };
  }
  if (value instanceof List || value instanceof Tuple) return value.items.map(plain);
  return typeof value === 'bigint' ? Number(value) : value;
}

/** What PyTorch gave, of single precision. */
function nearly(value: unknown): unknown {
  if (typeof value === 'number') return expect.closeTo(value, 6 - Math.ceil(Math.log10(1 + Math.abs(value))));
  if (Array.isArray(value)) return value.map(nearly);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, nearly(each)]));
}

it.each(cases)('$body', async ({ body, value, error }) => {
  const lines = body.split('\n').map((line) => `    ${line}\n`);
  const program = new TapedProgram(`def f(x):\n${lines.join('')}`);
  const result = program.valueOf(leafOf(Tensor.fromArray(new Float32Array([0.5, -1.5]), [2], 'float32')));
  if (error === undefined) expect(plain(await result)).toEqual(nearly(value));
  else await expect(result).rejects.toMatchObject({ reason: error });
});
