import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { describe } from 'vitest';
import { threadedDevice } from '../../../../test-setup/threaded-device.ts';
import { testNests } from './nests-fixture.ts';

/** What a GPU is asked to compute, the host computes too. */
testNests(() => Promise.resolve(new WasmDevice()));

describe('with threads', () => testNests(() => threadedDevice()));
