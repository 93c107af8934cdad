import { applyJitOptions } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';
import type { Kernel } from '@cresset/tensorexpr';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { CountingDevice } from '../counting-device-fixture.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { gradientEdge } from './recording/record.ts';
import { gradientsOf } from './tape.ts';
import { leaf, numbersOf, RecordedProgram } from './tape-fixture.ts';

beforeAll(registerAllParts);
afterEach(() => applyJitOptions({}));

/** Gradients of the first result, of both arguments, and the gradients of those once more. */
async function gradientsBy(program: RecordedProgram, x: readonly number[], y: readonly number[]): Promise<unknown[]> {
  const args = [leaf(x), leaf(y)];
  const [result] = await program.call(...args);
  const ask = (outputs: readonly Tensor[], createGraph: boolean): Promise<readonly (Tensor | null)[]> =>
    gradientsOf(
      {
        outputs,
        gradients: outputs.map(({ sizes, numel }) =>
          leaf(
            Array.from({ length: numel }, (_, at) => 0.5 + at),
            sizes,
          ),
        ),
        inputs: args,
        createGraph,
        allowUnused: true,
      },
      program.context,
    );
  const first = await ask([result], true);
  const second = await ask(
    first.filter((gradient) => gradient !== null && gradientEdge(gradient) !== null) as Tensor[],
    false,
  );
  return [...first, ...second].map((gradient) => rounded(gradient));
}
const rounded = (gradient: Tensor | null): number[] | null =>
  numbersOf(gradient)?.map((value) => Number(value.toPrecision(10))) ?? null;

const CHAIN = 'a = torch.tanh(x * y)\nb = torch.sigmoid(a) * x\nreturn torch.exp(b - y) * b';

/** Programs with groups, and what lies about them. */
const programs = [
  CHAIN,
  'a = torch.tanh(x) * y\nb = torch.sigmoid(a * 3.) * 2.\nb.add_(x)\nreturn (b * a).sum()',
  'with torch.no_grad():\n    a = torch.tanh(x * y) * x * 2. + y\nb = torch.sigmoid(a * x) * y\nreturn torch.tanh(b) * b',
  'a = (x * y).view([2, 1]).expand([2, 3])\nreturn torch.tanh(a * y.sum()) * torch.sigmoid(a) * 2.',
  'if bool(x.sum() > 0.):\n    a = torch.tanh(x * y) * torch.sigmoid(x)\nelse:\n    a = x\nfor i in range(3):\n    a = torch.tanh(a * float(i)) + torch.sigmoid(a) * y\nreturn a',
  'a = torch.mm(x.view([1, 2]), y.view([2, 1]))\nreturn torch.relu(a * x.detach()) * torch.tanh(a + y) * x',
  'a, b = torch.chunk(torch.tanh(x * y), 2)\nreturn torch.sigmoid(a) * b * torch.tanh(a * x) * 2.',
  'n = torch.norm(x - x)\nreturn n * torch.tanh(x * y) * torch.sigmoid(y) * x',
];

