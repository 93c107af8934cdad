import { functionsOf, moduleBytes } from '../load.ts';
import type { LinearMemory } from '../linear-memory.ts';
import {
  defineDoubleProducts,
  defineImageProducts,
  definePackedProducts,
  definePacking,
  type Definition,
  type ImageProductFunctions,
  type PackedProductFunctions,
  type PackingFunctions,
} from '../products.ts';
import type { ThreadModule } from '../threads/task.ts';
import type { ThreadPool } from '../threads/thread-pool.ts';

/** Functions of a module. */
export interface Products<Functions> {
  readonly functions: Functions;
  /** For other threads; null where there are none. */
  readonly module: ThreadModule | null;
}

/** The modules of products over a memory. Each is made when the first launch needs it: a program needs few of them before its first answer. */
export class ProductModules {
  readonly packing = this.#lazily<PackingFunctions>(definePacking);
  readonly packed = this.#lazily<PackedProductFunctions>(definePackedProducts);
  readonly images = this.#lazily<ImageProductFunctions>(defineImageProducts);
  /** As `packed`, of double precision. */
  readonly doubles = this.#lazily<PackedProductFunctions>(defineDoubleProducts);

  /**
   * @param threads those that are to have what is compiled
   * @param isRelaxed whether products and sums are rounded once; only where the engine has that
   */
  constructor(
    private readonly memory: LinearMemory,
    private readonly threads: ThreadPool | null,
    private readonly isRelaxed: boolean,
  ) {}

  #lazily<Functions>(define: Definition): () => Products<Functions> {
    let made: Products<Functions> | undefined;
    return () => (made ??= this.#make(define));
  }

  #make<Functions>(define: Definition): Products<Functions> {
    const bytes = moduleBytes([define], this.isRelaxed, this.memory.isShared);
    return {
      functions: functionsOf<Functions>(bytes, this.memory),
      module: this.threads?.register(bytes) ?? null,
    };
  }
}
