import { afterAll, describe, expect, it } from 'vitest';
import { script, type Input, type Output } from '../../index.ts';
import { tensor, type Tensor } from './tensor.ts';

const fields = ['length', 'map', 'at', 'concat', 'constructor', 'push', 'values', 'then', 'toString', '__proto__', 'x'];
const source = `
class Odd(NamedTuple):
${fields.map((field) => `    ${field}: int`).join('\n')}

class Span(NamedTuple):
    start: Tensor
    length: Tensor

class Parts(NamedTuple):
    re: float
    im: float

def make():
    return Odd(${fields.map((_, index) => index + 10).join(', ')})

def total(odd: Odd) -> int:
    return odd.length * 100 + odd.map + odd.x

def span(x: Tensor):
    return Span(x, x * 2), 7

def real(parts: Parts, by_name: Dict[str, float]) -> float:
    return parts.re + by_name['im']
`;
const unit = await script<'make' | 'total' | 'span' | 'real'>(source, { device: 'cpu' });
afterAll(() => unit.dispose());

describe('a named tuple', () => {
  it('has all its items, whatever its fields are called, and those as properties', async () => {
    const odd = (await unit.make()) as readonly Output[] & Readonly<Record<string, number>>;
    expect(Array.isArray(odd)).toBe(true);
    expect(Array.from(odd)).toEqual(fields.map((_, index) => index + 10));
    for (const [index, field] of fields.entries()) {
      if (field !== 'length') expect(Object.getOwnPropertyDescriptor(odd, field)?.value, field).toBe(index + 10);
    }
    expect(odd.length).toBe(fields.length);
    expect(JSON.parse(JSON.stringify([...odd]))).toEqual([...odd]);
  });

  it('is taken as it was given, and as an object with its fields', async () => {
    expect(await unit.total((await unit.make()) as readonly Input[])).toBe(10 * 100 + 11 + 20);
    const entries = fields.map((field, index) => [field, index] as const);
    expect(await unit.total(Object.fromEntries(entries))).toBe(1 + 10);
    expect(await unit.real({ re: 1.5, im: 2 }, { re: 3, im: 4 })).toBe(5.5);
  });

  it('keeps tensors called length', async () => {
    const [span, seven] = (await unit.span(tensor([1, 2, 3]))) as [readonly Tensor[] & { start: Tensor }, number];
    expect([span.length, seven]).toEqual([2, 7]);
    expect(span.start.tolist()).toEqual([1, 2, 3]);
    expect(span[1].tolist()).toEqual([2, 4, 6]);
  });
});
