import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { testKernels } from './kernels-fixture.ts';

/** What a GPU is asked to compute, the host computes too. */
testKernels(() => Promise.resolve(new WasmDevice()));
