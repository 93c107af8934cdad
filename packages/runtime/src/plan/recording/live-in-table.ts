import {
  List,
  Tensor,
  Tuple,
  type IValue,
  type OpenNumber,
  type Storage,
  hint,
  LEAST_SYMBOL,
  MOST_SYMBOL,
  ShapeEnv,
  type SymInt,
  type SymKind,
  type SymNode,
} from '@cresset/tensor';
import {
  attributeOf,
  denseStrides,
  GrowingList,
  isImmutable,
  isPlainTensor,
  liveInOf,
  originName,
  type AttributeOrigin,
  type LiveIn,
  type LiveInRules,
  type Origin,
} from './live-in.ts';

/** Lists longer than this are not followed into. */
export const maxItems = 1024;
const maxLiveIns = 4096;

/** The values that were there before a recording or are given to it each time anew: what is known of them, and which are guarded. */
export class LiveInTable {
  readonly liveIns: LiveIn[] = [];
  /** The storages that tensors among the live-ins lay in. */
  readonly liveInStorages: (Storage | null)[] = [];
  readonly #objects = new Map<object, number>();
  /** Live-ins by their storages, each the first. */
  readonly #given = new Map<Storage, number>();
  readonly #constants = new Set<IValue>();
  /** Guarded since the instruction began. */
  #guarded: LiveIn[] = [];

  /** Sizes and whole numbers that may be others the next time, where there are some. */
  env: ShapeEnv | null;
  readonly #symbols = new Map<number, SymNode>();
  /** Places of layouts that are symbols, by {@link placeIn}. */
  readonly opened: { readonly place: string; readonly symbol: SymNode }[] = [];

  /** @param moved places of layouts that had other numbers before, by the names of their origins */
  constructor(
    private readonly rules: LiveInRules,
    private readonly moved: MovedSizes = new Map(),
  ) {
    this.env = moved.size > 0 ? new ShapeEnv() : null;
  }

