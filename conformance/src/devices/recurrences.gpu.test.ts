import { requestWebGpuDevice } from '@cresset/webgpu';
import { testRecurrences } from './recurrences-fixture.ts';

testRecurrences(() => requestWebGpuDevice());
