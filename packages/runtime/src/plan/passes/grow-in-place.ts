import {
  elementSize,
  hint,
  isComplex,
  MOST_SYMBOL,
  Storage,
  symBelow,
  symGe,
  symMul,
  symProduct,
  symSub,
  SymNode,
  symText,
  Tensor,
  type ShapeEnv,
  type SymInt,
} from '@cresset/tensor';
import {
  LinearForms,
  partRows,
  splitJoin,
  type DeviceCapabilities,
  type Kernel,
  type LaunchRecorder,
  type Operand,
  type RowsApart,
  type SplitJoin,
} from '@cresset/tensorexpr';
import { pitchFor } from '../growing-rows.ts';
import {
  kernelOf,
  launchStep,
  stepsOf,
  withLaunches,
  type FoundRows,
  type LaunchProgram,
  type LaunchStep,
  type ProgramStorage,
} from '../program/launch-program.ts';
import { SameLayout } from '../recording/live-in.ts';

/** What goes on in the memory of something that is found, and the launch that joins the two. */
interface Joined {
  readonly step: LaunchStep;
  readonly join: SplitJoin;
}

/**
 * Has what is joined to the end of something that is found, and has another size with each replay, be stored behind it: `cat([past, new])` of a cache copies what
 * is new alone. The result lies in the memory of what was found, whose rows have room behind them (`GrowingRows`); every other launch finds the elements of both there.
 * What lies in such rows already, and only is read, is read there.
 */
export function growInPlace(
  program: LaunchProgram,
  recorder: LaunchRecorder,
  capabilities: Pick<DeviceCapabilities, 'maxBindingBytes'>,
): LaunchProgram {
  const { env } = program;
  if (!env) return program;
  const joined = joinsIn(program);
  let grown = program;
  [...program.storages].forEach(([storage, { kind }], at) => {
    const found = kind === 'given' ? foundAs(program, at) : null;
    if (!found) return;
    const own = joined.get(storage);
    const rows = own && found.every(({ isOfDevice }) => isOfDevice) ? rowsOfJoin(own.join, storage) : rowsOf(found);
    const limited = rows && withPitch(rows, own ? hint(own.join.wholeRow) : hint(rows.row), env, capabilities);
    const next = limited && withRows(grown, storage, limited, (limited.by !== null && own) || null, recorder);
    if (!next) return;
    for (const each of found) each.takesRows = true;
    grown = next;
  });
  return grown;
}

/** Launches that join something to what is found, where that is done to each once. */
function joinsIn(program: LaunchProgram): Map<Storage, Joined> {
  const joined = new Map<Storage, Joined>();
  const kindOf = (storage: Storage): ProgramStorage['kind'] | undefined => program.storages.get(storage)?.kind;
  const taken = new Set<Storage>();
  for (const step of stepsOf(program, 'launch')) {
    const kernel = kernelOf(step);
    const join = kernel && splitJoin(kernel);
    if (!join) continue;
    const [first, whole] = [join.first.tensor.storage, join.whole.tensor.storage];
    if (kindOf(first) !== 'given' || kindOf(whole) !== 'new') continue;
    if (joined.has(first)) taken.add(first);
    joined.set(first, { step, join });
  }
  for (const first of taken) joined.delete(first);
  return joined;
}

/** What is found in the storage of a number; null where it is not tensors alone, or of a kind that lies in no rows. */
function foundAs(program: LaunchProgram, at: number): SameLayout[] | null {
  const found = stepsOf(program, 'find').filter(({ storage }) => storage === at);
  const all = found.filter((liveIn): liveIn is SameLayout => liveIn instanceof SameLayout);
  const [, { dtype, layout, isParameter }] = [...program.storages][at];
  const isPlain = !isParameter && layout === dtype && !isComplex(dtype);
  return isPlain && all.length > 0 && all.length === found.length ? all : null;
}

/** Rows as they lie, one behind the other; `by` is how many elements are put behind each, null where they are read alone. */
type PlainRows = Omit<FoundRows, 'pitch'>;

