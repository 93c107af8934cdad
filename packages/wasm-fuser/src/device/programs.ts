import { CressetError } from '@cresset/ir';
import { hint, peek, symEq, symLt, symMul, type SymInt } from '@cresset/tensor';
import {
  asNest,
  FreeAxes,
  joinDigits,
  KernelCache,
  normalise,
  param,
  paramsOfNow,
  runningSoftmaxOf,
  signatureOf,
  stepsOfPoint,
  symExtentOf,
  symPointsOf,
  type Contraction,
  type Expr,
  type Kernel,
  type KernelSignature,
  type LoopNest,
  type NormalContraction,
  type NormalKernel,
  type PreparedLaunch,
  type Recurrence,
  type Routine,
  type Transform,
} from '@cresset/tensorexpr';
import { NeedsSingleSteps } from '../nests/expression-writer.ts';
import {
  instantiate,
  kernelModule,
  lengthsKey,
  type ContractionFunctions,
  type NestFunctions,
} from '../nests/kernel-module.ts';
import { goesByLine, pointsOfNest, sequencesOf } from '../nests/nest-writer.ts';
import type { LinearMemory } from '../linear-memory.ts';
import { ModuleBuilder } from '../module.ts';
import type { RoutineFunctions } from '../routines/routine-functions.ts';
import { linesOfOrdering, type RoutineLines } from '../routines/routines.ts';
import type { ThreadModule } from '../threads/task.ts';
import type { ThreadPool } from '../threads/thread-pool.ts';
import { storedTerms, type StoredTerms } from '../nests/stored-terms.ts';
import { windowsOf, type Windows } from '../nests/windows.ts';
import { prepareAttention, type PreparedAttention } from './attention.ts';
import { imageLayout, type ImageLayout } from './image-layout.ts';
import { plainLines, type PlainLines } from './plain-lines.ts';

/** Steps of `workOf` between two stops. */
export const PIECE_STEPS = 1 << 22;

export interface Prepared extends PreparedLaunch {
  readonly label: string;
  readonly signature: KernelSignature;
  /** Its module for other threads; null where only this one may call its functions. */
  readonly module: ThreadModule | null;
  /** What it was found as: as long as it is in use, it is not compiled once more. */
  readonly compiled: object | null;
  /** When its module was emitted and compiled, by `performance.now()`. */
  readonly compilation: Interval;
}

export interface Interval {
  readonly begin: number;
  readonly end: number;
}

/** A nest that is ready to run: `points` points, of which some make a piece. Those of a recurrence are its steps or its lines. */
export interface PreparedNest extends Prepared {
  readonly kind: 'nest';
  readonly normal: LoopNest | Recurrence;
  readonly functions: NestFunctions;
  readonly points: number;
  readonly pointsAtOnce: number;
  /** Stretches of points begin at multiples of this. */
  readonly pointsTogether: number;
  /** Sequences of a recurrence that is taken step by step, of which stretches of `together` may be done beside each other; null for others. */
  readonly sequences: { readonly count: number; readonly together: number } | null;
  /** Steps of all points. */
  readonly steps: number;
}

/** A contraction that is ready to run as a packed product: of double precision where its signature says so. */
export interface PreparedContraction extends Prepared {
  readonly kind: 'contraction';
  readonly normal: NormalContraction;
  readonly functions: ContractionFunctions;
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly left: PlainLines | null;
  readonly right: PlainLines | null;
  /** Sides that are the same for all of the batch, as filters are for all pictures: their lines are packed once. */
  readonly shared: { readonly left: boolean; readonly right: boolean };
  /** How columns lie in an image; null where they are no windows, or too few of them lie beside each other. */
  readonly image: ImageLayout | null;
}

/** A routine that is ready to run. */
export interface PreparedRoutine extends Prepared {
  readonly kind: 'routine';
  readonly lines: RoutineLines;
  readonly functions: RoutineFunctions;
}

export type PreparedKernel = PreparedNest | PreparedContraction | PreparedRoutine | PreparedAttention;

