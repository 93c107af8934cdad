import { Complex } from '@cresset/ir';
import {
  DeviceValue,
  List,
  OpenNumber,
  ScriptObject,
  Tensor,
  Tuple,
  type IValue,
  hint,
  type SymInt,
} from '@cresset/tensor';

/** Where a value comes from that a stretch did not make. */
export type Origin =
  | { readonly kind: 'register'; readonly register: number }
  | AttributeOrigin
  /** A result of a step of the stretch that is done anew each time, before anything else. */
  | { readonly kind: 'computed'; readonly step: number; readonly at: number }
  /** What the host computes in this step, each time anew. */
  | { readonly kind: 'host'; readonly step: number }
  /** An item of the list or tuple that is the live-in of this number. */
  | { readonly kind: 'item'; readonly of: number; readonly at: number };

/** @property register what it is first put in */
export interface AttributeOrigin {
  readonly kind: 'attribute';
  readonly object: ScriptObject;
  readonly slot: number;
  readonly register: number;
}

/** What an origin is called in every recording of one place; null of what is worked out within. */
export function originName(origin: Origin, liveIns: readonly LiveIn[]): string | null {
  switch (origin.kind) {
    case 'register':
      return `${origin.register}`;
    case 'attribute':
      return `attribute ${origin.register}`;
    case 'item': {
      const parent = originName(liveIns[origin.of].origin, liveIns);
      return parent && `${parent}[${origin.at}]`;
    }
    default:
      return null;
  }
}

/** What a stretch found at its beginning, and what has to be found there again for its recording to hold. */
export abstract class LiveIn {
  /** Its place among the distinct storages of all live-ins; -1 where it is no tensor. */
  storage = -1;
  /** Whether it has to be what it was: something besides those steps goes by it. */
  isGuarded = false;
  /** What a number has to be like that is another one. */
  readonly admits: ((value: number) => boolean)[] = [];
  /** Symbols that stand for sizes of it, by their numbers, and the dimensions; null of a number for that itself. */
  symbols: readonly { readonly symbol: number; readonly dim: number | null }[] = [];
  /** Stands for its number, or for where it begins, in launches that serve whatever that is. */
  open: OpenNumber | null = null;

  constructor(readonly origin: Origin) {}

  openUp(): OpenNumber | null {
    return null;
  }

  abstract matches(value: IValue): boolean;
}

/** Numbers, strings and what else is told by being the same; objects, whose attributes are live-ins of their own. */
class SameValue extends LiveIn {
  constructor(
    origin: Origin,
    private readonly value: IValue,
  ) {
    super(origin);
  }

  /** Has it stay open from now on, where it is a number. */
  override openUp(): OpenNumber | null {
    const { value } = this;
    if (typeof value === 'number' || typeof value === 'bigint') this.open ??= new OpenNumber(value);
    return this.open;
  }

  matches(value: IValue): boolean {
    if (Object.is(value, this.value)) return true;
    if (this.open?.isRead !== false || typeof value !== typeof this.value) return false;
    return this.admits.every((admits) => admits(value as number));
  }
}

export class SameLength extends LiveIn {
  readonly #length: number;

  constructor(
    origin: Origin,
    { items }: List | Tuple,
    private readonly kind: typeof List | typeof Tuple,
  ) {
    super(origin);
    this.#length = items.length;
  }

  matches(value: IValue): boolean {
    return value instanceof this.kind && value.items.length === this.#length;
  }
}

/** A list that a stretch does nothing to but put values at its end: what it holds is no matter. */
export class GrowingList extends LiveIn {
  override isGuarded = true;

  matches(value: IValue): boolean {
    return value instanceof List;
  }
}

/** What live-ins go by besides their values. */
export interface LiveInRules {
  /** Whether what is given may begin elsewhere in its storage the next time. */
  readonly opensOffsets: boolean;
  /** Of the device: a storage of more bytes is bound in windows, and another one has to have as many. */
  readonly maxBindingBytes: number;
}

/** A tensor that lies as another one did. Which storage it lies in is no matter: that is given with each replay. */
export class SameLayout extends LiveIn {
  readonly #dtype: Tensor['dtype'];
  #sizes: readonly number[];
  #strides: readonly number[];
  readonly #symbolic: SymbolicLayout | null;
  readonly #offset: number;
  readonly #requiresGrad: boolean;
  readonly #isNarrow: boolean;
  #maxBindingBytes: number;
  /** The bytes of its storage when it was recorded. */
  readonly #held: number;
  /** Of its storage, where that is bound in windows or gone by; those of one binding else. */
  #bytes: number;

