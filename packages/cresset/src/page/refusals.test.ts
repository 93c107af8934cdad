import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { estimate, freeze, load, loadCheckpoint, script, shutdown, tensor, type Tensor } from '../index.ts';
import { failure } from '../../../../test-setup/failure.ts';

const digits = new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url);
const options = { device: 'cpu' } as const;

afterAll(shutdown);

/** Code and words of what a promise rejects with. */
const refusal = async (outcome: Promise<unknown>): Promise<string> => {
  const { code, message } = await failure(outcome);
  return `${code}: ${message}`;
};

describe('bytes of a file', () => {
  it('may be shared, and stay the caller’s', async () => {
    const file = readFileSync(digits);
    const shared = new SharedArrayBuffer(file.byteLength);
    new Uint8Array(shared).set(file);
    for (const input of [shared, new DataView(shared)]) {
      await using model = await load(input, options);
      expect(model.methods()).toContain('forward');
    }
  });

  it('that were transferred away are told of', async () => {
    const bytes = new Uint8Array(readFileSync(digits));
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    for (const input of [bytes, bytes.buffer]) {
      const words = 'FILE_EMPTY: the given file is empty: it has 0 bytes, or they were transferred to somebody else';
      expect(await refusal(load(input, options))).toBe(words);
      expect(await refusal(estimate(input))).toBe(words);
      expect(await refusal(loadCheckpoint(input))).toBe(words);
    }
  });
});

describe('what is none of the values wanted', () => {
  it('is named, whatever is asked', async () => {
    expect(await refusal(script(3 as never, options))).toBe('ARGUMENT: the source of a program has to be text');
    expect(await refusal(freeze({} as never))).toBe('ARGUMENT: freeze takes a module that was loaded or made here');
    await using model = await load(readFileSync(digits), options);
    expect(await refusal(model.verify(undefined as never))).toBe('ARGUMENT: the inputs of verify have to be an array');
    expect(await refusal(model.profile(tensor([1]) as never))).toBe(
      'ARGUMENT: the inputs of profile have to be an array',
    );
    expect(await refusal(model.loadStateDict(3 as never))).toMatch(/^ARGUMENT: loadStateDict takes tensors by name/);
    const [name] = (await model.stateDict()).keys();
    expect(await refusal(model.loadStateDict({ [name]: [1] } as never))).toBe(
      `ARGUMENT: what loadStateDict is given as '${name}' is no tensor`,
    );
  });
});

describe('sizes that there is no memory for', () => {
  it('end the call with PyTorch’s words, and the next one is right', async () => {
    const unit = await script(
      `
def zeros(sizes: List[int]):
    return torch.zeros(sizes)

def pointwise(sizes: List[int]):
    return torch.ones([1]).expand(sizes) + 1

def product(sizes: List[int]):
    rows = torch.ones([1]).expand(sizes)
    return rows.unsqueeze(1) @ rows.unsqueeze(0)

def copied(sizes: List[int]):
    return torch.ones([1]).expand(sizes).contiguous()

def view(sizes: List[int]):
    return torch.ones([1]).expand(sizes)
`,
      options,
    );
    const run = (name: string, sizes: readonly number[]): Promise<unknown> => unit.function(name)(sizes);
    const tooMuch = "can't allocate memory: you tried to allocate 120000000000000 bytes.";
    for (const name of ['zeros', 'pointwise', 'copied', 'view']) {
      const { code, message } = await failure(run(name, [3e13]));
      expect([code, message], name).toEqual(['OUT_OF_MEMORY', expect.stringContaining(tooMuch)]);
    }
    const overflow = async (name: string, sizes: readonly number[], shown = sizes): Promise<void> => {
      const { message } = await failure(run(name, sizes));
      expect(message).toContain(`Storage size calculation overflowed with sizes=[${shown.join(', ')}]`);
    };
    await overflow('zeros', [2 ** 31, 2 ** 31, 2 ** 31]);
    await overflow('product', [3e13], [3e13, 3e13]);
    for (const name of unit.functions) {
      expect(((await run(name, [2])) as Tensor).shape, name).toEqual(name === 'product' ? [2, 2] : [2]);
    }
    await unit.dispose();
  });
});