/** Lines of either side, and elements of a line, below which packing takes longer than it saves. */
const LEAST_LINES = 4;
const LEAST_DEPTH = 4;

/** Modules kept for whoever asks for them again, beside those in use; twice as many at most. */
const KEPT_MODULES = 256;

/** Makes kernels ready; those of the same structure share a module. */
export class Programs {
  readonly #functions = new KernelCache<Compiled<AnyFunctions>>(KEPT_MODULES);
  readonly #unpacked = new Set<string>();
  /** Modules that were compiled. */
  size = 0;
  /** What writes transforms, which comes when a program has some. */
  linesOfTransform: ((transform: Transform) => RoutineLines) | null = null;

  /**
   * @param threads those that are to have what is compiled
   * @param isRelaxed whether products and sums are rounded once; only where the engine has that
   */
  constructor(
    private readonly memory: LinearMemory,
    private readonly threads: ThreadPool | null,
    private readonly isRelaxed: boolean,
  ) {}

  /** What makes a kernel ready for the sizes of now, which may be others than it was asked at, as far as guards hold that were kept then. */
  prepare(kernel: Kernel): () => PreparedKernel {
    if (kernel.kind === 'nest') return this.#nest(kernel, kernel);
    if (kernel.kind === 'recurrence') {
      const normal = normalise(kernel) as Recurrence;
      return this.#inPieces(normal, goesByLine(normal) ? symPointsOf(normal.axes) : symExtentOf(normal.time), kernel);
    }
    const attention = this.#attention(kernel);
    if (attention) return attention;
    const { batch, m, n, k } = kernel;
    const [rows, columns] = [m, n].map(symExtentOf);
    if (symLt(symExtentOf(k), LEAST_DEPTH) || symEq(symPointsOf([...batch, m, n]), 0))
      return this.#nest(asNest(kernel), kernel);
    const normal = joinDigits(normalise(kernel) as NormalContraction);
    const signature = signatureOf(normal);
    const windows = signature.hasDoubles ? null : windowsOf(normal);
    const imageOfNow = (): ImageLayout | null => windows && imageLayout(normal, windows);
    const left = plainLines(normal, normal.m, normal.left);
    const right = plainLines(normal, normal.n, normal.right);
    // Few columns that have to be worked out are worked out once, and not for each row.
    const isSmall = symLt(rows, LEAST_LINES) || (right !== null && symLt(columns, LEAST_LINES));
    if (isSmall && !imageOfNow()) return this.#nest(asNest(kernel), kernel);
    const key = keyOf(normal, signature) + (windows?.key ?? '');
    if (this.#unpacked.has(key)) return this.#nest(asNest(kernel), kernel);
    let compiled;
    try {
      compiled = this.#find<ContractionFunctions>(key, normal, signature, windows);
    } catch (error) {
      if (!(error instanceof NeedsSingleSteps)) throw error;
      if (this.#unpacked.size >= KEPT_MODULES) this.#unpacked.clear();
      this.#unpacked.add(key);
      return this.#nest(asNest(kernel), kernel);
    }
    const shared = { left: isShared(normal, normal.left), right: isShared(normal, normal.right) };
    const [products, depth] = [normal.batch, normal.k].map(symPointsOf);
    // The products' own function packs lines of singles.
    const lines = signature.hasDoubles ? [] : [left, right];
    return () => ({
      kind: 'contraction',
      normal,
      ...whole(kernel, signature),
      ...compiled,
      compiled,
      batch: hint(products),
      m: hint(rows),
      n: hint(columns),
      k: hint(depth),
      left: lines[0]?.() ?? null,
      right: lines[1]?.() ?? null,
      shared,
      image: imageOfNow(),
    });
  }

  prepareRoutine(routine: Routine): PreparedRoutine {
    const { label } = routine;
    if (routine.kind !== 'ordering') return this.#routine(label, this.linesOfTransform!(routine));
    const ofNow = linesOfOrdering(routine);
    const again = (): PreparedRoutine => this.#routine(label, ofNow());
    return routine.keys.isSymbolic || routine.places.isSymbolic ? { ...again(), again } : again();
  }

  #routine(label: string, lines: RoutineLines): PreparedRoutine {
    const { key, reads, stores, numbers, floats = [], isDouble = false } = lines;
    const tensors = [...reads, ...stores];
    const bindings = tensors.map((tensor, at) => ({
      operand: { tensor, dtype: tensor.dtype },
      stored: at >= reads.length,
      layout: tensor.storage.layoutOf(tensor.dtype),
    }));
    const signature: KernelSignature = {
      key,
      hasDoubles: isDouble,
      bindings,
      params: [...numbers.map((value) => param('i32', value)), ...floats.map((value) => param('float', value))],
      bindingOf: ({ tensor: { storage } }) => tensors.findIndex((tensor) => tensor.storage === storage),
    };
    const compiled = this.#compiled<RoutineFunctions>(key, label, () => this.#writeRoutine(lines));
    return {
      kind: 'routine',
      lines,
      label,
      signature,
      bindings,
      params: signature.params,
      kernel: null,
      ...compiled,
      compiled,
    };
  }

  #attention(kernel: Contraction): (() => PreparedAttention) | null {
    const attention = runningSoftmaxOf(kernel);
    if (!attention) return null;
    const signature = signatureOf(attention);
    const now = performance.now();
    const compilation = { begin: now, end: now };
    const known = (): Prepared => ({ ...whole(kernel, signature), module: null, compilation, compiled: null });
    return prepareAttention(attention, known, (step) => this.prepare(step));
  }

