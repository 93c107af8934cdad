import { setJitOptions } from '@cresset/ir';
import { registerAllParts } from '@cresset/runtime';
import { openWasmDevice } from '@cresset/wasm-fuser/parts/device';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { wrongCalls } from './mutating-programs-fixture.ts';

beforeAll(registerAllParts);
afterEach(() => setJitOptions({ numThreads: undefined, executor: undefined }));

describe('programs that write over what they read', () => {
  it.each([999, 1000, 1001, 2000, 5000])('give in any call what their operators give one by one: %i', async (size) => {
    const device = (await openWasmDevice())!;
    expect(await wrongCalls(size, 5, { device })).toEqual([]);
    device.dispose();
  });

  it('give that with everything on the device', async () => {
    const device = (await openWasmDevice())!;
    expect(await wrongCalls(37, 5, { device, limits: { smallWork: -1 } })).toEqual([]);
    device.dispose();
  });

  it.each(['simple', 'profiling'] as const)('give that with the %s executor', async (executor) => {
    setJitOptions({ executor });
    const device = (await openWasmDevice())!;
    expect(await wrongCalls(2000, 5, { device })).toEqual([]);
    device.dispose();
  });

  it('give that where threads share the work', async () => {
    setJitOptions({ numThreads: 3 });
    const device = (await openWasmDevice())!;
    expect(device.description).toContain('threads');
    expect(await wrongCalls(200_000, 3, { device })).toEqual([]);
    device.dispose();
  });
});
