import { CressetError } from './error.ts';
import { checkOptions } from './option-check.ts';
import { setTypeVerbosity, typeVerbosity, type TypeVerbosity } from './types/type-verbosity.ts';

/**
 * An executor that makes plans for the arguments at hand: `simple` one for every ArgumentSpec (PyTorch's legacy executor,
 * `_jit_set_profiling_executor(False)`), `profiling` after it has watched a program run.
 */
export type ExecutorKind = 'simple' | 'profiling';

/** How often a program whose shapes changed is specialised again, to exact sizes and then to ranks (PyTorch: FusionStrategy). */
export type FusionStrategy = readonly (readonly ['STATIC' | 'DYNAMIC', number])[];

/** What is differentiated at a time. */
export type GradientMode = 'operators' | 'groups' | 'graph';

/** Switches for looking into the compiler, with the names of PyTorch's environment variables in Node. */
export interface JitOptions {
  /** `false` runs programs as they were compiled, unoptimised (`PYTORCH_JIT=0`). */
  readonly enabled?: boolean | undefined;
  /** Who makes plans; unless set, a graph has one for whatever it is called with (`CRESSET_JIT_EXECUTOR`). */
  readonly executor?: ExecutorKind | undefined;
  /** After how many runs the profiling executor specialises; 1 unless set (`_jit_set_num_profiled_runs`). */
  readonly numProfiledRuns?: number | undefined;
  /** How it specialises; `[['STATIC', 2], ['DYNAMIC', 10]]` unless set (`torch.jit.set_fusion_strategy`). */
  readonly fusionStrategy?: FusionStrategy | undefined;
  /**
   * `true` has it guard every tensor that something is known of, and go on from a guard that fails in a `prim::BailOut` graph; else
   * groups of operators alone are guarded, and have fallbacks, as in PyTorch since 1.8.
   */
  readonly bailouts?: boolean | undefined;
  /**
   * `true` has an executor form the groups of PyTorch's fusers, the legacy one's (`simple`) or the TensorExpr fuser's (`profiling`), in place of ours: on a device
   * each runs in as many kernels as it takes, without one operator by operator (`_jit_override_can_fuse_on_cpu`).
   */
  readonly fuseOnCpu?: boolean | undefined;
  /**
   * How calls go that take gradients: `operators`, each recorded by itself; `groups` of them, which are differentiated as one and whose both directions are
   * plans (`prim::DifferentiableGraph`); or a call as one `graph`, where it can be, when one like it comes again. Unless set, what can be one graph is, and
   * other calls go by groups from the third one on.
   */
  readonly gradients?: GradientMode | undefined;
  /** `false` has models that are loaded from now on compute on the host in TypeScript alone (`CRESSET_WEBASSEMBLY`). */
  readonly webAssembly?: boolean | undefined;
  /**
   * How many threads compute on the host, from the first model there on (torch.set_num_threads, `CRESSET_NUM_THREADS`): half of what the engine counts as
   * cores, and eight at most, unless set. It is one where threads cannot share memory: a page has to be isolated from other origins.
   */
  readonly numThreads?: number | undefined;
  /**
   * How many elements tensors may have for work on what lies on the host to be done there, in models that are loaded from now on and compute on a device:
   * 1000 unless set, nothing below zero (`CRESSET_SMALL_WORK`).
   */
  readonly smallWork?: number | undefined;
  /**
   * `true` has models on a GPU measure which schedules of their kernels are fastest there, once for each kind and about each size; what was found is kept for
   * later visits of this site (`CRESSET_AUTOTUNE`). Calls wait for that.
   */
  readonly autotune?: boolean | undefined;
  /**
   * Which files of the compiler say what they do: `dead_code_elimination:>alias_analysis`. A name alone shows graphs, one `>`
   * before it also each change, two also the details (`PYTORCH_JIT_LOG_LEVEL`).
   */
  readonly logLevel?: string | undefined;
  /** How much of a tensor's type graphs show, 0 (no types) to 4 (symbolic sizes); 3 unless set (`PYTORCH_JIT_TYPE_VERBOSITY`). */
  readonly typeVerbosity?: TypeVerbosity | undefined;
  /** How many changes a pass may make, of all programs together: `peephole=3:inliner=1` (`PYTORCH_JIT_OPT_LIMIT`). */
  readonly optLimit?: string | undefined;
  /** Whether graphs show `# file:line:column`; unless set, those in the log do (`CRESSET_JIT_SOURCE_RANGES`). */
  readonly sourceRanges?: boolean | undefined;
}

/** Levels of what a file of the compiler has to say: graphs, changes, details. */
export type LogLevel = 'DUMP' | 'UPDATE' | 'DEBUG';

const LEVELS: readonly LogLevel[] = ['DUMP', 'UPDATE', 'DEBUG'];

let options: JitOptions | undefined;
let logLevels: ReadonlyMap<string, number> = new Map();
let limits: ReadonlyMap<string, number> = new Map();
let changes = new Map<string, number>();
const showOnConsole = (text: string): void => console.debug(text.trimEnd());

let sink = showOnConsole;
const listeners = new Set<() => void>();

/** The switches as they are. Before the first {@link setJitOptions} they come from the environment, or the page's address. */
export function jitOptions(): JitOptions {
  if (options === undefined) applyJitOptions(readOptions());
  return options!;
}

/**
 * Sets the switches given and leaves the others; counts of changes begin anew. What is compiled and optimised from now on
 * follows them.
 *
 * Throws `ARGUMENT` for a switch that there is not, and for a limit that is no number.
 */
