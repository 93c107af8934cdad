import { describe } from 'vitest';
import { requestWithSchedules } from '../../../../test-setup/gpu-schedules.ts';
import { testKernels } from './kernels-fixture.ts';
import { testNests } from './nests-fixture.ts';

describe('scheduled for hardware', () => {
  testKernels(() => requestWithSchedules('hardware'));
  testNests(() => requestWithSchedules('hardware'));
});

describe('scheduled for few threads', () => testKernels(() => requestWithSchedules('few threads')));
