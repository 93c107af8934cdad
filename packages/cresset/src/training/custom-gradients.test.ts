import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { registerOperator, script, shutdown, tensor, type ScriptModule, type Tensor } from '../index.ts';
import { failure } from '../../../../test-setup/failure.ts';

afterAll(() => shutdown());

const numbers = (value: unknown): number[] => Array.from((value as Tensor).data as Float32Array);

/** A function of the page, an expression of elements, and programs that say what their gradients are. */
beforeAll(async () => {
  const scaled = (x: Tensor, y: Tensor, a: number): Tensor =>
    tensor(
      Float32Array.from(x.data as Float32Array, (value, at) => value * Number(y.data[at]) * a),
      [...x.shape],
    );
  const schema = (name: string): string => `grad_ns::${name}(Tensor x, Tensor y, float a) -> Tensor`;
  await registerOperator(schema('scaled'), {
    host: scaled,
    backward: 'def backward(grad, x, y, a: float):\n    return grad * y * a, grad * x * a\n',
  });
  await registerOperator(schema('plain'), { host: scaled });
  await registerOperator(schema('wrong'), {
    host: scaled,
    backward: 'def backward(grad):\n    return torch.ones([3]), None\n',
  });
  await registerOperator(schema('precise'), {
    host: scaled,
    backward: 'def backward(y, grad):\n    return (grad * y).double(), None\n',
  });
  await registerOperator('grad_ns::swish(Tensor x) -> Tensor', {
    lowering: 'x * sigmoid(x)',
    backward: `
def backward(grad, x, result):
    part = torch.sigmoid(x)
    return grad * (part + result * (1 - part))
`,
  });
  await registerOperator('grad_ns::parts(Tensor x) -> (Tensor half, Tensor third)', {
    host: (x: Tensor) =>
      [2, 3].map((by) =>
        tensor(
          Float32Array.from(x.data as Float32Array, (value) => value / by),
          [...x.shape],
        ),
      ),
    backward: 'def backward(grad, grad1):\n    return grad / 2 + grad1 / 3\n',
  });
  await registerOperator('grad_ns::cubed(Tensor x) -> Tensor', {
    lowering: 'def cubed(x: Tensor) -> Tensor:\n    return F.relu(x) * x * x\n',
  });
});

const PROGRAM = `
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))

    @torch.jit.export
    def scaled(self, x: Tensor) -> Tensor:
        return ops.grad_ns.scaled(x, self.weight, 2.0).sum()

    @torch.jit.export
    def twice(self, x: Tensor) -> Tensor:
        y = ops.grad_ns.scaled(x, self.weight, 2.0)
        g = torch.autograd.grad([y.sum()], [x], create_graph=True)[0]
        assert g is not None
        return (g * g).sum()

    @torch.jit.export
    def plain(self, x: Tensor) -> Tensor:
        return ops.grad_ns.plain(x, self.weight, 2.0).sum()

    @torch.jit.export
    def wrong(self, x: Tensor) -> Tensor:
        return ops.grad_ns.wrong(x, self.weight, 2.0).sum()

    @torch.jit.export
    def precise(self, x: Tensor) -> Tensor:
        return ops.grad_ns.precise(x, self.weight, 2.0).sum()

    @torch.jit.export
    def swish(self, x: Tensor) -> Tensor:
        return ops.grad_ns.swish(x * self.weight).sum()

    @torch.jit.export
    def parts(self, x: Tensor) -> Tensor:
        half, third = ops.grad_ns.parts(x)
        return (half * self.weight).sum() + third.sum()

    @torch.jit.export
    def half(self, x: Tensor) -> Tensor:
        return ops.grad_ns.parts(x)[0].sum()

    @torch.jit.export
    def cubed(self, x: Tensor) -> Tensor:
        return ops.grad_ns.cubed(x).sum()
`;

async function net(): Promise<ScriptModule> {
  const unit = await script(PROGRAM, { device: 'cpu', worker: false });
  return (unit as unknown as { Net(): Promise<ScriptModule> }).Net();
}

describe('gradients of custom operators', () => {
  test('are what their backward gives', async () => {
    const model = await net();
    const x = tensor([5, 7]);
    const gradients = async (method: string): Promise<readonly (number[] | null)[]> => {
      const { grads, inputGrads } = await model.grad(x, { method });
      return [inputGrads[0] && numbers(inputGrads[0]), grads.has('weight') ? numbers(grads.get('weight')) : null];
    };
    expect(await gradients('scaled')).toEqual([
      [4, 6],
      [10, 14],
    ]);
    expect(await gradients('precise')).toEqual([[2, 3], null]);
    const [parts, ofWeight] = await gradients('parts');
    parts!.forEach((value, at) => expect(value).toBeCloseTo([2, 3][at] / 2 + 1 / 3, 6));
    expect(ofWeight).toEqual([2.5, 3.5]);
    // Of a result that nothing was computed with the gradient is 0.
    expect(await gradients('half')).toEqual([[0.5, 0.5], null]);
    expect(await gradients('cubed')).toEqual([[75, 147], null]);
  });

  test('have gradients themselves', async () => {
    const { grads } = await (await net()).grad(tensor([5, 7]), { method: 'twice' });
    expect(numbers(grads.get('weight'))).toEqual([16, 24]);
  });

  test('of an expression of elements, in terms of its result', async () => {
    const { inputGrads } = await (await net()).grad(tensor([0.5, -1]), { method: 'swish' });
    numbers(inputGrads[0]).forEach((value, at) => {
      const [weight, y] = [[2, 3][at], [1, -3][at]];
      const part = 1 / (1 + Math.exp(-y));
      expect(value).toBeCloseTo(weight * (part + y * part * (1 - part)), 5);
    });
  });

  test('are refused in the words of PyTorch', async () => {
    const model = await net();
    expect((await failure(model.grad(tensor([5, 7]), { method: 'plain' }))).message).toContain(
      'Trying to backward through grad_ns.plain.default but no autograd formula was registered. Please use register_autograd to add one.',
    );
    expect((await failure(model.grad(tensor([5, 7]), { method: 'wrong' }))).message).toContain(
      'Function GeneratedBackwardFor_grad_ns_wrong_defaultBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]',
    );
    const registered = (backward: string): Promise<Error> =>
      failure(registerOperator('grad_ns::f(Tensor x, Tensor? y) -> Tensor', { host: (x: Tensor) => x, backward }));
    expect((await registered('def backward(grad, z):\n    return grad, None\n')).message).toBe(
      "the backward of grad_ns::f takes 'z', which is none of x, y, grad, result",
    );
    expect((await registered('def backward(grad):\n    return grad\n')).message).toBe(
      'the backward of grad_ns::f returned an incorrect number of gradients (expected 2, got 1)',
    );
  });
});
