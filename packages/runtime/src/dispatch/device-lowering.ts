import type { Complaint, ErrorKind, LoweringContext, OpenUp, RandomGenerator } from '@cresset/operators';
import { contiguousStrides, Storage, symProduct, Tensor, type ScalarType, type SymInt } from '@cresset/tensor';
import type { ComputeDevice, Expr, Kernel, ParamExpr, Routine, Store } from '@cresset/tensorexpr';
import type { Execution } from '../run/execution.ts';
import type { ProgramPlace } from '../interpreter/program-place.ts';

/** What an operator, or a group of some, may use while it describes its work on the device; its temporaries are freed at the end. */
export class DeviceLowering implements LoweringContext {
  readonly device: ComputeDevice;
  readonly #temporaries: Tensor[] = [];
  /** Whether anything was enqueued, which may have written to arguments. */
  hasLaunched = false;
  /** Those that were described and are not launched yet. */
  readonly kernels: Kernel[] = [];

  constructor(
    protected readonly execution: Execution,
    /** The operator's name in the counts. */
    private readonly name: string,
    private readonly place: ProgramPlace,
    /** Whether kernels are kept instead of launched, as those of a group are: they can still be changed. */
    private readonly keepsKernels = false,
  ) {
    this.device = execution.context.device!;
  }

  get generator(): RandomGenerator {
    return this.execution.context.generator;
  }

  temporary(sizes: readonly SymInt[], dtype: ScalarType): Tensor {
    const storage = Storage.onDevice(this.device, dtype, symProduct(sizes));
    const tensor = new Tensor(storage, dtype, sizes, contiguousStrides(sizes));
    this.#temporaries.push(tensor);
    return tensor;
  }

  launch(kernel: Kernel): void {
    if (this.keepsKernels) this.kernels.push(kernel);
    else this.launchNow(kernel);
  }

  launchNow(kernel: Kernel): void {
    this.execution.context.planner?.recording?.launching(kernel);
    this.device.launch(kernel);
    this.#count();
  }

  launchRoutine(routine: Routine): void {
    // What comes before it is not changed any more.
    for (const kernel of this.kernels.splice(0)) this.launchNow(kernel);
    this.device.launchRoutine!(routine);
    this.#count();
  }

  #count(): void {
    this.hasLaunched = true;
    const { counters, planner } = this.execution.context;
    counters.device.add(this.name);
    planner?.recording?.labels.push(this.name);
  }

  openParam(...number: Parameters<LoweringContext['openParam'] & {}>): ParamExpr | null {
    const { member, context } = this.execution;
    // The arguments of a member are not the group's, and one that is called by itself has its own.
    return (!this.keepsKernels && !member && context.planner?.recording?.openParam(...number)) || null;
  }

  /** What has those of a group's inputs stay open that a member takes, where they may be others each time. */
  openUp(inputs: readonly number[]): OpenUp | undefined {
    return this.execution.context.planner?.recording?.openUp(inputs);
  }

  faults(isBad: Expr, position: Expr, complaint: Complaint | string, kind?: ErrorKind): readonly Store[] {
    const { faults, planner } = this.execution.context;
    const stores = faults.stores(isBad, position, complaint, kind, this.place.calls());
    for (const { operand } of stores) planner?.recording?.faultsGoTo(operand.tensor.storage);
    return stores;
  }

  fetch(...tensors: readonly Tensor[]): Promise<unknown> {
    return Promise.all(tensors.map(({ storage }) => storage.toHost()));
  }

  /** Frees the temporaries; the device waits with that for the work enqueued so far. */
  end(): void {
    for (const tensor of this.#temporaries) tensor.dispose();
  }
}
