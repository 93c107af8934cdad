import { Tensor, elementSize, settle, symSub, type Storage } from '@cresset/tensor';
import { axis, binary, cast, constant, param, select } from '../expressions/builders.ts';
import type { AxisExpr, Expr, ExprType, LoadExpr, ParamExpr } from '../expressions/expr.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { areSameForms, LinearForms, type LinearForm } from '../expressions/linear-form.ts';
import type { Operand } from '../expressions/operand.ts';
import { isSameExpr } from '../expressions/same-expr.ts';
import { Rewriter } from '../expressions/substitute.ts';
import { hasExpr, loadsIn, walk } from '../expressions/walk.ts';
import { expressionsOf, type LoopNest, type Recurrence, type Store } from '../kernels/kernel.ts';

/** What a loop does in one trip. */
export interface LoopTrip {
  /** In the order in which they are launched. */
  readonly nests: readonly LoopNest[];
  /** Where a trip finds what the one before left: the storage that it reads, and the one that it fills for the next trip, which is laid out alike. */
  readonly carried: ReadonlyMap<Storage, Storage>;
  /** Storages that the trip makes anew. */
  isMade(storage: Storage): boolean;
  /** Those of which what each trip stores is needed, and those of which what the last one stores is. */
  readonly ofAll: ReadonlySet<Storage>;
  readonly ofLast: ReadonlySet<Storage>;
  /** By how much an open number is larger in a trip than in the one before; null where that differs. */
  strideOf(param: ParamExpr): number | null;
  /** An open number as the first trip has it: not open any more where it is the same each time. */
  startOf(param: ParamExpr): ParamExpr;
}

/** All trips of a loop, as kernels. */
export interface RolledTrips {
  readonly kernels: readonly (LoopNest | Recurrence)[];
  /** What all trips stored in a storage, one trip behind the other. */
  readonly all: ReadonlyMap<Storage, Tensor>;
  /** What the last trip stored. */
  readonly last: ReadonlyMap<Storage, Tensor>;
}

/** What lies between the kernels of all trips takes this many bytes at most. */
const MAX_BYTES = 64 << 20;

/**
 * All trips of a loop at once. What a trip carries to the next one is worked out by a recurrence, one step after the other, and
 * kept for each step; whatever else the loop does is done for all trips in any order, before it or after it, with the trip's number as one more axis
 * (loop distribution).
 *
 * Null where more than one nest carries something, a trip reads what other points of the trip before left, or writes where others read or write.
 */
export function rollTrips(trip: LoopTrip, trips: number): RolledTrips | null {
  try {
    return new TripRoller(trip, trips).roll();
  } catch (error) {
    if (error instanceof CannotRoll) return null;
    throw error;
  }
}

class CannotRoll extends Error {}

function need(condition: boolean): asserts condition {
  if (!condition) throw new CannotRoll();
}

class TripRoller {
  readonly #time: AxisExpr;
  readonly #forms = new LinearForms();
  /** The nest that stores to a storage. */
  readonly #writers = new Map<Storage, number>();
  readonly #reads: readonly ReadonlySet<Storage>[];
  /** Axes whose points go through the steps together. */
  readonly #shared = new Set<AxisExpr>();
  readonly #all = new Map<Storage, Tensor>();
  readonly #last = new Map<Storage, Tensor>();

  constructor(
    private readonly trip: LoopTrip,
    private readonly trips: number,
  ) {
    this.#time = axis('t', param('i32', trips));
    this.#reads = trip.nests.map(({ stores }) => storagesOf(loadsIn(stores.flatMap(expressionsOf))));
  }

