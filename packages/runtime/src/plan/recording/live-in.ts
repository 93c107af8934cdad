import { Complex } from '@cresset/ir';
import {
  DeviceValue,
  List,
  OpenNumber,
  ScriptObject,
  Tensor,
  Tuple,
  type IValue,
  type ScalarType,
  hint,
  symMul,
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

/** The attribute that a live-in is, or lies in; null where it is elsewhere. */
export function attributeOf(liveIns: readonly LiveIn[], { origin }: LiveIn): AttributeOrigin | null {
  if (origin.kind === 'item') return attributeOf(liveIns, liveIns[origin.of]);
  return origin.kind === 'attribute' ? origin : null;
}

/** What a stretch found at its beginning, and what has to be found there again for its recording to hold. */
export abstract class LiveIn {
  readonly op = 'find';
  /** Its place among the distinct storages of all live-ins; -1 where it is no tensor. */
  storage = -1;
  /** Of a tensor. */
  readonly dtype?: ScalarType;
  /** Whether it has to be what it was: something besides those steps goes by it. */
  isGuarded = false;
  /** What a number has to be like that is another one. */
  readonly admits: ((value: number | bigint) => boolean)[] = [];
  /** Symbols that stand for numbers of its layout, by their numbers, and the places ({@link layoutNumber}); null of a number for that itself. */
  symbols: readonly { readonly symbol: number; readonly place: number | null }[] = [];
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
    readonly value: IValue,
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
    return this.admits.every((admits) => admits(value as number | bigint));
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
  override readonly dtype: ScalarType;
  sizes: readonly SymInt[];
  strides: readonly SymInt[];
  readonly offset: SymInt;
  readonly #isSymbolic: boolean;
  readonly #requiresGrad: boolean;
  readonly #isNarrow: boolean;
  /** Of its storage when it was recorded. */
  readonly #bytes: number;
  /** Of as many rows with room behind each; null where its elements lay in none. */
  readonly rowCount: number | null;
  /** Whether a device has made its elements, and nobody has looked at them. */
  readonly isOfDevice: boolean;
  /** Whether launches find its elements in such rows, wherever these are. */
  takesRows = false;
  /** Storages of no more bytes are alike to it: each is one binding. */
  #leastBytes: number;

  constructor(origin: Origin, tensor: Tensor, { opensOffsets, maxBindingBytes }: LiveInRules) {
    super(origin);
    const { dtype, symSizes, symStrides, symHandedOnOffset, handedOnOffset: storageOffset, requiresGrad } = tensor;
    const isGiven =
      opensOffsets && origin.kind === 'register' && storageOffset !== 0 && typeof symHandedOnOffset === 'number';
    const isSelected = origin.kind === 'computed' || isGiven;
    if (isSelected && !tensor.openOffset) this.open = tensor.openOffset = new OpenNumber(storageOffset);
    // What a step makes of a view it begins with begins where that does, each time.
    else if (origin.kind === 'computed') this.open = tensor.openOffset;
    this.dtype = dtype;
    this.sizes = symSizes;
    this.strides = symStrides;
    this.offset = tensor.isSymbolic ? symHandedOnOffset : storageOffset;
    this.#isSymbolic = tensor.isSymbolic;
    this.#requiresGrad = requiresGrad;
    this.#isNarrow = tensor.storage.isNarrow;
    this.#leastBytes = maxBindingBytes;
    this.#bytes = tensor.storage.byteLength;
    this.rowCount = tensor.storage.rows?.memory.rows ?? null;
    this.isOfDevice = tensor.storage.isOnDevice && !tensor.storage.isOnHost;
  }

  /** What is done goes by the bytes of its storage. */
  measure(): void {
    this.#leastBytes = 0;
  }

  /** The places of its layout in which a tensor of its dtype and rank has other numbers, but for those that follow from the others. */
  movedPlaces({ dtype, symSizes, symStrides, handedOnOffset }: Tensor): number[] {
    const rank = this.sizes.length;
    if (dtype !== this.dtype || symSizes.length !== rank) return [];
    const movedFrom = (before: readonly SymInt[], now: readonly SymInt[], first: number): number[] =>
      before.flatMap((each, dim) => (hint(each) === hint(now[dim]) ? [] : first + dim));
    const moved = movedFrom(this.sizes, symSizes, 0);
    if (!(isDense(this.sizes, this.strides) && isDense(symSizes, symStrides)))
      moved.push(...movedFrom(this.strides, symStrides, rank));
    if (handedOnOffset !== hint(this.offset) && (!this.open || this.open.isRead)) moved.push(2 * rank);
    return moved;
  }

  matches(value: IValue): boolean {
    if (!(value instanceof Tensor) || !isPlainTensor(value)) return false;
    const { dtype, handedOnOffset, requiresGrad } = value;
    if (dtype !== this.dtype || requiresGrad !== this.#requiresGrad) return false;
    const { isNarrow, byteLength, rows } = value.storage;
    // What lies in rows and is bound as if it did not would be packed each time.
    if (!this.takesRows && (rows !== null) !== (this.rowCount !== null)) return false;
    const least = this.#leastBytes;
    if (isNarrow !== this.#isNarrow || Math.max(byteLength, least) !== Math.max(this.#bytes, least)) return false;
    if (handedOnOffset !== hint(this.offset) && (!this.open || this.open.isRead)) return false;
    const { symSizes: sizes, symStrides: strides } = value;
    if (sizes === this.sizes && strides === this.strides) return true;
    if (!areSameNow(sizes, this.sizes) || !areSameNow(strides, this.strides)) return false;
    if (this.#isSymbolic || value.isSymbolic) return this.#isSymbolic;
    // Lists of sizes are never changed: next time the lists themselves tell.
    this.sizes = sizes;
    this.strides = strides;
    return true;
  }
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

/** Of the sizes, strides and the offset of a tensor, in that order, the one at a place; undefined where there are fewer. */
export function layoutNumber({ symSizes, symStrides, symHandedOnOffset }: Tensor, place: number): SymInt | undefined {
  const rank = symSizes.length;
  if (place < rank) return symSizes[place];
  return place === 2 * rank ? symHandedOnOffset : symStrides[place - rank];
}

/**
 * Strides as products of sizes where they are those of dimensions that lie one in the other without gaps, in whatever order.
 *
 * @param other what is put in the place of a stride that is none
 */
export function denseStrides(
  sizes: readonly SymInt[],
  strides: readonly SymInt[],
  other: (stride: SymInt, dim: number) => SymInt = (stride) => stride,
): SymInt[] {
  const dense = [...strides];
  const order = [...strides.keys()].sort((a, b) => hint(strides[a]) - hint(strides[b]) || b - a);
  let expected: SymInt = 1;
  for (const dim of order) {
    dense[dim] = hint(strides[dim]) === hint(expected) ? expected : other(strides[dim], dim);
    if (hint(strides[dim]) > 0) expected = symMul(dense[dim], sizes[dim]);
  }
  return dense;
}

/** Whether all strides are such products. */
const isDense = (sizes: readonly SymInt[], strides: readonly SymInt[]): boolean =>
  !denseStrides(sizes, strides, () => -1).includes(-1);

function areSameNow(a: readonly SymInt[], b: readonly SymInt[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (hint(a[at]) !== hint(b[at])) return false;
  return true;
}