describe.each(['profiling', 'simple'] as const)('with the executor %s', (executor) => {
  it.each(programs)('gradients are those of operators one by one, and have gradients: %s', async (body) => {
    const expected = await gradientsBy(new RecordedProgram(body, undefined), [0.3, -0.8], [1.7, 0.4]);
    const planned = new RecordedProgram(body, executor);
    for (let call = 0; call < 4; call++) expect(await gradientsBy(planned, [0.3, -0.8], [1.7, 0.4])).toEqual(expected);
    const other = await gradientsBy(new RecordedProgram(body, undefined), [-0.3, -0.8], [0.2, 0.9]);
    applyJitOptions({ executor });
    expect(await gradientsBy(planned, [-0.3, -0.8], [0.2, 0.9])).toEqual(other);
  });

  /** A program whose group was optimised. */
  async function optimized(body: string): Promise<RecordedProgram> {
    const program = new RecordedProgram(body, executor);
    await program.call(leaf([1, 2]), leaf([3, 4]));
    return program;
  }

  it('a group is one step', async () => {
    const [result] = await (await optimized(CHAIN)).call(leaf([1, 2]), leaf([3, 4]));
    const { node } = gradientEdge(result)!;
    expect(node.name).toBe('DifferentiableGraphBackward');
    expect(node.edges.map((edge) => edge?.node.name)).toEqual(['AccumulateGrad', 'AccumulateGrad']);
  });

  it('what a group keeps is given up with the graph, and may not be written to', async () => {
    const program = await optimized(CHAIN);
    const [x, y] = [leaf([1, 2]), leaf([3, 4])];
    const [result] = await program.call(x, y);
    const task = { outputs: [result], gradients: [leaf([1, 1])], inputs: [x] };
    await gradientsOf(task, program.context);
    await expect(gradientsOf(task, program.context)).rejects.toThrow(
      'Trying to backward through the graph a second time',
    );
    const written = await optimized(
      `a = x * 1.\nb = torch.tanh(a * y) * torch.sigmoid(a) * y\na.zero_()\nreturn b + a`,
    );
    const [other] = await written.call(x, y);
    await expect(gradientsOf({ ...task, outputs: [other] }, written.context)).rejects.toThrow(
      'modified by an inplace operation: [torch.DoubleTensor [2]], which is output 0 of Zero, is at version 1; expected version 0',
    );
  });

  it('an argument that was None has a gradient when it is there', async () => {
    const program = new RecordedProgram(
      'return torch.relu(F.linear(x, x, bias)) + 2',
      executor,
      new RuntimeContext(),
      'x, bias: Optional[Tensor]',
    );
    for (const bias of [null, leaf([1, 2]), leaf([1, 2]), null]) {
      const x = leaf([1, 2, 3, 4], [2, 2]);
      const [result] = await program.call(x, bias);
      const task = { outputs: [result], gradients: [leaf([1, 2, 3, 4], [2, 2])], inputs: bias ? [x, bias] : [x] };
      const found = await gradientsOf(task, program.context);
      expect(found.map((gradient) => numbersOf(gradient))).toEqual(
        [
          [17, 24, 29, 42],
          [4, 6],
        ].slice(0, found.length),
      );
    }
  });

  it('what needs no gradient has none', async () => {
    const program = await optimized(CHAIN);
    const [x, y] = [leaf([1, 2]), leaf([3, 4])];
    x.requiresGrad = y.requiresGrad = false;
    const [result] = await program.call(x, y);
    expect(result.requiresGrad).toBe(false);
    expect(gradientEdge(result)).toBeNull();
  });
});

/** Notes what is launched, and computes nothing. */
class LaunchingDevice extends CountingDevice {
  launches = 0;

  override launch(kernel: Kernel): void {
    this.launches++;
    super.launch(kernel);
  }
}

it('a chain is one kernel, and its backward is fused, once they were watched', async () => {
  const device = new LaunchingDevice();
  const body = 'a = torch.tanh(x * y)\nreturn torch.sigmoid(a) * x';
  const program = new RecordedProgram(body, 'profiling', new RuntimeContext({ device, limits: { smallWork: 0 } }));
  const made = (): Tensor => {
    const tensor = Tensor.fromArray(new Float32Array(64).fill(0.5), [64], 'float32');
    tensor.requiresGrad = true;
    return tensor;
  };
  const counts: number[][] = [];
  for (let call = 0; call < 5; call++) {
    const args = [made(), made()];
    device.launches = 0;
    const [result] = await program.call(...args);
    const forward = device.launches;
    const gradient = made();
    await gradientsOf({ outputs: [result], gradients: [gradient], inputs: args }, program.context);
    counts.push([forward, device.launches - forward]);
  }
  // The program is watched, then its group, and then both directions are optimised.
  expect(counts).toEqual([
    [4, 13],
    [4, 13],
    [1, 3],
    [1, 3],
    [1, 3],
  ]);
});
