import { readModule, writeModule } from '@cresset/archive';
import { declareScript } from '@cresset/frontend';
import { applyJitOptions, CompilationUnit, CressetError, type JitOptions, TensorType } from '@cresset/ir';
import { gradientsOf, recordedCall, recordedCopies, requiresGrad } from '@cresset/runtime/parts/autograd';
import { RuntimeContext, ScriptModule, TorchScriptError, type RuntimeContextOptions } from '@cresset/runtime';
import { Dict, List, Tensor, type Tuple, type HostArray, type IValue, type ScalarType } from '@cresset/tensor';
import { argumentsOf, randomTensor, stateOf, type Arguments } from './inputs.ts';
import { CUT, sourceOf, type Call, type Program } from './program.ts';
import type { PyTorch } from './pytorch.ts';

/** How a program is run. */
export interface Way {
  readonly options: Partial<JitOptions>;
  readonly context: Pick<RuntimeContextOptions, 'device' | 'limits' | 'memoryLimit'>;
  /** Whether the module is saved before its first call, and what was loaded of that file is run. */
  readonly isSaved?: boolean;
  /** What saves it instead, and says as well what it comes to. */
  readonly pytorch?: PyTorch | null;
}

/** As it was written: no pass, no device, kernels in TypeScript; a state that grows a hundredfold with each call is not followed for ever. */
export const plain: Way = {
  options: { enabled: false, executor: undefined },
  context: { device: null, memoryLimit: 256 << 20 },
};

/** The elements of a tensor when somebody looked. */
export interface TensorCopy {
  readonly dtype: ScalarType;
  readonly sizes: readonly number[];
  readonly elements: HostArray;
}

/** What a call came to: its results, its arguments and what the module keeps, by name; or an error. */
export type Outcome =
  | { readonly values: ReadonlyMap<string, TensorCopy | string> }
  | { readonly error: string; readonly isInternal: boolean; readonly isTooLarge?: boolean };

const names = { filename: '<program>' } as const;
const silent = { print: () => undefined, warn: () => undefined } as const;

const contextOf = ({ context }: Way): RuntimeContext => new RuntimeContext({ ...silent, ...context });

/** A module that was compiled and made, ready to be called. */
export class Subject {
  private constructor(
    private readonly module: ScriptModule,
    private readonly way: Way,
  ) {}

  static async make(program: Program, way: Way, nudge = 0): Promise<Subject> {
    applyJitOptions(way.options);
    const unit = new CompilationUnit();
    const declared = declareScript(sourceOf(program), { unit, ...names });
    const object = declared.program.makeModule('Subject', [stateOf(program, nudge)], [], (value) => value);
    const module = new ScriptModule(object, unit, contextOf(way));
    const subject = new Subject(module, way);
    return way.isSaved ? Subject.load(await subject.save(), way) : subject;
  }

  /** The module of a file. */
  static async load(file: Uint8Array, way: Way): Promise<Subject> {
    applyJitOptions(way.options);
    const { module: object, unit, pendingStates } = await readModule(file);
    const module = new ScriptModule(object, unit, contextOf(way));
    await module.restore(pendingStates);
    return new Subject(module, way);
  }

  save(): Promise<Uint8Array> {
    return writeModule(this.module.object);
  }