  /** The number of a new live-in for this value; -1 where nothing short tells the value apart from others. */
  protected addLiveIn(origin: Origin, value: IValue): number {
    const at = this.liveIns.length;
    if (at >= maxLiveIns) return -1;
    const symbols = this.env && value instanceof Tensor ? this.#symbolize(value, origin, this.env) : [];
    const liveIn = liveInOf(origin, value, this.rules);
    if (!liveIn) return -1;
    liveIn.symbols = symbols;
    const storage = value instanceof Tensor ? value.storage : null;
    this.#add(liveIn, storage, value);
    if (storage && !this.#given.has(storage)) this.#given.set(storage, at);
    if (!(value instanceof List || value instanceof Tuple)) return at;
    if (value.items.length > maxItems) return -1;
    const isNoted = (item: IValue, index: number): boolean =>
      this.addLiveIn({ kind: 'item', of: at, at: index }, item) >= 0;
    return value.items.every(isNoted) ? at : -1;
  }

  /** Has numbers of a tensor's layout that moved be symbols, sizes that are equal the same one; gives those that are new. */
  #symbolize(tensor: Tensor, origin: Origin, env: ShapeEnv): LiveIn['symbols'] {
    const name = originName(origin, this.liveIns) ?? '';
    const places = this.moved.get(name);
    const { symSizes: sizes, symStrides: strides, symHandedOnOffset: offset } = tensor;
    if (!places || !isPlainTensor(tensor) || tensor.isSymbolic) return [];
    const made: { symbol: number; place: number }[] = [];
    const symbolAt = (place: number, number: SymInt, known: SymNode | undefined): SymInt => {
      if (typeof number !== 'number' || !places.has(place) || number < LEAST_SYMBOL) return number;
      if (!known) made.push({ symbol: env.symbols.length, place });
      const symbol = known ?? env.symbol(number);
      this.opened.push({ place: placeIn(name, place), symbol });
      return symbol;
    };
    const symbolic = sizes.map((size, dim): SymInt => {
      const symbol = symbolAt(dim, size, this.#symbols.get(hint(size)));
      if (typeof symbol !== 'number') this.#symbols.set(hint(size), symbol);
      return symbol;
    });
    // That strides and offsets are equal says nothing of others.
    const apart = denseStrides(symbolic, strides, (stride, dim) => symbolAt(sizes.length + dim, stride, undefined));
    tensor.setLayout(symbolic, apart, symbolAt(2 * sizes.length, offset, undefined));
    return made;
  }

  /** A symbol that stands for the number that a live-in is; null where it may be none of those that symbols stand for. */
  protected symbolFor(at: number, value: IValue): SymNode<SymKind> | null {
    const isFloat = typeof value === 'number';
    if (!isFloat && (typeof value !== 'bigint' || value < LEAST_SYMBOL || value > MOST_SYMBOL)) return null;
    const liveIn = this.liveIns[at];
    const env = (this.env ??= new ShapeEnv());
    const [known] = liveIn.symbols;
    if (known) return env.symbols[known.symbol];
    liveIn.symbols = [{ symbol: env.symbols.length, place: null }];
    return env.symbol<SymKind>(Number(value), isFloat ? 'float' : 'int');
  }

  /** The number of a new live-in for a list that only grows. */
  protected addGrowingList(register: number, list: List): number {
    return this.#add(new GrowingList({ kind: 'register', register }), null, list);
  }

  #add(liveIn: LiveIn, storage: Storage | null, value: IValue): number {
    const at = this.liveIns.push(liveIn) - 1;
    this.liveInStorages.push(storage);
    storage?.forgetSymbols();
    if (typeof value === 'object' && value !== null && !this.#objects.has(value)) this.#objects.set(value, at);
    return at;
  }

  /** The live-in that an object is; -1 where it is none. */
  liveInOf(value: object): number {
    const at = this.#objects.get(value) ?? -1;
    return at < this.liveIns.length ? at : -1;
  }

  /** The first live-in that lies in a storage; undefined where none does. */
  protected givenIn(storage: Storage): number | undefined {
    const at = this.#given.get(storage);
    return at !== undefined && at < this.liveIns.length ? at : undefined;
  }

  protected noteConstant(value: IValue): void {
    this.#constants.add(value);
  }

  isConstant(value: IValue): boolean {
    return this.#constants.has(value);
  }

  /** The attribute that a storage of live-ins was found in; null where it was elsewhere. */
  attributeOf(storage: Storage): AttributeOrigin | null {
    const liveIn = this.givenIn(storage);
    return liveIn === undefined ? null : attributeOf(this.liveIns, this.liveIns[liveIn]);
  }

  /** Numbers that nothing has gone by yet. */
  protected openNumbers(): OpenNumber[] {
    return this.liveIns.flatMap(({ open }) => (open?.isRead === false ? open : []));
  }

  /** From here on, what is guarded can be taken back. */
  protected beginGuards(): void {
    this.#guarded = [];
  }

  protected guard(at: number): void {
    const liveIn = this.liveIns[at];
    if (liveIn.isGuarded) return;
    liveIn.isGuarded = true;
    this.#guarded.push(liveIn);
    // What lies in it was noted right after it.
    for (let item = at + 1; item < this.liveIns.length; item++) {
      const { origin } = this.liveIns[item];
      if (origin.kind === 'item' && origin.of === at) this.guard(item);
    }
  }

  protected wasGuardedBefore(liveIn: LiveIn): boolean {
    return liveIn.isGuarded && !this.#guarded.includes(liveIn);
  }

  /** Takes guards back, and all live-ins but the first `count`: numbers that were open for others alone are numbers again. */
  protected forgetLiveIns(count: number): void {
    for (const liveIn of this.#guarded) liveIn.isGuarded = false;
    const forgotten = this.liveIns.splice(count);
    this.liveInStorages.length = count;
    for (const { open } of forgotten) {
      if (open && !this.liveIns.some((liveIn) => liveIn.open === open)) open.isClosed = true;
    }
  }

  /** Whether a replay can hand this value out: it is there, or is made of what is there. */
  protected canMake(value: IValue, depth = 0): boolean {
    if (isImmutable(value) || this.#objects.has(value as object) || this.#constants.has(value)) return true;
    if (value instanceof Tensor) return isPlainTensor(value);
    if (!(value instanceof List || value instanceof Tuple)) return false;
    return value.items.length <= maxItems && depth < 4 && value.items.every((item) => this.canMake(item, depth + 1));
  }

  /** Whether a tensor that was there before has another shape, or lies elsewhere, since. */
  protected wasChanged(value: IValue | undefined): boolean {
    if (!(value instanceof Tensor)) return false;
    const at = this.#objects.get(value);
    return at !== undefined && !(value.storage === this.liveInStorages[at] && this.liveIns[at].matches(value));
  }
}

/** What a place in the layout of what is found is called in every recording. */
export const placeIn = (name: string, place: number): string => `${name} ${place}`;

/** Places of layouts whose numbers were others than recordings had been made for, by the names of origins ({@link originName}). */
export type MovedSizes = ReadonlyMap<string, ReadonlySet<number>>;
