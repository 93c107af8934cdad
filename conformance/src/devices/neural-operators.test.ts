import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { testNeuralOperators } from './neural-operators-fixture.ts';

testNeuralOperators(() => Promise.resolve(new WasmDevice()), { doubles: true });
