import { requestWebGpuDevice } from '@cresset/webgpu';
import { testNeuralOperators } from './neural-operators-fixture.ts';

testNeuralOperators(() => requestWebGpuDevice(), {});
