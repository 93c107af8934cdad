import { declareScript } from '@cresset/frontend';
import type { ClassType } from '@cresset/ir';
import { ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { CountingDevice } from '../counting-device-fixture.ts';
import { initializeRuntime } from '../initialize.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ScriptModule } from '../script-module.ts';

beforeAll(() => initializeRuntime());

const source = `
class Holder:
    def __init__(self, n: int, t: Tensor, o: Optional[int]):
        self.n = n
        self.t = t
        self.o = o

    def __getstate__(self) -> Tuple[int, bool]:
        return self.n, True

    def __setstate__(self, state: Tuple[int, bool]):
        if state[1]:
            self.n = state[0]
        else:
            self.t = torch.ones(1)

    def number(self) -> int:
        return self.n

    def optional(self) -> Optional[int]:
        return self.o

    def tensor(self) -> Tensor:
        return self.t

    def scaled(self, x: Tensor) -> Tensor:
        return (x * self.t + 1) * x

    def joined(self, x: Tensor) -> Tensor:
        return torch.cat([x + 1, self.t])

    def elements(self) -> List[float]:
        result: List[float] = self.t.tolist()
        return result
`;

/** An object of a class that nothing was assigned to, as a file may hold it. */
function holder(device: CountingDevice | null = null): { object: ScriptObject; runner: ScriptModule } {
  const { unit, defineClasses } = declareScript(source);
  defineClasses();
  const object = new ScriptObject(unit.getType('__torch__.Holder') as ClassType);
  const limits = { smallWork: 0 };
  return { object, runner: new ScriptModule(object, unit, new RuntimeContext({ device, limits })) };
}

describe('an attribute without a value', () => {
  it('is refused after __setstate__', async () => {
    const { object, runner } = holder();
    const restored = runner.restore([{ object, state: new Tuple([3n, true]) }]);
    await expect(restored).rejects.toMatchObject({
      code: 'ATTRIBUTE_UNSET',
      message: "The field 't' was left uninitialized after '__setstate__', but expected a value of type 'Tensor'",
    });
    expect(await runner.call('number')).toBe(3n);
    // What may be None needs no value.
    await runner.restore([{ object, state: new Tuple([0n, false]) }]);
  });

  it('cannot be read, also where a plan takes the attributes of its module for constants', async () => {
    const { runner } = holder();
    await expect(runner.call('number')).rejects.toMatchObject({
      message: expect.stringContaining("attribute 'n' of __torch__.Holder has no value yet") as string,
    });
  });

  it('is None where None is one of its values', async () => {
    const { runner } = holder();
    expect(await runner.call('optional')).toBeNull();
    expect(await runner.call('tensor')).toBeNull();
  });

  it.each([
    ['the host', null],
    ['a device', new CountingDevice()],
  ])('is no tensor to an operator on %s', async (_place, device) => {
    const x = Tensor.fromArray(Float32Array.of(1, 2), [2], 'float32');
    const calls: [string, IValue[]][] = [
      ['scaled', [x]],
      ['joined', [x]],
      ['elements', []],
    ];
    for (const [method, args] of calls) {
      await expect(holder(device).runner.call(method, args)).rejects.toMatchObject({
        message: expect.stringContaining('Expected Tensor but got None') as string,
      });
    }
  });
});