  constructor(origin: Origin, tensor: Tensor, { opensOffsets, maxBindingBytes }: LiveInRules) {
    super(origin);
    const { dtype, symSizes, symStrides, symHandedOnOffset, handedOnOffset: storageOffset, requiresGrad } = tensor;
    const isGiven = opensOffsets && origin.kind === 'register' && storageOffset !== 0;
    const isSelected = origin.kind === 'computed' || isGiven;
    if (isSelected && !tensor.openOffset) this.open = tensor.openOffset = new OpenNumber(storageOffset);
    // What a step makes of a view it begins with begins where that does, each time.
    else if (origin.kind === 'computed') this.open = tensor.openOffset;
    this.#dtype = dtype;
    this.#symbolic = tensor.isSymbolic ? { sizes: symSizes, strides: symStrides, offset: symHandedOnOffset } : null;
    this.#sizes = symSizes.map(hint);
    this.#strides = symStrides.map(hint);
    this.#offset = storageOffset;
    this.#requiresGrad = requiresGrad;
    this.#isNarrow = tensor.storage.isNarrow;
    this.#maxBindingBytes = maxBindingBytes;
    this.#held = tensor.storage.byteLength;
    this.#bytes = Math.max(this.#held, maxBindingBytes);
  }

  /** What is done goes by the bytes of its storage. */
  measure(): void {
    this.#maxBindingBytes = 0;
    this.#bytes = this.#held;
  }

  /** The dimensions in which a tensor of its dtype and rank has other sizes. */
  movedDims({ dtype, symSizes }: Tensor): number[] {
    const own = this.#symbolic?.sizes ?? this.#sizes;
    if (dtype !== this.#dtype || symSizes.length !== own.length) return [];
    return own.flatMap((size, dim) => (hint(size) === hint(symSizes[dim]) ? [] : dim));
  }

  matches(value: IValue): boolean {
    if (!(value instanceof Tensor) || !isPlainTensor(value)) return false;
    const { dtype, handedOnOffset, requiresGrad } = value;
    if (dtype !== this.#dtype || requiresGrad !== this.#requiresGrad) return false;
    const { isNarrow, byteLength } = value.storage;
    if (isNarrow !== this.#isNarrow || Math.max(byteLength, this.#maxBindingBytes) !== this.#bytes) return false;
    const offset = this.#symbolic ? hint(this.#symbolic.offset) : this.#offset;
    if (handedOnOffset !== offset && (!this.open || this.open.isRead)) return false;
    if (this.#symbolic) return standsFor(this.#symbolic, value);
    const { sizes, strides } = value;
    if (sizes === this.#sizes && strides === this.#strides) return true;
    if (!sameNumbers(sizes, this.#sizes) || !sameNumbers(strides, this.#strides)) return false;
    // Lists of sizes are never changed: next time the lists themselves tell.
    this.#sizes = sizes;
    this.#strides = strides;
    return true;
  }
}

/** Sizes and strides, some of them expressions, of a tensor that is given. */
interface SymbolicLayout {
  readonly sizes: readonly SymInt[];
  readonly strides: readonly SymInt[];
  readonly offset: SymInt;
}

/** Whether a tensor lies as its layout's expressions say now. */
function standsFor({ sizes, strides }: SymbolicLayout, { symSizes, symStrides }: Tensor): boolean {
  const isSame = (own: readonly SymInt[], others: readonly SymInt[]): boolean =>
    own.length === others.length && own.every((size, dim) => hint(size) === hint(others[dim]));
  return isSame(sizes, symSizes) && isSame(strides, symStrides);
}

/** A live-in for a value, not guarded yet; null where nothing short says that another is as good. */
export function liveInOf(origin: Origin, value: IValue, rules: LiveInRules): LiveIn | null {
  if (isImmutable(value) || value instanceof ScriptObject) return new SameValue(origin, value);
  if (value instanceof Tensor) return isPlainTensor(value) ? new SameLayout(origin, value, rules) : null;
  if (value instanceof List) return new SameLength(origin, value, List);
  if (value instanceof Tuple) return new SameLength(origin, value, Tuple);
  return null;
}

/** Whether a value can be handed out again and again. */
export const isImmutable = (value: IValue): boolean =>
  typeof value !== 'object' || value === null || value instanceof DeviceValue || value instanceof Complex;

/** Whether sizes, strides and dtype say all there is to a tensor besides its elements. */
export const isPlainTensor = (tensor: Tensor): boolean =>
  tensor.constructor === Tensor && tensor.quantizer === null && tensor.grad === null;

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}