  async call(program: Program, call: Call, nudge = 0): Promise<Outcome> {
    applyJitOptions(this.way.options);
    const given = argumentsOf(program, call, nudge);
    try {
      if (program.isDifferentiated) return { values: await this.#differentiated(given, call.seed) };
      const result = await this.module.call('forward', listed(given), { resultToHost: true });
      return { values: await this.#copies(result as Tuple, given) };
    } catch (error) {
      return failureOf(error);
    }
  }

  /**
   * What a call gives, and the gradients of its arguments: those of the sum of all results that have some, each element times a number of its own.
   * The program is given copies, to which it may write.
   */
  async #differentiated(given: Arguments, seed: number): Promise<Map<string, TensorCopy | string>> {
    const { context } = this.module;
    const leaves = [...new Set([given.x, given.y, ...given.l])];
    for (const leaf of leaves) leaf.requiresGrad = true;
    const copyOf = await recordedCopies(leaves, context);
    const { n, l } = given;
    const own = { x: copyOf.get(given.x)!, y: copyOf.get(given.y)!, n, l: l.map((each) => copyOf.get(each)!) };
    const result = (await recordedCall(context, (options) =>
      this.module.call('forward', listed(own), { ...options, resultToHost: true }),
    )) as Tuple;
    const outputs = result.items.filter((item): item is Tensor => item instanceof Tensor && requiresGrad(item));
    const gradients = outputs.map(({ sizes, dtype }, at) => randomTensor(sizes, dtype, seed * 8 + at));
    const found =
      outputs.length === 0 ? [] : await gradientsOf({ outputs, gradients, inputs: leaves, allowUnused: true }, context);
    const values = await this.#copies(result, own);
    for (const at of leaves.keys()) await copyInto(values, `gradient ${at}`, found[at] ?? 'none');
    await this.module.call(CUT);
    return values;
  }

  async #copies(result: Tuple, { x, y, l }: Arguments): Promise<Map<string, TensorCopy | string>> {
    const copies = new Map<string, TensorCopy | string>();
    await Promise.all(result.items.map((item, at) => copyInto(copies, `result ${at}`, item)));
    await copyInto(copies, 'x', x);
    await copyInto(copies, 'y', y);
    await Promise.all(l.map((item, at) => copyInto(copies, `l[${at}]`, item)));
    const { object } = this.module;
    for (const [slot, { name }] of object.type.attributes.entries())
      await copyInto(copies, `self.${name}`, object.slots[slot]);
    return copies;
  }
}

const listed = ({ x, y, n, l }: Arguments): IValue[] => [x, y, BigInt(n), new List(TensorType.get(), [...l])];

async function copyInto(copies: Map<string, TensorCopy | string>, name: string, value: IValue): Promise<void> {
  if (value instanceof Tensor) {
    await value.storage.toHost();
    copies.set(name, {
      dtype: value.dtype,
      sizes: value.sizes,
      elements: value.contiguousArray().slice() as HostArray,
    });
  } else if (value instanceof List) {
    copies.set(name, `a list of ${value.items.length}`);
    for (const [at, item] of value.items.entries()) await copyInto(copies, `${name}[${at}]`, item);
  } else if (value instanceof Dict) {
    copies.set(name, `a dict of ${value.entries.size}`);
    for (const [key, item] of value.entries) await copyInto(copies, `${name}[${String(key)}]`, item);
  } else {
    copies.set(name, String(value));
  }
}

/** What no program may come to, whatever it does. */
const internalCodes: ReadonlySet<string> = new Set([
  'IR_INVARIANT',
  'SCRIPT_ERROR',
  'STORAGE_NOT_ON_HOST',
  'DEVICE_ERROR',
]);

export function failureOf(error: unknown): Outcome {
  const { message, stack } = error as Error;
  const innermost = rootOf(error);
  const isOurs = error instanceof TorchScriptError || error instanceof CressetError;
  const isInternal =
    !isOurs ||
    (innermost instanceof CressetError &&
      internalCodes.has(innermost.code) &&
      !(innermost instanceof TorchScriptError)) ||
    /Cannot read propert|is not a function|is not iterable|lies on the device/.test(message);
  const last = message.trim().split('\n').at(-1)!;
  return {
    error: isInternal ? `${last}\n${innermost === error ? stack : (innermost as Error).stack}` : last,
    isInternal,
    isTooLarge: innermost instanceof CressetError && innermost.code === 'MEMORY_LIMIT',
  };
}

function rootOf(error: unknown): unknown {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner;
}

/** All calls of a program, one after the other on one module; what comes after an error is left out, since the module is what it was made by then.
 * @param file what the module is loaded from, where it is not made of its source
 */
export async function run(program: Program, way: Way, nudge = 0, file?: Uint8Array): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  try {
    const subject = file ? await Subject.load(file, way) : await Subject.make(program, way, nudge);
    for (const call of program.calls) {
      const outcome = await subject.call(program, call, nudge);
      outcomes.push(outcome);
      if ('error' in outcome) break;
    }
  } catch (error) {
    outcomes.push(failureOf(error));
  }
  return outcomes;
}