export function setJitOptions(changed: JitOptions): void {
  checkOptions('setJitOptions', changed, {
    enabled: 'boolean',
    executor: ['simple', 'profiling'],
    numProfiledRuns: 'number',
    fusionStrategy: 'array',
    bailouts: 'boolean',
    fuseOnCpu: 'boolean',
    gradients: ['operators', 'groups', 'graph'],
    webAssembly: 'boolean',
    numThreads: 'number',
    smallWork: 'number',
    autotune: 'boolean',
    logLevel: 'string',
    typeVerbosity: 'number',
    optLimit: 'string',
    sourceRanges: 'boolean',
  });
  applyJitOptions({ ...jitOptions(), ...changed });
  for (const listener of listeners) listener();
}

/** Where the log goes, line by line with line ends; the console unless set. */
export function setJitLogSink(write: (text: string) => void): void {
  sink = write;
}

/** Shows a warning of the compiler's: in the log where somebody said where that goes, and as a warning on the console otherwise. */
export function writeJitWarning(text: string): void {
  if (sink === showOnConsole) console.warn(text);
  else sink(`${text}\n`);
}

/** Puts lines in the log, those of another thread among them. */
export function writeJitLog(text: string): void {
  sink(text);
}

/** Calls `listener` now and after every change of the switches, until what it returns is called. */
export function onJitOptions(listener: () => void): () => void {
  listeners.add(listener);
  listener();
  return () => void listeners.delete(listener);
}

/** Takes over all switches of another thread. */
export function applyJitOptions(given: JitOptions): void {
  const { logLevel = '', optLimit = '', typeVerbosity: verbosity } = given;
  const counts = entriesOf(optLimit).map((entry): [string, number] => {
    const [name, count] = entry.split('=');
    if (!/^\d+$/.test(count))
      throw new CressetError('ARGUMENT', `'${entry}' is no limit of a pass: 'peephole=3' is one`);
    return [name, Number(count)];
  });
  logLevels = new Map(entriesOf(logLevel).map((entry) => [baseName(entry), entry.lastIndexOf('>') + 1]));
  limits = new Map(counts);
  changes = new Map();
  if (verbosity !== undefined && verbosity !== typeVerbosity()) setTypeVerbosity(verbosity);
  options = given;
}

function entriesOf(text: string): string[] {
  return text.split(':').filter((entry) => entry !== '');
}

/** `>>dir/peephole.cpp` is about `peephole`. */
function baseName(entry: string): string {
  return entry.replace(/^.*[>/]/, '').replace(/\.\w+$/, '');
}

/** Environment variables of Node, or parameters of the page's address. */
function readOptions(): JitOptions {
  const { process, location } = globalThis as {
    process?: { readonly env?: Readonly<Record<string, string | undefined>> };
    location?: { readonly search?: string };
  };
  const parameters = new URLSearchParams(location?.search ?? '');
  const read = (name: string): string | undefined => process?.env?.[name] ?? parameters.get(name) ?? undefined;
  const flag = (name: string): boolean | undefined => {
    const text = read(name)?.toLowerCase();
    return text === undefined || text === '' ? undefined : !['0', 'n', 'no', 'f', 'false', 'off'].includes(text);
  };
  const number = (name: string): number | undefined => {
    const text = read(name);
    return text === undefined ? undefined : Number.parseInt(text, 10);
  };
  return {
    enabled: flag('PYTORCH_JIT'),
    executor: read('CRESSET_JIT_EXECUTOR') as ExecutorKind | undefined,
    webAssembly: flag('CRESSET_WEBASSEMBLY'),
    numThreads: number('CRESSET_NUM_THREADS'),
    smallWork: number('CRESSET_SMALL_WORK'),
    autotune: flag('CRESSET_AUTOTUNE'),
    logLevel: read('PYTORCH_JIT_LOG_LEVEL'),
    typeVerbosity: number('PYTORCH_JIT_TYPE_VERBOSITY'),
    optLimit: read('PYTORCH_JIT_OPT_LIMIT'),
    sourceRanges: flag('CRESSET_JIT_SOURCE_RANGES'),
  };
}

/**
 * Says something in the log where `file`, a file of PyTorch's compiler without ending, was asked to speak up to `level`
 * (PyTorch: GRAPH_DUMP, GRAPH_UPDATE, GRAPH_DEBUG).
 */
export function jitLog(level: LogLevel, file: string, message: () => string): void {
  if (!speaks(level, file)) return;
  const lines = message().replace(/\n$/, '').split('\n');
  sink(lines.map((line) => `[${level} ${file}] ${line}\n`).join(''));
}

/** Whether a file was asked to speak up to a level. */
export function speaks(level: LogLevel, file: string): boolean {
  jitOptions();
  return LEVELS.indexOf(level) <= (logLevels.get(file) ?? -1);
}

/** Whether nothing is said in the log and nothing limits what passes do, which they ask before each change. */
export function isSilent(): boolean {
  if (options === undefined) jitOptions();
  return logLevels.size === 0 && limits.size === 0;
}

/** Whether a pass has not made as many changes yet as it may; counts one more where so (PyTorch: JIT_OPT_ALLOWED). */
export function withinLimit(file: string): boolean {
  jitOptions();
  const limit = limits.get(file);
  if (limit === undefined) return true;
  const count = changes.get(file) ?? 0;
  changes.set(file, count + 1);
  return count < limit;
}
