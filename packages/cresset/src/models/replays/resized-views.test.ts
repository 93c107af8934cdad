import { registerAllParts } from '@cresset/runtime';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, it } from 'vitest';
import { subjectOf, tensorOf } from '../python-functions-fixture.ts';
import { expectAlike } from './alike-fixture.ts';

beforeAll(registerAllParts);

const source = `
class Subject(nn.Module):
    def __init__(self, s: Tensor):
        super().__init__()
        self.register_buffer('s', s)

    def forward(self, y: Tensor) -> Tensor:
        torch.add(y.unfold(-1, 2, 1).clone(), 0.3, out=self.s)
        v = y.narrow(0, 1, 499)
        torch.add(torch.relu(y), 0.3, out=v)
        return torch.max(v, -1)[0]
`;

it('a view that the host gives other sizes where a recording ends is made with those that it had', async () => {
  const device = new WasmDevice();
  const [here, there] = [device, null].map((each) => subjectOf(source, tensorOf([999], 9), { device: each }));
  for (const [run, size] of [999, 999, 999, 999, 700, 999].entries()) {
    const got = await here.call('forward', [tensorOf([size], run)], { resultToHost: true });
    await expectAlike(got, await there.call('forward', [tensorOf([size], run)]));
  }
  device.dispose();
});
