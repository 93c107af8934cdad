import { registerAllOperators } from '@cresset/operators';
import { initializeRuntime } from './initialize.ts';
import { register as registerAutocast } from './parts/autocast.ts';
import { register as registerDeviceTensors } from './parts/device-tensors.ts';
import { register as registerExecutors } from './parts/executors.ts';
import { register as registerFreezing } from './parts/freezing.ts';
import { register as registerAuthoring } from './parts/authoring.ts';
import { register as registerInspection } from './parts/inspection.ts';
import { register as registerLoops } from './parts/loops.ts';
import { register as registerMemory } from './parts/memory.ts';
import { register as registerPasses } from './parts/passes.ts';
import { register as registerPlans } from './parts/plans.ts';
import { register as registerQuantized } from './parts/quantized.ts';
import { register as registerSaving } from './parts/saving.ts';
import { register as registerTraining } from './parts/training.ts';

/** Puts in place what compiling needs, with every operator and all that the runtime has in parts: for who carries everything at once. */
export function registerAllParts(): void {
  initializeRuntime();
  registerAllOperators();
  registerAuthoring();
  registerAutocast();
  registerDeviceTensors();
  registerExecutors();
  registerFreezing();
  registerInspection();
  registerLoops();
  registerMemory();
  registerPasses();
  registerPlans();
  registerQuantized();
  registerSaving();
  registerTraining();
}
