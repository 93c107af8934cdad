import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { describe } from 'vitest';
import { threadedDevice } from '../../../../test-setup/threaded-device.ts';
import { testKernels } from './kernels-fixture.ts';

/** What a GPU is asked to compute, the host computes too. */
testKernels(() => Promise.resolve(new WasmDevice()));

describe('with threads', () => testKernels(() => threadedDevice()));
