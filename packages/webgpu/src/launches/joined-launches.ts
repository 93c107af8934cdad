import { peek } from '@cresset/tensor';
import {
  param,
  paramsOfNow,
  scheduleKey,
  withEqualWorkgroups,
  type DeviceCapabilities,
  type Launch,
  type NormalForm,
  type ParamExpr,
} from '@cresset/tensorexpr';
import { writeJoinedShader } from '@cresset/webgpu-fuser';
import { bindingCount, boundSignature } from './bound-signature.ts';
import type { PipelineCache } from './pipeline-cache.ts';
import type { PreparedKernel } from './prepared-kernel.ts';

/** Ways of dealing out the same kernels that are kept: for few rows, for many. */
const MOST_KEPT = 4;

/** Makes one launch of several, and makes it again where only sizes are others. */
export class JoinedLaunches {
  readonly #known = new WeakMap<NormalForm, PreparedKernel[]>();

  constructor(
    private readonly capabilities: DeviceCapabilities,
    private readonly pipelines: PipelineCache,
  ) {}

  /** Launches as one, with the workgroups of all of them; null where that binds too much, makes a grid of two dimensions, or one is attention. */
  of(prepared: readonly PreparedKernel[]): PreparedKernel | null {
    if (prepared.some((each) => each.launches.some(({ kernel }) => kernel.kind === 'running-softmax'))) return null;
    return peek(() => this.#of(prepared));
  }

  #of(prepared: readonly PreparedKernel[]): PreparedKernel | null {
    const { capabilities } = this;
    const launches = withEqualWorkgroups(
      prepared.flatMap((each) => each.launches),
      capabilities,
    );
    let x = 0;
    const [, ...starts] = launches.map(({ workgroups }) => {
      const start = param('i32', x);
      x += workgroups;
      return start;
    });
    if (x > capabilities.maxWorkgroupsPerDimension) return null;
    const [{ kernel: first }] = launches;
    let known = this.#known.get(first);
    if (!known) this.#known.set(first, (known = []));
    let found = known.find((each) => isSame(each.launches, launches));
    if (!found) {
      const made = this.#make(launches, starts);
      if (!made) return null;
      known.unshift((found = made));
      known.splice(MOST_KEPT);
    }
    const own = found.params.slice(0, found.params.length - starts.length);
    // Each is measured by itself.
    const wishes = prepared.flatMap((each) => each.wishes);
    return { ...found, x, params: [...paramsOfNow(own), ...starts], launches, wishes };
  }

  #make(launches: readonly Launch[], starts: readonly ParamExpr[]): PreparedKernel | null {
    const { capabilities, pipelines } = this;
    const kernels = launches.map(({ kernel }) => kernel);
    const own = boundSignature(kernels, capabilities);
    if (bindingCount(own) > capabilities.maxStorageBuffers) return null;
    const { bindings } = own;
    const signature = { ...own, params: [...own.params, ...starts] };
    const { params } = signature;
    const label = [...new Set(kernels.map((kernel) => kernel.label))].join(' and ');
    const key = own.key + launches.map(({ schedule }) => scheduleKey(schedule)).join('+');
    const program = pipelines.find(key, label, launches, signature, () =>
      writeJoinedShader(label, launches, signature, starts, capabilities),
    );
    return { program, bindings, params, kernel: null, x: 0, y: 1, launches, wishes: [] };
  }
}

const isSame = (before: readonly Launch[], now: readonly Launch[]): boolean =>
  before.length === now.length &&
  before.every(
    ({ kernel, schedule }, at) => kernel === now[at].kernel && scheduleKey(schedule) === scheduleKey(now[at].schedule),
  );
