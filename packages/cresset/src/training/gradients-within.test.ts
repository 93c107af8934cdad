import { afterAll, expect, test } from 'vitest';
import { load, script, shutdown, tensor, type Output, type ScriptModule, type Tensor } from '../index.ts';

afterAll(() => shutdown());

const numbers = (value: Output): number[] => Array.from((value as Tensor).data as Float32Array);

/** An energy and its forces, as models of molecules give them; weights are asked for gradients too. */
const PROGRAM = `
def energy_of(pairs: Tensor, weight: Tensor) -> Tensor:
    return (weight * pairs).square().sum()

class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        x = x.detach().requires_grad_()
        energy = energy_of(x, self.weight)
        forces = torch.autograd.grad([energy], [x])[0]
        assert forces is not None
        return energy, -forces

    @torch.jit.export
    def learn(self, x: Tensor) -> Tensor:
        energy_of(x, self.weight).backward()
        grad = self.weight.grad
        assert grad is not None
        return grad + 0.0

    @torch.jit.export
    def plain(self, x: Tensor) -> Tensor:
        return energy_of(x, self.weight)
`;

test.each(['cpu', 'auto'] as const)('a program gives gradients that it asks for itself: %s', async (device) => {
  const unit = await script(PROGRAM, { device: 'cpu', worker: false });
  const made = await (unit as unknown as { Potential(): Promise<ScriptModule> }).Potential();
  const model = await load(await made.save(), { device, worker: false });
  for (let call = 1; call < 4; call++) {
    const [energy, forces] = (await model.forward(tensor([1, 2]))) as [Tensor, Tensor];
    expect([energy.item(), numbers(forces)]).toEqual([40, [-8, -36]]);
    expect(numbers(await model.call('learn', [tensor([1, 2])]))).toEqual([4 * call, 24 * call]);
  }
  expect(((await model.call('plain', [tensor([1, 2])])) as Tensor).item()).toBe(40);
});

test('what is to require a gradient is recorded though nobody asks for one', async () => {
  const unit = await script(
    `
class Flags(nn.Module):
    def forward(self, x: Tensor) -> List[bool]:
        y = x.detach().requires_grad_() * 2.0
        with torch.no_grad():
            z = y + 1.0
        return [y.requires_grad, y.is_leaf, y.sum().requires_grad, (y > 0.0).requires_grad, z.requires_grad, z.is_leaf]
`,
    { device: 'cpu', worker: false },
  );
  const model = await (unit as unknown as { Flags(): Promise<ScriptModule> }).Flags();
  expect(await model.forward(tensor([1, 2]))).toEqual([true, false, true, false, false, true]);
});