  #nest(nest: LoopNest, kernel: Kernel): () => PreparedNest {
    const normal = joinDigits(normalise(nest) as LoopNest);
    return this.#inPieces(normal, symPointsOf(pointsOfNest(normal).axes), kernel, termsOf(normal));
  }

  /** @param points what the kernel's function goes over, some at a time */
  #inPieces(
    normal: LoopNest | Recurrence,
    points: SymInt,
    kernel: Kernel,
    terms: StoredTerms | null = null,
  ): () => PreparedNest {
    const signature = signatureOf(normal);
    const all = symPointsOf(normal.axes);
    const isEmpty = symEq(all, 0);
    const work = isEmpty ? 0 : symMul(all, stepsOfPoint(normal));
    // Stretches of elements begin where four of them do.
    const least = normal.kind === 'nest' && pointsOfNest(normal).axes[0] === pointsOfNest(normal).lanes ? 4 : 1;
    const key = keyOf(normal, signature) + (terms ? `terms${terms.most !== null}` : '');
    const compiled = this.#find<NestFunctions>(key, normal, signature, null, terms);
    const { functions, module, compilation } = compiled;
    const apart = hasPointsApart(normal) ? module : null;
    const sequences = normal.kind === 'recurrence' ? stretchesOf(normal) : null;
    return () => {
      const [count, steps] = [isEmpty ? 0 : hint(points), hint(work)];
      return {
        kind: 'nest',
        normal,
        ...whole(kernel, signature),
        functions,
        module: apart,
        compilation,
        compiled,
        points: count,
        pointsAtOnce: Math.max(least, Math.floor(PIECE_STEPS / Math.max(steps / Math.max(count, 1), 1) / 4) * 4),
        pointsTogether: least,
        sequences: sequences && { ...sequences, count: hint(sequences.count) },
        steps,
      };
    };
  }

  #find<Functions extends NestFunctions | ContractionFunctions>(
    key: string,
    normal: NormalKernel,
    signature: KernelSignature,
    windows: Windows | null,
    terms: StoredTerms | null = null,
  ): Compiled<Functions> {
    return this.#compiled(key, normal.label, () => this.#write(normal, signature, windows, terms));
  }

  #compiled<Functions extends AnyFunctions>(
    key: string,
    label: string,
    write: () => ModuleBuilder,
  ): Compiled<Functions> {
    let compiled = this.#functions.find(key);
    if (!compiled) {
      const begin = performance.now();
      // The key tells all that a module goes by.
      const module = peek(write);
      const bytes = module.bytes();
      const functions = this.#compile<Functions>(bytes, label);
      compiled = {
        functions,
        module: module.callsImports ? null : (this.threads?.register(bytes) ?? null),
        compilation: { begin, end: performance.now() },
      };
      this.#functions.add(key, compiled);
      this.size++;
    }
    return compiled as Compiled<Functions>;
  }

  /** The bytes of a kernel's modules, which nobody keeps: they are written once more. */
  modulesOf(prepared: PreparedKernel): Uint8Array[] {
    if (prepared.kind !== 'attention') return [this.#moduleOf(prepared)];
    return [prepared.scores, prepared.softmax, prepared.product].map((step) => this.#moduleOf(step));
  }

  #moduleOf(prepared: PreparedNest | PreparedContraction | PreparedRoutine): Uint8Array {
    if (prepared.kind === 'routine') return this.#writeRoutine(prepared.lines).bytes();
    const { normal } = prepared;
    // Of its params some are numbers in the launch that are expressions in the kernel.
    const signature = signatureOf(normal);
    const windows = normal.kind === 'contraction' && !signature.hasDoubles ? windowsOf(normal) : null;
    const terms = normal.kind === 'nest' ? termsOf(normal) : null;
    return this.#write(normal, signature, windows, terms).bytes();
  }

  #writeRoutine(lines: RoutineLines): ModuleBuilder {
    const module = new ModuleBuilder([], this.memory.isShared, this.isRelaxed);
    lines.define(module);
    return module;
  }

  #write(
    normal: NormalKernel,
    signature: KernelSignature,
    windows: Windows | null,
    terms: StoredTerms | null,
  ): ModuleBuilder {
    return kernelModule(normal, signature, windows, terms, this.memory.isShared, this.isRelaxed);
  }

  #compile<Functions>(bytes: Uint8Array<ArrayBuffer>, label: string): Functions {
    try {
      return instantiate<Functions>(new WebAssembly.Module(bytes), this.memory);
    } catch (error) {
      throw new CressetError('DEVICE_SHADER', `${label} does not compile: ${String(error)}`, { cause: error });
    }
  }
}

