import { openWasmDevice } from '@cresset/wasm-fuser/parts/device';
import { describe, it } from 'vitest';
import { expectDivisionsByZeroRaise } from './division-cases-fixture.ts';

describe('a division of integers by zero', () => {
  it('raises in TypeScript', () => expectDivisionsByZeroRaise({}));

  it('raises in WebAssembly', async () => {
    const device = (await openWasmDevice())!;
    await expectDivisionsByZeroRaise({ device, limits: { smallWork: -1 } });
    device.dispose();
  });
});
