import { afterAll, describe, expect, it } from 'vitest';
import { load, setJitOptions, shutdown } from '../../index.ts';
import { expectResults, file } from './weight-only-fixture.ts';

afterAll(() => shutdown());

describe('weights of four and of eight bits on the host', () => {
  it.each([true, false])(
    'give the numbers that PyTorch gave, call after call, in WebAssembly: %j',
    async (webAssembly) => {
      await setJitOptions({ webAssembly });
      await using model = await load(file, { device: 'cpu', worker: false });
      expect(model.place.description).toMatch(webAssembly ? /^WebAssembly/ : /^host$/);
      for (let call = 0; call < 4; call++) await expectResults(model);
    },
  );
});
