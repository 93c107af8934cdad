import { readModule } from '@cresset/archive';
import { functionOfPlaceholder } from '@cresset/frontend';
import type { GraphFunction } from '@cresset/ir';
import type { ScriptObject } from '@cresset/tensor';
import type { LoadedFile } from '../page/loaded-file.ts';

/** A function or method of a program that was compiled, traced or loaded before. */
export interface TracedCallee {
  readonly file: LoadedFile;
  /** Path of the module; empty for a function of a unit too. */
  readonly module: string;
  readonly name: string;
}

/** Whether it is a function, and no method. */
export function isFunction({ file, module, name }: TracedCallee): boolean {
  return module === '' && file.summary.functions?.includes(name) === true;
}

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
  #missing: TracedCallee | null = null;

  /** Brings a program here, as the file that it is saved as. */
  async fetch(callee: TracedCallee): Promise<void> {
    const { file, module: path, name } = callee;
    const functionName = isFunction(callee) ? name : null;
    const target = { model: file.id, module: path, function: functionName, extraFiles: [] };
    const { bytes } = await file.placement.client.request('saved', { type: 'save', ...target });
    const { module, weights } = await readModule(new Uint8Array(bytes));
    await Promise.all([...(weights?.unread ?? [])].map((storage) => storage.toHost()));
    const fn = functionOfPlaceholder(module.type, `__torch__.${functionName ?? 'traced'}`);
    if (fn === undefined) this.#modules.set(keyOf(callee), module);
    else this.#functions.set(keyOf(callee), fn);
  }

  /** Traces, and does it again with the program that was missing, until none is. */
  async whole<T>(trace: () => T | Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await trace();
      } catch (error) {
        if (this.#missing === null) throw error;
        await this.fetch(this.#missing);
        this.#missing = null;
      }
    }
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

  /** Ends a trace for which a program was missing: one that catches errors hides it. */
  requireAll(): void {
    if (this.#missing) this.#end(this.#missing);
  }

  #end(callee: TracedCallee): never {
    this.#missing = callee;
    throw new MissingCallee(`${callee.name} is not here yet`);
  }
}

/** Methods of one module are one program. */
function keyOf(callee: TracedCallee): string {
  const { file, module, name } = callee;
  return isFunction(callee) ? `${file.id}:${name}` : `${file.id}/${module}`;
}
