import { MemorySource, PickleGlobals, readModule, StorageReference, Unpickler, writeModule } from '@cresset/archive';
import { readCheckpoint } from '@cresset/archive/parts/checkpoint';
import { declareScript } from '@cresset/frontend';
import { AliasDb, ClassType, CressetError, type GraphFunction, lint, parseIr, parseSchema } from '@cresset/ir';
import {
  canonicalize,
  eliminateCommonSubexpressions,
  eliminateDeadCode,
  inline,
  peepholeOptimize,
  poolConstants,
  propagateConstants,
} from '@cresset/passes';
import { evaluateConstant, RuntimeContext, runtimeConstants, ScriptModule, TorchScriptError } from '@cresset/runtime';
import { ScriptObject } from '@cresset/tensor';
import { allocations } from './allocation-meter.ts';
import { argumentsFor } from './arguments.ts';
import { mutateBytes } from './byte-mutation.ts';
import { mutatePickle } from './pickle-mutation.ts';
import type { Random } from './random.ts';
import type { SeedFiles } from './seed-files.ts';
import { mutateText } from './text-mutation.ts';
import { mutateZip, packArchive, shuffleFiles, type ArchiveFiles } from './zip-mutation.ts';

/** Something that takes what others wrote. */
export interface Target {
  readonly name: string;
  /** How often it is chosen, relative to the others. */
  readonly weight: number;
  /** A case's input. */
  mutate(seeds: SeedFiles, random: Random): Uint8Array | string;
  /** Takes the input: gives a result or throws a CressetError. `random` makes the arguments of programs that are run. */
  take(input: Uint8Array | string, random: Random): unknown;
}

/** Bounds of a program that is run: it may loop and allocate for ever, and that is no fault of ours. */
const RUN_LIMITS = { maxInstructions: 20_000, maxCallDepth: 100 };

export const targets: readonly Target[] = [
  {
    name: 'zip',
    weight: 3,
    mutate: ({ modules, checkpoints }, random) => mutateZip(random.pick([...modules, ...checkpoints]).bytes, random),
    take: async (input, random) => {
      await loadAndRun(input as Uint8Array, random).catch(expectCressetError);
      await readCheckpoint(new MemorySource(input as Uint8Array));
    },
  },
  {
    name: 'archive',
    weight: 5,
    mutate: ({ modules, programTokens }, random) =>
      packArchive(mutateFiles(random.pick(modules).files, random, programTokens), random),
    take: (input, random) => loadAndRun(input as Uint8Array, random),
  },
  {
    name: 'checkpoint',
    weight: 2,
    mutate: ({ checkpoints }, random) => {
      const { files, bytes } = random.pick(checkpoints);
      return files.size === 0 ? mutatePickle(bytes, random) : packArchive(mutateFiles(files, random, []), random);
    },
    take: async (input) => {
      const source = new MemorySource(input as Uint8Array);
      await readCheckpoint(source).catch(expectCressetError);
      // Handed to the wrong loader, it is described.
      await readModule(source);
    },
  },
  {
    name: 'pickle',
    weight: 5,
    mutate: ({ modules, checkpoints }, random) => {
      const pickles = [...modules, ...checkpoints].map(({ files }) =>
        [...files].filter(([name]) => /\.(debug_)?pkl$/.test(name)).map(([, pickle]) => pickle),
      );
      return mutatePickle(random.pick(random.pick(pickles.filter(({ length }) => length > 0))), random);
    },
    take: (input) => unpickle(input as Uint8Array),
  },
  {
    name: 'source',
    weight: 6,
    mutate: ({ programs, programTokens }, random) => mutateText(random.pick(programs), random, programTokens),
    take: (input, random) => compileAndRun(input as string, random),
  },
  {
    name: 'graph',
    weight: 3,
    mutate: ({ graphs, graphTokens }, random) => mutateText(random.pick(graphs), random, graphTokens),
    take: (input) => parseAndOptimize(input as string),
  },
  {
    name: 'schema',
    weight: 1,
    mutate: ({ schemas, graphTokens }, random) => mutateText(random.pick(schemas), random, graphTokens),
    take: (input) => parseSchema(String(parseSchema(input as string))),
  },
];

/** Rethrows what is no CressetError. */
export function expectCressetError(error: unknown): void {
  const { cause } = error as { cause?: unknown };
  // An operator that fails with anything else was not asked right.
  const isInternal = error instanceof TorchScriptError && !error.isRaised && !(cause instanceof CressetError);
  if (isInternal && !isOutOfMemory(cause)) throw cause;
  if (!(error instanceof CressetError)) throw error;
}

