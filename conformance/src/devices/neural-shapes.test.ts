import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { testNeuralShapes } from './neural-shapes-fixture.ts';

testNeuralShapes(() => Promise.resolve(new WasmDevice()));