function rowsOfJoin({ first, whole, rows, firstRow, wholeRow }: SplitJoin, storage: Storage): PlainRows | null {
  const { dtype } = first.tensor;
  if (dtype !== whole.tensor.dtype || first.tensor.storage !== storage) return null;
  return { dtype, rows, row: firstRow, by: symSub(wholeRow, firstRow) };
}

/** Those that what is found lies in already, and is the whole of. */
function rowsOf(found: readonly SameLayout[]): PlainRows | null {
  for (const { dtype, sizes, strides, offset, rowCount } of found) {
    if (rowCount === null || offset !== 0) continue;
    const split = sizes.findIndex((_, dim) => hint(symProduct(sizes.slice(0, dim))) === rowCount);
    const row = symProduct(sizes.slice(split));
    const isDense = strides.every((stride, dim) => symText(stride) === symText(symProduct(sizes.slice(dim + 1))));
    if (split >= 0 && isDense && row instanceof SymNode)
      return { dtype, rows: symProduct(sizes.slice(0, split)), row, by: null };
  }
  return null;
}

/** Rows with a symbol for how far apart they are; null where they would be too far apart. */
function withPitch(
  rows: PlainRows,
  filled: number,
  env: ShapeEnv,
  { maxBindingBytes }: Pick<DeviceCapabilities, 'maxBindingBytes'>,
): FoundRows | null {
  const pitch = env.symbol(pitchFor(filled));
  const bytes = symProduct([rows.rows, pitch, elementSize(rows.dtype)]);
  return symBelow(bytes, Math.min(maxBindingBytes, MOST_SYMBOL) + 1) ? { ...rows, pitch } : null;
}

/** Whether all that a kernel stores in the result of a join, and in what is found, lies behind that. */
function storesBehind({ stores }: Kernel, found: Storage, joined: Joined | null): boolean {
  const forms = new LinearForms();
  return stores.every(({ operand, offset }) => {
    const { storage } = operand.tensor;
    if (storage === found) return false;
    if (storage !== joined?.join.whole.tensor.storage) return true;
    const { base, terms, rest } = forms.of(offset);
    return !rest && symAtLeast(base, joined.join.firstRow) && [...terms.values()].every((step) => symAtLeast(step, 0));
  });
}

/** Whether a size is no less than another, where that is a guard at most. */
const symAtLeast = (size: SymInt, least: SymInt): boolean => hint(size) >= hint(least) && symGe(size, least);

/** The program with a storage's elements in rows that lie apart; null where a launch uses it in another way. */
function withRows(
  program: LaunchProgram,
  storage: Storage,
  rows: FoundRows,
  joined: Joined | null,
  recorder: LaunchRecorder,
): LaunchProgram | null {
  const { dtype, row, pitch } = rows;
  const memory = Storage.planned(dtype, symMul(rows.rows, pitch));
  const home = new Tensor(memory, dtype, [rows.rows, pitch], [pitch, 1]);
  const whole = joined?.join.whole.tensor.storage ?? null;
  const apartOf = ({ tensor }: Operand): RowsApart | null => {
    if (tensor.storage === storage) return { row, pitch, home };
    return tensor.storage === whole ? { row: joined!.join.wholeRow, pitch, home } : null;
  };
  const launches: LaunchStep[] = [];
  for (const step of stepsOf(program, 'launch')) {
    const isConcerned = step.storages.some((each) => each === storage || each === whole);
    if (!isConcerned) {
      launches.push(step);
      continue;
    }
    const isJoin = step === joined?.step;
    if (isJoin && !joined.join.rest) continue;
    const kernel = isJoin ? joined.join.rest : kernelOf(step);
    if (!kernel || !storesBehind(kernel, storage, joined)) return null;
    const parted = partRows(kernel, apartOf);
    const launch = parted && recorder.prepare(parted);
    if (!launch) return null;
    launches.push(launchStep(launch));
  }
  const storages = [...program.storages].map(([each, known]): [Storage, ProgramStorage] => {
    if (each === storage) return [memory, { ...known, rows }];
    if (each !== whole) return [each, known];
    return [each, { ...known, kind: 'grown', home: memory, row: joined!.join.wholeRow }];
  });
  return withLaunches(program, launches, new Map(storages));
}