/** What is known of any kernel, with the numbers of now. */
function whole(
  kernel: Kernel,
  own: KernelSignature,
): Pick<Prepared, 'label' | 'signature' | 'bindings' | 'params' | 'kernel'> {
  const params = paramsOfNow(own.params);
  return { label: kernel.label, signature: { ...own, params }, bindings: own.bindings, params, kernel };
}

function isShared({ batch }: NormalContraction, side: Expr): boolean {
  if (batch.length === 0) return true;
  const free = new FreeAxes().of(side);
  return !batch.some((axis) => free.has(axis));
}

type AnyFunctions = NestFunctions | ContractionFunctions | RoutineFunctions;

interface Compiled<Functions> {
  readonly functions: Functions;
  readonly module: ThreadModule | null;
  readonly compilation: Interval;
}

/** Terms of a sum over a nest's lanes that its stores write down as they go; null where there are none. */
const termsOf = (normal: LoopNest): StoredTerms | null =>
  pointsOfNest(normal).lanes === normal.innerAxes[0] ? storedTerms(normal) : null;

/** Whether points, or sequences of a recurrence, can be worked out beside each other: not what adds to the same element. */
const hasPointsApart = (normal: LoopNest | Recurrence): boolean =>
  normal.stores.every(({ combine }) => combine === undefined);

/** Where elements of sequences are the innermost loop, several vectors of them go on together. */
function stretchesOf(normal: Recurrence): { readonly count: SymInt; readonly together: number } | null {
  if (goesByLine(normal)) return null;
  const axis = sequencesOf(normal);
  const isInnermost = normal.axes.length + normal.innerAxes.length === 1;
  return axis ? { count: symExtentOf(axis), together: isInnermost ? 16 : 1 } : { count: 1, together: 1 };
}

const keyOf = (kernel: NormalKernel, { key }: KernelSignature): string => `${kernel.kind}${key}${lengthsKey(kernel)}`;
