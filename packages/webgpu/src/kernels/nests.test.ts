import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { testNests } from './nests-fixture.ts';

/** What a GPU is asked to compute, the host computes too. */
testNests(() => Promise.resolve(new WasmDevice()));
