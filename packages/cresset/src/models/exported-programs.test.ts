import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { estimate, load, loadCheckpoint, setJitOptions, tensor, Tensor, type ScriptModule } from '../index.ts';
import { failure } from '../../../../test-setup/failure.ts';

const fixture = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`../../../archive/fixtures/${name}`, import.meta.url)));
const results = JSON.parse(new TextDecoder().decode(fixture('exported-results.json'))) as Record<string, unknown[]>;
const open = (name: string, program?: string): Promise<ScriptModule> =>
  load(fixture(`${name}.pt2`), { device: 'cpu', ...(program === undefined ? {} : { program }) });

interface Numbers {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** Compares a result with PyTorch's: tensors are objects of a shape and numbers, whatever they stand in. */
function expectNumbers(got: unknown, want: unknown): void {
  if (got instanceof Tensor) {
    const { shape, data } = want as Numbers;
    expect(got.shape).toEqual(shape);
    Array.from(got.data as ArrayLike<number>, Number).forEach((value, index) =>
      expect(value).toBeCloseTo(data[index], 4),
    );
  } else if (typeof got === 'object' && got !== null && typeof want === 'object') {
    const parts = got instanceof Map ? [...got.values()] : Object.values(got);
    const wanted = Object.values(want!);
    expect(parts.length).toBe(wanted.length);
    parts.forEach((part, index) => expectNumbers(part, wanted[index]));
  } else expect(Number(got)).toBe(want);
}

const rows = (count: number, from: number): Tensor =>
  tensor(
    Float32Array.from({ length: 4 * count }, (_, at) => at / 4 + from),
    [count, 4],
  );
const batchOf = (x: Tensor): { x: Tensor; mask: Tensor } => ({ x, mask: tensor([1, 0, 1]) });
const extras = { kwargs: { extras: { bias: [tensor([0.5])] } } };

describe('a program of torch.export', () => {
  it.each(['exported', 'exported-core'])(
    '%s takes and gives what its author had, for any number of rows',
    async (name) => {
      for (const webAssembly of [true, false]) {
        setJitOptions({ webAssembly });
        await using model = await open(name);
        const [two, three] = results.exported;
        for (let round = 0; round < 3; round++) {
          expectNumbers(await model.call('forward', [batchOf(rows(2, -0.5)), 3n], extras), two);
          expectNumbers(await model.call('forward', [batchOf(rows(3, -1)), 3n], extras), three);
        }
        expect(Array.from((await model.parameter('calls')).data as Float32Array)).toEqual([6]);
      }
      setJitOptions({ webAssembly: undefined });
    },
  );

  it('has the modules, parameters and lines of its author', async () => {
    await using model = await open('exported');
    expect(model.namedModules().map(({ name, className }) => [name, className])).toEqual([
      ['', '__torch__.Classifier'],
      ['body', '__torch__.torch.nn.modules.container.Sequential'],
      ['body.0', '__torch__.torch.nn.modules.linear.Linear'],
    ]);
    expect(model.namedParameters().map(({ name }) => name)).toEqual(['body.0.weight', 'body.0.bias']);
    expect(model.parts.map(({ name }) => name)).toContain('exported-program-reader');
    expect(await model.schema('forward')).toContain('forward(__torch__.Classifier self, ');
    expect(await model.graph('forward')).toContain('prim::GetAttr[name="body"](%self)');
  });

  it.each([
    ['Guard failed: factor == 3', () => [batchOf(rows(2, 0)), 4n], extras],
    ['Guard failed: batch.x.size()[0] <= 8', () => [batchOf(rows(9, 0)), 3n], extras],
    ['Guard failed: batch.mask.size()[0] == 3', () => [{ x: rows(2, 0), mask: tensor([1]) }, 3n], extras],
    ['Ran into a kwarg keyword mismatch', () => [batchOf(rows(2, 0)), 3n], {}],
    ['Trying to flatten user inputs with exported input tree spec', () => [batchOf(rows(2, 0))], extras],
    ['Trying to flatten user inputs', () => [batchOf(rows(2, 0)), 3n], { kwargs: { extras: { bias: [] } } }],
    ['Trying to flatten user inputs', () => [batchOf(rows(2, 0)), 3n], { kwargs: { extras: { other: [] } } }],
  ] as const)('is refused what it was not exported for: %s', async (message, inputs, options) => {
    await using model = await open('exported');
    const error = await failure(model.call('forward', inputs(), options));
    expect(error.message).toContain(message);
    expect(Array.from((await model.parameter('calls')).data as Float32Array)).toEqual([0]);
  });

  it('branches, loops, and computes in regions', async () => {
    await using model = await open('exported-flow');
    const [positive, negative] = results['exported-flow'];
    const x = rows(2, -0.5);
    for (let round = 0; round < 3; round++) {
      expectNumbers(await model.forward(x, tensor(BigInt64Array.of(3n), [])), positive);
      const other = tensor(
        (x.data as Float32Array).map((value) => -value - 1),
        [2, 4],
      );
      expectNumbers(await model.forward(other, tensor(BigInt64Array.of(0n), [])), negative);
    }
    const graph = await model.graph('forward');
    for (const kind of ['prim::If', 'prim::Loop', 'prim::Enter']) expect(graph).toContain(kind);
  });

  it('asserts sizes that the data decides', async () => {
    await using model = await open('exported-sizes');
    const call = (count: bigint): Promise<unknown> =>
      model.forward(
        tensor(new Float32Array(8), [2, 4]),
        tensor(new Float32Array(6).fill(1), [2, 3]),
        tensor(BigInt64Array.of(count), []),
      );
    expectNumbers(await call(2n), results['exported-sizes'][0]);
    expect((await failure(call(4n))).message).toContain('Runtime assertion failed for expression u0 <= 3');
  });

  it('has the operators of PyTorch 2 Export’s quantisation', async () => {
    await using model = await open('exported-quantized');
    expectNumbers(await model.forward(tensor([0.5, -0.25, 1], [1, 3])), results['exported-quantized'][0]);
    expect(model.parts.map(({ name }) => name)).toContain('exported');
  });

  it('is one of several where a file has them', async () => {
    await using model = await open('exported-two', 'sizes');
    expect(await model.schema('forward')).toContain('Tensor k');
    expect(new TextDecoder().decode(model.extraFiles.get('note'))).toBe('two programs');
    const none = await failure(open('exported-two'));
    expect(none).toMatchObject({ code: 'FILE_HAS_PROGRAMS' });
    expect(none.message).toContain("one of 'flow', 'sizes'");
    expect(await failure(open('exported-two', 'other'))).toMatchObject({ code: 'EXPORT_NO_PROGRAM' });
  });
});

it('what a program of torch.export takes is told before it is loaded', async () => {
  const { weightBytes, largestTensor } = await estimate(fixture('exported-flow.pt2'), { device: 'cpu' });
  expect([weightBytes, largestTensor]).toEqual([0, null]);
  expect((await estimate(fixture('exported.pt2'), { device: 'cpu' })).largestTensor).toMatchObject({ shape: [3, 4] });
});

it('a program of torch.export is saved as TorchScript, with its answers', async () => {
  for (const [name, program] of [['exported-flow'], ['exported-two', 'flow']]) {
    await using model = await open(name, program);
    await using again = await load(await model.save(), { device: 'cpu' });
    expectNumbers(await again.forward(rows(2, -0.5), tensor(BigInt64Array.of(3n), [])), results['exported-flow'][0]);
  }
});

it('a program of torch.export is no checkpoint', async () => {
  expect(await failure(loadCheckpoint(fixture('exported.pt2')))).toMatchObject({ code: 'FILE_IS_EXPORTED_PROGRAM' });
});
