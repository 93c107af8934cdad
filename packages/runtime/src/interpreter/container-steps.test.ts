import { script } from '@cresset/frontend';
import { ClassType, IntType, ListType, StringType, TensorType, type Type } from '@cresset/ir';
import { Dict, List, ScriptObject, Tensor, type Tuple, type DictKey, type IValue } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { CountingDevice } from '../counting-device-fixture.ts';
import { Program } from '../executor/program-fixture.ts';
import { initializeRuntime } from '../initialize.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ScriptModule } from '../script-module.ts';

beforeAll(() => initializeRuntime());

/** How often an element of a container was looked at. */
let looks = 0;

function countedList(elementType: Type, items: IValue[]): List {
  const counted = new Proxy(items, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d/.test(key)) looks++;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  return new List(elementType, counted);
}

class CountedMap extends Map<DictKey, IValue> {
  override get(key: DictKey): IValue | undefined {
    looks++;
    return super.get(key);
  }

  override *[Symbol.iterator](): MapIterator<[DictKey, IValue]> {
    for (const entry of super.entries()) {
      looks++;
      yield entry;
    }
  }
}

const scalar = (value: number): Tensor => Tensor.fromArray(Float32Array.of(value), [1], 'float32');
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const ints = (count: number): List => countedList(IntType.get(), range(count).map(BigInt));
const tensors = (count: number): List => countedList(TensorType.get(), range(count).map(scalar));

/** A program, and its arguments of a size. */
type Case = readonly [name: string, signature: string, body: string, args: (size: number) => IValue[]];

const cases: readonly Case[] = [
  [
    'l[i] of ints',
    'l: List[int]',
    `
    s = 0
    for i in range(len(l)):
        s += l[i]
    return s`,
    (size) => [ints(size)],
  ],
  [
    'l[i] of tensors',
    'l: List[Tensor]',
    `
    x = l[0]
    for i in range(len(l)):
        x = l[i]
    return x`,
    (size) => [tensors(size)],
  ],
  [
    'for x in l',
    'l: List[Tensor]',
    `
    y = l[0]
    for x in l:
        y = x
    return y`,
    (size) => [tensors(size)],
  ],
  [
    'append and pop',
    'l: List[Tensor], x: Tensor',
    `
    n = len(l)
    for i in range(n):
        l.append(x)
    for i in range(n):
        x = l.pop()
    return x`,
    (size) => [tensors(size), scalar(1)],
  ],
  [
    'l[i] = x',
    'l: List[Tensor], x: Tensor',
    `
    for i in range(len(l)):
        l[i] = x
    return len(l)`,
    (size) => [tensors(size), scalar(1)],
  ],
  [
    'l += [x]',
    'l: List[Tensor], x: Tensor',
    `
    for i in range(len(l)):
        l += [x]
    return len(l)`,
    (size) => [tensors(size), scalar(1)],
  ],
  [
    'slices',
    'l: List[Tensor]',
    `
    s = 0
    for i in range(0, len(l), 4):
        part = l[i:i + 4]
        s += len(part)
    return s`,
    (size) => [tensors(size)],
  ],
  [
    'nested lists',
    'l: List[List[Tensor]]',
    `
    s = 0
    for i in range(len(l[0])):
        pair = [l[0], l[1]]
        x = pair[1][i]
        l.append(l[0])
        l[2] = l[1]
        s += len(pair)
    return s`,
    (size) => [countedList(new ListType(TensorType.get()), [tensors(size), tensors(size)])],
  ],
  [
    'd[k] and k in d',
    'd: Dict[int, Tensor]',
    `
    s = 0
    for i in range(len(d)):
        if i in d:
            d[i] = d[i]
            s += 1
    return s`,
    (size) => [
      new Dict(
        IntType.get(),
        TensorType.get(),
        new CountedMap(range(size).map((at): [DictKey, IValue] => [BigInt(at), scalar(at)])),
      ),
    ],
  ],
  [
    'for k in d, d.items()',
    'd: Dict[str, List[Tensor]]',
    `
    s = 0
    for k in d:
        s += len(d[k])
    for k, v in d.items():
        s += len(v)
    return s`,
    (size) => [
      new Dict(
        StringType.get(),
        new ListType(TensorType.get()),
        new CountedMap(range(size).map((at): [DictKey, IValue] => [`${at}`, tensors(2)])),
      ),
    ],
  ],
  [
    'lists in calls, tuples and objects',
    'l: List[Tensor]',
    `
    x = l[0]
    holder = Holder(l)
    for i in range(len(l)):
        m, x = both(holder.items, i)
        holder.items = m
        pair = (m, x)
        x = pair[1]
    return x`,
    (size) => [tensors(size)],
  ],
  ['torch.stack', 'l: List[Tensor]', '\n    return torch.stack(l)', (size) => [tensors(size)]],
];

