import { requestWebGpuDevice } from '@cresset/webgpu';
import { testDeviceOperators } from './device-operators-fixture.ts';

testDeviceOperators(() => requestWebGpuDevice(), {});
