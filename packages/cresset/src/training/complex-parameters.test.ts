import { afterAll, expect, test } from 'vitest';
import { optim, script, shutdown, tensor, type Optimizer, type ScriptModule, type Tensor } from '../index.ts';
import { distance } from './training-fixture.ts';

afterAll(() => shutdown());

const PROGRAM = `
class Waves(nn.Module):
    def __init__(self):
        super().__init__()
        self.wave = nn.Parameter(torch.complex(torch.tensor([1.0, -0.5]), torch.tensor([2.0, 0.25])))

    def forward(self, x: Tensor) -> Tensor:
        z = self.wave * self.wave - torch.complex(x, x.flip(0) * 2)
        return torch.real(z * torch.conj(z)).sum()
`;

// What PyTorch comes to: losses, then real and imaginary parts of the parameter.
const expected: readonly (readonly [Optimizer, readonly number[], readonly number[]])[] = [
  [
    optim.SGD({ lr: 0.1, momentum: 0.9 }),
    [13.72265625, 13.392217636108398, 56.49698257446289, 517.2044067382812],
    [10.610100746154785, -29.880271911621094, -1.2422715425491333, -0.10551995784044266],
  ],
  [
    optim.Adam({ lr: 0.1 }),
    [13.72265625, 10.327704429626465, 7.7865214347839355, 5.808358669281006],
    [0.7917476892471313, 1.6082953214645386, -0.8990015983581543, -0.09431586414575577],
  ],
  [
    optim.RMSprop({ lr: 0.1, centered: true }),
    [13.72265625, 10.668512344360352, 0.9044793844223022, 0.47347593307495117],
    [0.9573825001716614, 0.9612154960632324, -0.7652038335800171, 0.06778369098901749],
  ],
];

test.each(expected)('a complex parameter is changed as by torch.optim: $name', async (optimizer, losses, parts) => {
  const { Waves } = (await script(PROGRAM, { worker: false })) as unknown as { Waves(): Promise<ScriptModule> };
  const model = await Waves();
  const trainer = await model.trainer({ optimizer, loss: 'def loss(given, target):\n    return given\n' });
  const x = tensor(Float32Array.of(0, 1), [2]);
  const found: number[] = [];
  for (let at = 0; at < losses.length; at++) found.push((await trainer.step(x, x)).loss);
  expect(distance(found, losses)).toBeLessThan(1e-4);
  const wave = (await model.parameter('wave')) as Tensor;
  expect(distance(wave.data as Float32Array, parts)).toBeLessThan(1e-4);
  await model.dispose();
});
