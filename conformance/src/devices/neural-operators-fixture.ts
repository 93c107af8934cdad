import type { ComputeDevice } from '@cresset/tensorexpr';
import { deviceRefusal, runOnDevice, type LoweringContext, type Precision } from '@cresset/operators';
import { Storage, Tensor, contiguousStrides, numelOf, type ScalarType } from '@cresset/tensor';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { fixedLowering } from '../../../packages/operators/src/operator-fixture.ts';
import { argumentsOf, expectResults, oracleCases, rowOf } from '../../../packages/operators/src/oracle/oracle-case.ts';

/** Lowerings of neural network operators as kernels of a device, which has doubles or not, against what PyTorch's CPU computes. */
export function testNeuralOperators(open: () => Promise<ComputeDevice>, precision: Precision): void {
  let device: ComputeDevice;
  beforeAll(async () => {
    device = await open();
  });
  afterAll(() => device.dispose());

  const lowered = oracleCases.filter(({ example }) => {
    const row = rowOf(example);
    if (example.raises !== undefined || row.decomposition) return false;
    return deviceRefusal(row, argumentsOf(row, example.args), precision) === null;
  });

  describe('lowerings on the device', () => {
    it.each(lowered)('$name', async ({ example }) => {
      const row = rowOf(example);
      const args = argumentsOf(row, example.args);
      const temporaries: Tensor[] = [];
      const context: LoweringContext = {
        device,
        temporary(sizes: readonly number[], dtype: ScalarType) {
          const storage = Storage.onDevice(device, dtype, numelOf(sizes));
          const tensor = new Tensor(storage, dtype, sizes, contiguousStrides(sizes));
          temporaries.push(tensor);
          return tensor;
        },
        launch: (kernel) => device.launch(kernel),
        launchRoutine: (routine) => device.launchRoutine!(routine),
        ...fixedLowering,
      };
      const results = await runOnDevice(row, args, context);
      const tensors = [...results, ...args].flat().filter((value) => value instanceof Tensor);
      await Promise.all(tensors.map((tensor) => tensor.storage.toHost()));
      expectResults(results, args, row, example);
      for (const tensor of [...tensors, ...temporaries]) tensor.dispose();
    });
  });
}
