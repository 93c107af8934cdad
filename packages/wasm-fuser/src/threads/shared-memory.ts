interface Environment {
  readonly crossOriginIsolated?: boolean;
  readonly navigator?: { readonly hardwareConcurrency?: number };
  readonly process?: { getBuiltinModule?(name: string): unknown };
}

/** Whether threads of this program can share memory: in Node, and in a page that is isolated from other origins. */
export function canShareMemory(): boolean {
  const { crossOriginIsolated, process } = globalThis as Environment;
  const isNode = typeof process?.getBuiltinModule === 'function';
  return typeof SharedArrayBuffer === 'function' && (crossOriginIsolated === true || isNode);
}

/** How many threads there are unless somebody says: one for each core, of which there are half as many as the engine counts, and eight at most. */
export function usualThreads(): number {
  const { navigator, process } = globalThis as Environment;
  const os = process?.getBuiltinModule?.('node:os') as { availableParallelism(): number } | undefined;
  const counted = os?.availableParallelism() ?? navigator?.hardwareConcurrency ?? 1;
  return Math.min(8, Math.ceil(counted / 2));
}