  roll(): RolledTrips {
    const { nests } = this.trip;
    nests.forEach((nest, at) => this.#noteWrites(nest, at));
    const late = this.#readersOfCarried();
    const early = this.#makersOfCarried();
    const steps = nests.flatMap((_, at) => (late.has(at) && early.has(at) ? at : []));
    need(steps.length <= 1);
    const [step = -1] = steps;
    this.#allocate(step);
    const rolled = nests.map((nest, at) => this.#rollNest(nest, at === step));
    const places = [...nests.keys()];
    const order = [
      ...places.filter((at) => !late.has(at)),
      ...steps,
      ...places.filter((at) => late.has(at) && at !== step),
    ];
    return { kernels: order.map((at) => rolled[at]), all: this.#all, last: this.#last };
  }

  #noteWrites({ stores }: LoopNest, at: number): void {
    for (const { operand, combine } of stores) {
      const { storage } = operand.tensor;
      need(!combine && (this.#writers.get(storage) ?? at) === at);
      this.#writers.set(storage, at);
      // What was there before is read by nobody, so that all trips may write at once.
      if (this.trip.isMade(storage)) continue;
      const isAlone = stores.filter((other) => other.operand.tensor.storage === storage).length === 1;
      need(isAlone && !this.#reads.some((read) => read.has(storage)));
    }
  }

  /** The nests that go by what was carried to the trip, at one remove or more. */
  #readersOfCarried(): Set<number> {
    const found = new Set<number>();
    const isLate = (storage: Storage): boolean =>
      this.trip.carried.has(storage) || found.has(this.#writers.get(storage) ?? -1);
    this.#reads.forEach((read, at) => {
      if ([...read].some(isLate)) found.add(at);
    });
    return found;
  }

  /** The nests that what is carried to the next trip goes by. */
  #makersOfCarried(): Set<number> {
    const found = new Set<number>();
    const isRead = (storage: Storage): boolean => {
      return [...found].some((at) => this.#reads[at].has(storage));
    };
    const carried = new Set(this.trip.carried.values());
    for (const at of [...this.trip.nests.keys()].reverse()) {
      const stored = this.trip.nests[at].stores.map(({ operand }) => operand.tensor.storage);
      if (stored.some((storage) => carried.has(storage) || isRead(storage))) found.add(at);
    }
    return found;
  }

  #allocate(step: number): void {
    const { nests, carried, ofAll, ofLast } = this.trip;
    const takenFrom = new Map([...carried].map(([from, to]) => [to, from]));
    let bytes = 0;
    for (const [storage, writer] of this.#writers) {
      if (!this.trip.isMade(storage)) continue;
      const stores = nests[writer].stores.filter(({ operand }) => operand.tensor.storage === storage);
      const { dtype } = stores[0].operand.tensor;
      const count = storage.byteLength / elementSize(dtype);
      const from = takenFrom.get(storage);
      const isReadBeside = nests.some(
        (_, at) => at !== writer && (this.#reads[at].has(storage) || (from && this.#reads[at].has(from))),
      );
      const isPassed = from && this.#reads[writer].has(from);
      // A point that alone reads what it left needs one place for it.
      const isOwn = isPassed && stores.length === 1 && this.#readsAtPoint(nests[writer], from, stores[0]);
      if (isPassed && !isOwn) this.#shareSteps(nests[writer], from, stores);
      if (isReadBeside || ofAll.has(storage) || (isPassed && !(isOwn && writer === step))) {
        this.#all.set(storage, Tensor.planned([this.trips * count], dtype));
        bytes += this.trips * storage.byteLength;
      }
      if (ofLast.has(storage) || !this.#all.has(storage)) this.#last.set(storage, Tensor.planned([count], dtype));
    }
    need(bytes <= MAX_BYTES);
  }

  /** Whether a nest reads a storage nowhere but where the store goes to. */
  #readsAtPoint(nest: LoopNest, storage: Storage, { offset }: Store): boolean {
    let isOwn = true;
    walk(nest.stores.flatMap(expressionsOf), (expr) => {
      if (expr.kind === 'reduce') isOwn &&= !loadsIn([expr]).some((load) => isOf(load, storage));
      else if (expr.kind === 'load' && isOf(expr, storage)) isOwn &&= this.#areSame(expr.offset, offset);
      return isOwn && expr.kind !== 'reduce';
    });
    return isOwn;
  }

  #areSame(a: Expr, b: Expr): boolean {
    return isSameExpr(a, b) || areSameForms(this.#forms.of(a), this.#forms.of(b));
  }

  /** Has points that read what others left be done together, so that these wait for each other after each step. */
  #shareSteps(nest: LoopNest, storage: Storage, [store, ...others]: readonly Store[]): void {
    need(others.length === 0 && !store.guard);
    const stored = this.#forms.of(store.offset);
    const loads = loadsIn(nest.stores.flatMap(expressionsOf)).filter((load) => isOf(load, storage));
    const read = loads.map(({ offset }) => this.#forms.of(offset));
    for (const axis of nest.axes) {
      const isOwn = read.every(({ terms }) => terms.get(axis) === stored.terms.get(axis));
      if (!isOwn && extentOf(axis) > 1) this.#shared.add(axis);
    }
    const outer = new Set(nest.axes.filter((axis) => !this.#shared.has(axis)));
    // With nothing but points that wait for each other there would be one workgroup.
    need(pointsOf([...outer]) > 1 && read.every((form) => isWithin(form, stored, outer)));
  }

  #rollNest(nest: LoopNest, isStep: boolean): LoopNest | Recurrence {
    const time = this.#time;
    const rewriter: Rewriter = new Rewriter((expr) => {
      if (expr.kind === 'param') return this.#rollParam(expr);
      return expr.kind === 'load' ? this.#rollLoad(expr, rewriter) : null;
    });
    const stores = nest.stores.flatMap((store) => this.#rollStore(store, rewriter));
    const { label, axes, innerAxes } = nest;
    if (isStep) {
      const shared = axes.filter((axis) => this.#shared.has(axis));
      const own = axes.filter((axis) => !this.#shared.has(axis));
      return { kind: 'recurrence', label, time, axes: own, innerAxes: [...shared, ...innerAxes], stores };
    }
    return { kind: 'nest', label, axes: [time, ...axes], innerAxes, stores };
  }

  #rollParam(number: ParamExpr): Expr {
    if (!number.open) return number;
    const stride = this.trip.strideOf(number);
    need(stride !== null);
    const start = this.trip.startOf(number);
    if (stride === 0) return start;
    const step = numberOf(number.type, stride);
    return binary('add', start, binary('mul', cast(number.type, this.#time), step));
  }

  #rollLoad(load: LoadExpr, rewriter: Rewriter): Expr {
    const { storage } = load.operand.tensor;
    const offset = rewriter.rewrite(load.offset);
    const left = this.trip.carried.get(storage);
    if (left) {
      const all = this.#all.get(left);
      const isFirst = binary('eq', this.#time, constant('i32', 0));
      const before = binary('sub', this.#time, constant('i32', 1));
      const then = all ? this.#inTrip(left, offset, before) : offset;
      const kept: LoadExpr = { ...load, operand: operandOf(all ?? this.#last.get(left)!), offset: then };
      return select(isFirst, { ...load, offset }, kept);
    }
    const all = this.#all.get(storage);
    if (all) return { ...load, operand: operandOf(all), offset: this.#inTrip(storage, offset, this.#time) };
    return { ...load, offset };
  }

  #rollStore(store: Store, rewriter: Rewriter): Store[] {
    const { operand, guard } = store;
    const { storage } = operand.tensor;
    const offset = rewriter.rewrite(store.offset);
    const value = rewriter.rewrite(store.value);
    const guarded = guard && { guard: rewriter.rewrite(guard) };
    if (!this.trip.isMade(storage)) {
      need(this.#isApart(store));
      return [{ operand, offset, value, ...guarded }];
    }
    const stores: Store[] = [];
    const all = this.#all.get(storage);
    const last = this.#last.get(storage);
    if (all)
      stores.push({ operand: operandOf(all), offset: this.#inTrip(storage, offset, this.#time), value, ...guarded });
    if (!last) return stores;
    const isLast = binary('eq', this.#time, param('i32', this.trips - 1));
    const isOwn = this.#isPassedAlone(storage);
    const condition = guarded ? binary('and', guarded.guard, isLast) : isLast;
    stores.push({ operand: operandOf(last), offset, value, ...(isOwn ? guarded : { guard: condition }) });
    return stores;
  }

  /** Whether the next trip finds what is stored in this place, and not among what all trips stored. */
  #isPassedAlone(storage: Storage): boolean {
    if (this.#all.has(storage)) return false;
    const [from] = [...this.trip.carried].find(([, to]) => to === storage) ?? [];
    return from !== undefined && this.#reads[this.#writers.get(storage)!].has(from);
  }

  #inTrip(storage: Storage, offset: Expr, trip: Expr): Expr {
    const { dtype } = this.#all.get(storage)!;
    return binary('add', offset, binary('mul', trip, param('i32', storage.byteLength / elementSize(dtype))));
  }

  /** Whether no two trips write the same element of what was there before. */
  #isApart({ offset }: Store): boolean {
    let stride: number | null = 0;
    const closed = new Rewriter((expr) => {
      if (expr.kind !== 'param' || !expr.open) return null;
      const own = this.trip.strideOf(expr);
      stride = own === null || stride === null ? null : stride + own;
      return constant('i32', 0);
    });
    const form = this.#forms.of(closed.rewrite(offset));
    // Where it begins counts once: a number that is a factor, or stands twice, says nothing of that.
    if (stride === null || !isAdded(offset)) return false;
    const range = this.#forms.range(form);
    return range !== null && Math.abs(stride) > settle(symSub(range.high, range.low));
  }
}

/** Whether what is open in an offset is nothing but added to the rest. */
function isAdded(offset: Expr): boolean {
  if (offset.kind === 'binary' && offset.fn === 'add') return isAdded(offset.x) && isAdded(offset.y);
  return offset.kind === 'param' || !hasExpr([offset], (expr) => expr.kind === 'param' && expr.open !== undefined);
}

/** Whether all places of a load lie among those that one point of the outer axes stores to. */
function isWithin(load: LinearForm, store: LinearForm, outer: ReadonlySet<AxisExpr>): boolean {
  if (load.rest || store.rest || load.base !== store.base) return false;
  const open = [...store.terms].filter(([axis]) => !outer.has(axis));
  for (const [axis, coefficient] of store.terms) {
    if (outer.has(axis) && extentOf(axis) > 1 && load.terms.get(axis) !== coefficient) return false;
  }
  return [...load.terms].every(([axis, coefficient]) => {
    if (outer.has(axis)) return extentOf(axis) <= 1 || store.terms.get(axis) === coefficient;
    const at = open.findIndex(([own, stride]) => stride === coefficient && extentOf(axis) <= extentOf(own));
    if (at < 0) return extentOf(axis) <= 1;
    open.splice(at, 1);
    return true;
  });
}

const isOf = (load: LoadExpr, storage: Storage): boolean => load.operand.tensor.storage === storage;

const storagesOf = (loads: readonly LoadExpr[]): Set<Storage> =>
  new Set(loads.map(({ operand }) => operand.tensor.storage));

const operandOf = (tensor: Tensor): Operand => ({ tensor, dtype: tensor.dtype });

const numberOf = (type: ExprType, value: number): ParamExpr => param(type, type === 'i64' ? BigInt(value) : value);
