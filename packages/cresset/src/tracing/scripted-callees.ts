import { readModule } from '@cresset/archive';
import { functionOfPlaceholder } from '@cresset/frontend';
import type { GraphFunction } from '@cresset/ir';
import type { ScriptObject } from '@cresset/tensor';
import type { TracedCallee } from '../page/trace.ts';

/** Thrown where a trace calls a program that is not here yet. */
class MissingCallee extends Error {}

/**
 * Programs that a traced function calls, which were compiled elsewhere. A function tells what it calls as it runs, and cannot wait: where a program is
 * missing, the trace ends, and begins again when that is here.
 */
export class ScriptedCallees {
  readonly #modules = new Map<string, ScriptObject>();
  readonly #functions = new Map<string, GraphFunction>();
  /** What a trace wanted last that is not here. */
  missing: TracedCallee | null = null;

  /** Takes a program from the file that it was saved as. */
  async add(callee: TracedCallee, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const { module, weights } = await readModule(bytes);
    await Promise.all([...(weights?.unread ?? [])].map((storage) => storage.toHost()));
    const name = callee.module === null ? callee.name : 'traced';
    const fn = functionOfPlaceholder(module.type, `__torch__.${name}`);
    if (fn === undefined) this.#modules.set(keyOf(callee), module);
    else this.#functions.set(keyOf(callee), fn);
    this.missing = null;
  }

  /** A function, also one that was traced; undefined where a module's method is called. */
  functionOf(callee: TracedCallee): GraphFunction | undefined {
    const key = keyOf(callee);
    if (!this.#functions.has(key) && !this.#modules.has(key)) this.#end(callee);
    return this.#functions.get(key);
  }

  moduleOf(callee: TracedCallee): ScriptObject {
    return this.#modules.get(keyOf(callee)) ?? this.#end(callee);
  }

  /** A module by its program and path; it was taken before the trace began. */
  moduleAt(model: number, path: string): ScriptObject {
    return this.#modules.get(`${model}/${path}`)!;
  }

  has(callee: TracedCallee): boolean {
    const key = keyOf(callee);
    return this.#functions.has(key) || this.#modules.has(key);
  }

  #end(callee: TracedCallee): never {
    this.missing = callee;
    throw new MissingCallee(`${callee.name} is not here yet`);
  }
}

/** Methods of one module are one program. */
function keyOf({ file, module, name }: TracedCallee): string {
  return module === null ? `${file.id}:${name}` : `${file.id}/${module}`;
}
