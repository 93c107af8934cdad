import { requestWebGpuDevice } from '../request-device.ts';
import { testNests } from './nests-fixture.ts';

testNests(() => requestWebGpuDevice());
