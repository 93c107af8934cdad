import {
  hostElementSize,
  realType,
  symLe,
  symProduct,
  textOf,
  type DeviceLayout,
  type Storage,
  type SymInt,
} from '@cresset/tensor';
import { CressetError, scalarTypeCode } from '@cresset/ir';
import { binaryFunctions, unaryFunctions, type Expr, type ExprType, type ParamExpr } from '../expressions/expr.ts';
import { symIndexValue } from '../expressions/index-value.ts';
import type { NormalForm } from './normalise.ts';
import type { Operand } from '../expressions/operand.ts';

/** One storage as a kernel uses it, whatever the number of tensors over it. */
export interface Binding {
  readonly operand: Operand;
  /** Some store writes to it: it is bound for writing, loads from it go through the same binding. */
  readonly stored: boolean;
  /** How its elements lie: those of a storage that is written to as its dtype says. */
  readonly layout: DeviceLayout;
  /** Of a buffer that is larger than what one binding reaches, which is only read: the windows that it is bound in, one after the other. */
  readonly windows?: { readonly count: number; readonly byteLength: number };
}

/** Whether the operands of a kernel that was made ready lie as they did then. */
export const hasLayouts = ({ bindings }: Pick<KernelSignature, 'bindings'>): boolean =>
  bindings.every(({ operand, stored, layout }) => stored || operand.tensor.storage.layoutOf(operand.dtype) === layout);

/** What two launches must have in common to share a compiled kernel, and what each of them brings of its own. */
export interface KernelSignature {
  /**
   * The structure itself, in codes: kernels with the same key are the same but for values of params and identities of tensors. A program may come from
   * anybody, so nothing that can collide decides whose code it runs.
   */
  readonly key: string;
  /** In order of first occurrence: the numbers to send along. */
  readonly params: readonly ParamExpr[];
  readonly bindings: readonly Binding[];
  /** Floats are computed in double precision: an operand is of float64. */
  readonly hasDoubles: boolean;
  bindingOf(operand: Operand): number;
}

const typeCodes: Record<ExprType, number> = { float: 0, i32: 1, i64: 2, bool: 3 };
/** Apart by as many as there are types. */
const kindCodes: Record<Expr['kind'], number> = {
  const: 4,
  param: 8,
  axis: 12,
  load: 16,
  unary: 20,
  binary: 24,
  select: 28,
  cast: 32,
  reduce: 36,
  accumulator: 40,
};
const reduceFunctions = ['sum', 'prod', 'max', 'min', 'any', 'all', 'argmax', 'argmin'];
const forms: readonly NormalForm['kind'][] = ['nest', 'recurrence', 'contraction', 'running-softmax'];
const codeOf = new Map<string | undefined, number>(
  [undefined, ...forms, ...unaryFunctions, ...binaryFunctions, ...reduceFunctions].map((name, index) => [name, index]),
);
/** And the number of an expression that came before, where that is below. */
const seenBefore = 0x8000;

const float64 = new Float64Array(1);
const float64Words = new Uint32Array(float64.buffer);

/** Codes of the walk that goes on; one at a time does. */
let codes = new Uint16Array(1 << 12);
/** Characters that are made in one call: arguments of a call are limited. */
const CHARACTERS = 1 << 12;

class SignatureWalk {
  #length = 0;
  readonly params: ParamExpr[] = [];
  readonly bindings: { operand: Operand; stored: boolean }[] = [];
  readonly #bindingByStorage = new Map<Storage, number>();
  readonly #seen = new Map<Expr, number>();

