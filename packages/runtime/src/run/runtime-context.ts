import { compilerServices, jitOptions } from '@cresset/ir';
import type { HostContext, RandomGenerator } from '@cresset/operators';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { FaultLog } from './fault-log.ts';
import { KeptStorages } from '../memory/kept-storages.ts';
import { defaultLimits, type RuntimeLimits } from './limits.ts';
import type { MemoryBudget } from './memory-budget.ts';
import { PhiloxGenerator } from './philox.ts';
import type { Planner } from './planner.ts';
import { RunCounters } from './run-counters.ts';
import type { RuntimeServices } from '../services.ts';

export interface RuntimeContextOptions {
  /** Where tensors are computed; null for the host. */
  readonly device?: ComputeDevice | null;
  readonly generator?: RandomGenerator;
  readonly print?: (text: string) => void;
  readonly warn?: (text: string) => void;
  readonly limits?: Partial<RuntimeLimits>;
  /** Bytes that the tensors of the program may take; null for any. */
  readonly memoryLimit?: number | null;
}

/** What surrounds a run: the device, the random generator, the flags a program can ask for, and where its words go. */
export class RuntimeContext implements HostContext {
  readonly device: ComputeDevice | null;
  limits: RuntimeLimits;
  /** `torch.is_grad_enabled()`; models run without gradients unless somebody asks for them. */
  gradEnabled = false;
  readonly keptStorages = new KeptStorages();
  counters = new RunCounters();
  readonly faults = new FaultLog();
  readonly budget: MemoryBudget | null;
  #planner: Planner | null = null;

  readonly #generator: RandomGenerator;

  readonly #print: (text: string) => void;
  readonly #warn: (text: string) => void;
  readonly #warned = new Set<string>();

  constructor(options: RuntimeContextOptions = {}) {
    this.device = options.device ?? null;
    this.#generator = options.generator ?? new PhiloxGenerator();
    const { smallWork = defaultLimits.smallWork } = jitOptions();
    this.limits = { ...defaultLimits, smallWork, ...options.limits };
    this.#print = options.print ?? ((text) => console.log(text));
    this.#warn = options.warn ?? ((text) => console.warn(text));
    const limit = options.memoryLimit ?? null;
    this.budget = limit === null ? null : compilerServices<RuntimeServices>().memoryBudget!(limit);
  }

  /** What records runs and replays them; null where nothing does, or not yet. */
  get planner(): Planner | null {
    return (this.#planner ??= compilerServices<RuntimeServices>().planner?.(this) ?? null);
  }

  get generator(): RandomGenerator {
    return this.planner?.recording?.watched(this.#generator) ?? this.#generator;
  }

  print(text: string): void {
    this.#print(text);
  }

  warn(text: string): void {
    if (this.#warned.has(text)) return;
    this.#warned.add(text);
    this.#warn(text);
  }
}
