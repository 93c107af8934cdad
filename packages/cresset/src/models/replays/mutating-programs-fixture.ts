import { setJitOptions } from '@cresset/ir';
import type { RuntimeContextOptions } from '@cresset/runtime';
import { List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

/** Bodies of functions of two vectors that write over what they have made, or were given: all that decides the order of launches is in one of them. */
export const mutatingPrograms = {
  'masked, of a difference from a mean': ['v = x - x.mean()', 'v[v > 0.3] = 0.1', 'return v'],
  'masked, of a product with a number': ['v = y * 0.5', 'v[v > 0.3] = 0.1', 'return v'],
  'masked, of a product': ['v = x * y', 'v[v > 0.3] = 0.1', 'return v'],
  'masked, of an activation': [
    'v = x.relu()',
    'v[v > 0.3] = 0.1',
    'w = x.tanh()',
    'w[v > 0.25] = 0.5',
    'return (v, w)',
  ],
  'masked, and negated in place': ['v = -x', 'v[v > 0.3] = 0.1', 'v.neg_()', 'return v'],
  'masked twice, by one mask': ['v = x * y', 'm = v > 0.1', 'v[m] = 0.2', 'w = v + 1', 'v[m] = w[m]', 'return (v, w)'],
  'written over with what it was made into': ['u = (y > 0.2)', 'u.copy_(u * 0.5 + 0.1)', 'return u'],
  'read before and after it is written over': ['v = x + y', 'a = v * 2', 'v.mul_(3)', 'b = v + a', 'return (a, b, v)'],
  'read by what is computed late': ['v = x * 2', 'w = v + 1', 'v.zero_()', 'return (w * y, v)'],
  'written over after its statistics are taken': [
    'm = x.mean()',
    's = (x - m).pow(2).mean()',
    'x.sub_(m)',
    'x.div_(s + 1)',
    'return (x, m)',
  ],
  'turned over in place': ['v = x + 0', 'v.copy_(v.flip(0))', 'v.add_(x)', 'return v'],
  'written in parts': ['v = torch.zeros_like(x)', 'v[1:] = x[:-1]', 'v[:-1] += y[1:]', 'return v * 2'],
  'written in parts that overlap': ['v = x * 1', 'v[1:] = v[:-1] * 2', 'v[:-1] = v[1:] + y[1:]', 'return v'],
  'written while other parts are read': [
    'v = x.repeat(2, 1)',
    'v.add_(v.narrow(1, v.size(1) // 2, 1))',
    'w = v[:, 1:]',
    'w.sub_(v[:, :-1], alpha=2)',
    'torch.mul(x.narrow(0, x.size(0) // 3, 1).expand_as(x), y, out=x)',
    'return (v, x)',
  ],
  'written through a view': ['v = x * 2', 'w = v[::2]', 'w.mul_(0)', 'w.add_(y[:w.size(0)])', 'return (v, w + 1)'],
  'written through a view of two dimensions': [
    'v = torch.cat([x, y])',
    'w = v.view(2, -1)',
    'w[0].add_(w[1])',
    'w[1].mul_(w[0])',
    'return v',
  ],
  'summed up while it changes': [
    'v = x * y',
    's = v.sum()',
    'v.add_(s)',
    't = v.sum()',
    'v.sub_(t)',
    'return (v, s, t)',
  ],
  'a softmax in place': ['v = x.view(1, -1) + y', 'v.copy_(torch.softmax(v, -1))', 'v.mul_(x)', 'return v'],
  'an argument that is written over': ['y.add_(x)', 'z = y * x', 'x.copy_(z)', 'return x + y'],
  'chosen by the host, in a view that begins further on': [
    'v = y.unsqueeze(0).repeat(2, 1)[1]',
    'v[x < 0] = v[x < 0] * 0.5',
    'w = x * 0.7',
    'v.neg_()',
    'return (v, w)',
  ],
  'put by places': ['v = x * 2', 'i = (y > 0).to(torch.int64)', 'v[i] = 7.0', 'w = v[i] + v', 'return (v, w)'],
  'added to by places': [
    'v = x + y',
    'i = torch.arange(x.size(0)).flip(0)',
    'v.index_add_(0, i, x)',
    'return v.exp().add_(v)',
  ],
  'chosen where a condition holds': [
    'v = torch.where(x > 0, x, y)',
    'v.masked_fill_(v < 0, 0)',
    'x.mul_(v)',
    'return x',
  ],
  'ints, counted up': ['v = (x > 0).to(torch.int32)', 'w = v * 2', 'v += w', 'w -= v', 'return (v, w)'],
  'read in a trip that carries something else to the next one': [
    'w = x[: x.size(0) // 12 * 12].view(12, -1)',
    'h = w[0] * 1',
    'u = h',
    'for i in range(w.size(0)):',
    '    g = w[i] * 0.5',
    '    u = h * 2',
    '    h = g',
    'return (u, h)',
  ],
  'kept in a loop': [
    'v = x * 1',
    'for i in range(4):',
    '    v[v > 0.5 * i] *= 0.5',
    '    v = v + y',
    '    v.abs_()',
    'return v',
  ],
} as const;

const source = Object.values(mutatingPrograms)
  .map((lines, at) => `def f${at}(x: Tensor, y: Tensor):\n${lines.map((line) => `    ${line}\n`).join('')}`)
  .join('\n');

function elementsOf(value: IValue): number[][] {
  if (value instanceof Tensor) return [Array.from(value.contiguousArray() as Iterable<number>, Number)];
  return value instanceof List || value instanceof Tuple ? value.items.flatMap(elementsOf) : [];
}

/** All that a call gives, and what it has made of its arguments. */
async function outcomeOf(functions: PythonFunctions, name: string, size: number, call: number): Promise<number[][]> {
  const given = [tensorOf([size], call), tensorOf([size], 3 * call + 1)];
  const result = await functions.call(name, given);
  await Promise.all(given.map(({ storage }) => storage.toHost()));
  return [result, ...given].flatMap(elementsOf);
}

const isClose = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-4 * (1 + Math.abs(b));

/** Which programs give something else on a device than one by one on the host, and in which calls. */
export async function wrongCalls(size: number, calls: number, options: RuntimeContextOptions): Promise<string[]> {
  const titles = Object.keys(mutatingPrograms);
  const outcomesOf = async (functions: PythonFunctions): Promise<number[][][][]> => {
    const outcomes: number[][][][] = [];
    for (const at of titles.keys()) {
      outcomes.push([]);
      for (let call = 0; call < calls; call++) outcomes[at].push(await outcomeOf(functions, `f${at}`, size, call));
    }
    return outcomes;
  };
  setJitOptions({ enabled: false });
  const wanted = await outcomesOf(new PythonFunctions(source, {}));
  setJitOptions({ enabled: undefined });
  const got = await outcomesOf(new PythonFunctions(source, options));
  return titles.flatMap((title, at) =>
    wanted[at].flatMap((want, call) => {
      const values = got[at][call];
      const isSame = values.length === want.length && values.every((each, item) => areClose(each, want[item]));
      return isSame ? [] : `${title}, ${size} elements, call ${call + 1}`;
    }),
  );
}

const areClose = (got: readonly number[], want: readonly number[]): boolean =>
  got.length === want.length && got.every((value, at) => isClose(value, want[at]));