  get key(): string {
    let key = '';
    for (let from = 0; from < this.#length; from += CHARACTERS) {
      const some = codes.subarray(from, Math.min(from + CHARACTERS, this.#length));
      // To spread them takes three times as long.
      key += String.fromCharCode.apply(null, some as unknown as number[]);
    }
    return key;
  }

  /** Adds a code below 2^16. */
  add(code: number): void {
    if (this.#length === codes.length) {
      const longer = new Uint16Array(2 * codes.length);
      longer.set(codes);
      codes = longer;
    }
    codes[this.#length++] = code;
  }

  /** Adds any whole number of 32 bits. */
  addWord(word: number): void {
    this.add(word & 0xffff);
    this.add(word >>> 16);
  }

  expr(expr: Expr): void {
    const earlier = this.#seen.get(expr);
    if (earlier !== undefined) {
      if (earlier < seenBefore - 1) return this.add(seenBefore + earlier);
      this.add(0xffff);
      return this.addWord(earlier);
    }
    this.#seen.set(expr, this.#seen.size);
    this.add(kindCodes[expr.kind] + typeCodes[expr.type]);
    switch (expr.kind) {
      case 'const':
        this.#constant(expr.value);
        return;
      case 'param':
        this.params.push(expr);
        return;
      case 'axis':
        this.expr(expr.extent);
        return;
      case 'load':
        this.operand(expr.operand, false);
        this.expr(expr.offset);
        return;
      case 'unary':
        this.add(codeOf.get(expr.fn)!);
        this.expr(expr.x);
        return;
      case 'binary':
        this.add(codeOf.get(expr.fn)!);
        this.expr(expr.x);
        this.expr(expr.y);
        return;
      case 'select':
        this.expr(expr.condition);
        this.expr(expr.x);
        this.expr(expr.y);
        return;
      case 'cast':
        this.expr(expr.x);
        return;
      case 'reduce':
        this.add(codeOf.get(expr.fn)!);
        this.add(expr.axes.length);
        for (const axis of expr.axes) this.expr(axis);
        this.expr(expr.body);
        return;
      case 'accumulator':
        return;
    }
    expr satisfies never;
  }

  operand(operand: Operand, stored: boolean): void {
    const { storage } = operand.tensor;
    let index = this.#bindingByStorage.get(storage);
    if (index === undefined) {
      index = this.bindings.length;
      this.#bindingByStorage.set(storage, index);
      this.bindings.push({ operand, stored });
      this.add(index);
      this.add(scalarTypeCode(operand.dtype));
    } else {
      const binding = this.bindings[index];
      if (binding.operand.dtype !== operand.dtype) {
        throw new CressetError(
          'DEVICE_MIXED_DTYPES',
          `a kernel uses one storage as ${binding.operand.dtype} and as ${operand.dtype}: copy one of the two tensors first`,
        );
      }
      if (stored) binding.stored = true;
      this.add(index);
    }
  }

  bindingOf(operand: Operand): number {
    const index = this.#bindingByStorage.get(operand.tensor.storage);
    if (index === undefined) throw new TypeError('this operand is not part of the kernel');
    return index;
  }

  #constant(value: number | bigint | boolean): void {
    if (typeof value === 'bigint') {
      this.addWord(Number(BigInt.asUintN(32, value)));
      this.addWord(Number(BigInt.asUintN(32, value >> 32n)));
      return;
    }
    float64[0] = Number(value);
    this.addWord(float64Words[0]);
    this.addWord(float64Words[1]);
  }
}

/** Reads off the structure of a kernel, or of several that are one shader, in one walk over the expressions. */
export function signatureOf(...kernels: readonly NormalForm[]): KernelSignature {
  const walk = new SignatureWalk();
  walk.add(kernels.length);
  for (const kernel of kernels) {
    checkPoints(kernel);
    walkKernel(walk, kernel);
  }
  // Whether a binding is written may turn out after its first load, so it comes at the end.
  const bindings = walk.bindings.map(({ operand, stored }): Binding => {
    const layout = stored ? realType(operand.dtype) : operand.tensor.storage.layoutOf(operand.dtype);
    checkCount(operand.tensor.storage.byteLength / hostElementSize(layout), 'elements of a tensor');
    walk.add(stored ? 1 : layout === 'half' ? 2 : 0);
    return { operand, stored, layout };
  });
  return {
    key: walk.key,
    params: walk.params,
    bindings,
    hasDoubles: bindings.some(({ operand }) => operand.dtype === 'float64'),
    bindingOf: (operand) => walk.bindingOf(operand),
  };
}

/** Kernels count with integers of 32 bits. */
const MOST_INDEX = 2 ** 31 - 1;

function checkCount(count: SymInt, what: string): void {
  if (symLe(count, MOST_INDEX)) return;
  throw new CressetError(
    'DEVICE_BUFFER_TOO_LARGE',
    `${textOf(count)} ${what} are more than kernels count, which is ${MOST_INDEX}`,
  );
}

function checkPoints(kernel: NormalForm): void {
  const isNest = kernel.kind === 'nest' || kernel.kind === 'recurrence';
  const axes = isNest ? kernel.axes : [...kernel.batch, kernel.m, kernel.n];
  const points = symProduct(axes.map(({ extent }) => symIndexValue(extent) ?? 1));
  checkCount(points, 'points of a kernel');
}

function walkKernel(walk: SignatureWalk, kernel: NormalForm): void {
  walk.add(codeOf.get(kernel.kind)!);
  if (kernel.kind === 'nest' || kernel.kind === 'recurrence') {
    if (kernel.kind === 'recurrence') walk.expr(kernel.time);
    walk.add(kernel.axes.length);
    for (const axis of kernel.axes) walk.expr(axis);
    walk.add(kernel.innerAxes.length);
    for (const axis of kernel.innerAxes) walk.expr(axis);
  } else {
    walk.add(kernel.batch.length);
    for (const axis of kernel.batch) walk.expr(axis);
    const sums = kernel.kind === 'contraction' ? kernel.k : [kernel.k, ...kernel.depth];
    walk.add(sums.length);
    for (const axis of [kernel.m, kernel.n, ...sums]) walk.expr(axis);
    walk.expr(kernel.left);
    walk.expr(kernel.right);
    if (kernel.kind === 'running-softmax') {
      walk.add(kernel.isSafe ? 1 : 0);
      walk.expr(kernel.score);
      walk.expr(kernel.values);
    }
  }
  walk.add(kernel.stores.length);
  for (const store of kernel.stores) {
    // Values first: what is read is bound before what is written.
    walk.expr(store.value);
    walk.operand(store.operand, true);
    walk.expr(store.offset);
    walk.add(codeOf.get(store.combine)!);
    walk.add(store.guard ? 1 : 0);
    if (store.guard) walk.expr(store.guard);
  }
}
