import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { testRecurrences } from './recurrences-fixture.ts';

testRecurrences(() => Promise.resolve(new WasmDevice()));