const PRELUDE = `
class Holder:
    def __init__(self, items: List[Tensor]):
        self.items = items
def both(l: List[Tensor], at: int) -> Tuple[List[Tensor], Tensor]:
    if at < 0:
        return l, l[0]
    return l, l[at]
`;

async function looksOf([, signature, body, args]: Case, size: number, onDevice: boolean): Promise<number> {
  const unit = script(`${PRELUDE}def f(${signature}):${body}\n`);
  const context = new RuntimeContext({ device: onDevice ? new CountingDevice() : null });
  const module = new ScriptModule(new ScriptObject(new ClassType('__torch__.M')), unit, context);
  const values = args(size);
  looks = 0;
  await module.callFunction(unit.getFunction('__torch__.f'), values);
  return looks;
}

describe.each([
  ['host', false],
  ['device', true],
])('on the %s', (_, onDevice) => {
  it.each(cases)('%s looks at each element so many times, however many there are', async (...program) => {
    // Multiples of the trips that an unrolled loop makes at once: what is left over looks the same for all of them.
    const [small, medium, large] = [
      await looksOf(program, 96, onDevice),
      await looksOf(program, 192, onDevice),
      await looksOf(program, 384, onDevice),
    ];
    expect(large - medium).toBe(2 * (medium - small));
    expect(large).toBeLessThanOrEqual(12 * 384 + 10);
  });
});

describe('a list in an attribute that grows with every run', () => {
  it('is walked ever more seldom, and what it loses is freed', async () => {
    const LENGTH = 30_000;
    const RUNS = 200;
    const unit = script(`${PRELUDE}
def grow(holder: Holder, x: Tensor):
    holder.items.append(x + x)
def replace(holder: Holder, x: Tensor):
    holder.items = [x + x]
`);
    const device = new CountingDevice();
    const module = new ScriptModule(
      new ScriptObject(new ClassType('__torch__.M')),
      unit,
      new RuntimeContext({ device, limits: { smallWork: -1 } }),
    );
    const holder = new ScriptObject(unit.getClass('__torch__.Holder')!);
    holder.setAttribute('items', tensors(LENGTH));
    const x = scalar(1);
    const call = (name: string): Promise<IValue> =>
      module.callFunction(unit.getFunction(`__torch__.${name}`), [holder, x]);
    const { items } = holder.getAttribute('items') as List;
    looks = 0;
    for (let run = 0; run < RUNS; run++) await call('grow');
    expect(looks).toBeLessThan(2 * LENGTH);
    expect(items).toHaveLength(LENGTH + RUNS);

    await call('grow');
    await call('replace');
    const made = items.slice(LENGTH) as Tensor[];
    // As many storages have to gather as a walk through the long list would be worth.
    for (let run = 0; run < LENGTH / 10; run++) await call('replace');
    expect(made.filter(({ storage }) => !storage.isDisposed)).toHaveLength(0);
    const [last] = (holder.getAttribute('items') as List).items as Tensor[];
    expect(last.storage.isDisposed).toBe(false);
  });
});

it('makes a literal anew on every run where somebody may write to it', () => {
  const program = new Program(`
graph():
  %a : int = prim::Constant[value=1]()
  %list : int[] = prim::ListConstruct(%a, %a)
  %pair : (int[], int) = prim::TupleConstruct(%list, %a)
  return (%pair)
`);
  const literal = (): List => ((program.run([]) as readonly IValue[])[0] as Tuple).items[0] as List;
  literal().items.push(5n);
  expect(literal().items).toEqual([1n, 1n]);
});
