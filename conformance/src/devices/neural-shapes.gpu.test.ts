import { requestWebGpuDevice } from '@cresset/webgpu';
import { testNeuralShapes } from './neural-shapes-fixture.ts';

testNeuralShapes(() => requestWebGpuDevice());