/** As engines say it, where a program asks for more than there is. */
function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof RangeError &&
    /allocation failed|Invalid (typed )?array length|Invalid string length/.test(error.message)
  );
}

// ---- archives

function mutateFiles(files: ArchiveFiles, random: Random, vocabulary: readonly string[]): Map<string, Uint8Array> {
  const result = random.chance(0.2) ? shuffleFiles(files, random) : new Map(files);
  const names = [...result.keys()].filter((name) => !/(debug_pkl|data\/\d+|serialization_id)$/.test(name));
  for (let times = 1 + random.below(2); times > 0; times--) {
    const name = random.pick(random.chance(0.9) ? names : [...result.keys()]);
    result.set(name, mutateFile(name, result.get(name)!, random, vocabulary));
  }
  return result;
}

function mutateFile(name: string, bytes: Uint8Array, random: Random, vocabulary: readonly string[]): Uint8Array {
  if (name.endsWith('pkl')) return mutatePickle(bytes, random);
  if (!name.endsWith('.py') || vocabulary.length === 0) return mutateBytes(bytes, random);
  return new TextEncoder().encode(mutateText(new TextDecoder().decode(bytes), random, vocabulary));
}

/** What can be saved can be loaded. */
async function saveAndLoad(module: ScriptObject, runner: ScriptModule): Promise<void> {
  const saved = await writeModule(module, { callMethod: (object, method) => runner.callOn(object, method, []) });
  await readModule(saved).catch((error: unknown) => {
    throw new Error('what was saved cannot be loaded', { cause: error });
  });
}

async function loadAndRun(bytes: Uint8Array, random: Random): Promise<void> {
  const { module, unit, pendingStates, debugTables } = await readModule(bytes);
  const runner = new ScriptModule(module, unit, quietContext(), { loadDebugTables: () => debugTables.load() });
  await runner.restore(pendingStates);
  if (random.chance(0.3)) await saveAndLoad(module, runner).catch(expectCressetError);
  const methods = module.type.methods.filter((method) => method.name !== '__setstate__');
  for (const method of methods.slice(0, 2)) {
    try {
      (method as GraphFunction).ensureDefined();
      const args = argumentsFor(method.schema, random, 1);
      if (args) await onItsOwn(() => runner.call(method.name, args));
    } catch (error) {
      expectCressetError(error);
    }
  }
}

/** The tensors that a program asks for are its own affair; only single ones of more than the meter gives are refused. */
async function onItsOwn(run: () => Promise<unknown>): Promise<void> {
  const before = allocations.bytes;
  try {
    await run();
  } finally {
    allocations.bytes = before;
  }
}

function quietContext(): RuntimeContext {
  return new RuntimeContext({ print: () => undefined, warn: () => undefined, limits: RUN_LIMITS });
}

function unpickle(pickle: Uint8Array): void {
  const context = {
    storage: (key: string, dtype: StorageReference['dtype'], count: number) => new StorageReference(key, dtype, count),
    resolveClass: (name: string) => (name.startsWith('__torch__') ? new ClassType(name) : null),
  };
  new Unpickler(pickle, new PickleGlobals({ ...context, build: () => undefined }, 'the pickle'), 'the pickle').load();
}

// ---- texts

async function compileAndRun(source: string, random: Random): Promise<void> {
  const { unit, functions, defineClasses } = declareScript(source);
  defineClasses();
  const runner = new ScriptModule(new ScriptObject(new ClassType('__torch__.Functions')), unit, quietContext());
  for (const fn of functions.slice(0, 3)) {
    try {
      fn.ensureDefined();
      const args = argumentsFor(fn.schema, random, 0);
      if (args) await onItsOwn(() => runner.callFunction(fn, args));
    } catch (error) {
      expectCressetError(error);
    }
  }
}

function parseAndOptimize(text: string): void {
  const graph = parseIr(text, { constants: runtimeConstants });
  const printed = String(graph);
  lint(graph);
  lint(parseIr(printed, { constants: runtimeConstants }));
  new AliasDb(graph).hasWriters(graph.returnNode);
  inline(graph);
  propagateConstants(graph, evaluateConstant);
  peepholeOptimize(graph, { disableShapes: true });
  poolConstants(graph);
  eliminateCommonSubexpressions(graph);
  eliminateDeadCode(graph, { aliasDb: new AliasDb(graph) });
  lint(graph);
  String(canonicalize(graph));
}
