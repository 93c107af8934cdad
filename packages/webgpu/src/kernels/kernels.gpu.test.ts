import { requestWebGpuDevice } from '../request-device.ts';
import { testKernels } from './kernels-fixture.ts';

testKernels(() => requestWebGpuDevice());
