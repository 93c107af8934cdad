import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { testDeviceOperators } from './device-operators-fixture.ts';

testDeviceOperators(() => Promise.resolve(new WasmDevice()), { doubles: true });
