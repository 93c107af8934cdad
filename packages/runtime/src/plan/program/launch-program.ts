import type { OperatorRow } from '@cresset/operators';
import type {
  DeviceLayout,
  IValue,
  OpenNumber,
  ScalarType,
  ShapeEnv,
  Storage,
  SymInt,
  SymNode,
  Tensor,
} from '@cresset/tensor';
import type { Kernel, PreparedLaunch } from '@cresset/tensorexpr';
import type { MadeValue } from '../made-value.ts';
import type { HostStep } from '../recording/host-step.ts';
import type { LiveIn } from '../recording/live-in.ts';

/**
 * What a stretch does on a device: what it has to find, what it works out before, its launches, and what it leaves. Passes go from program to program;
 * `programText` prints one.
 */
export interface LaunchProgram {
  /** Those of a kind follow each other, in the order of {@link ProgramStep}. */
  readonly steps: readonly ProgramStep[];
  /** Storages that steps use: those of live-ins first, in the order in which these come. */
  readonly storages: ReadonlyMap<Storage, ProgramStorage>;
  /** Sizes that may be others with each replay; null where none may. */
  readonly env: ShapeEnv | null;
}

export type ProgramStep =
  | LiveIn
  | ComputeStep
  | HostStep
  | GuardStep
  | DrawStep
  | KeepStep
  | ScratchStep
  | LaunchStep
  | MakeStep
  | AppendStep
  | SetStep
  | ResultStep;

/** An operator on views, sizes or numbers of which only live-ins decide: it is done anew each time, with what varies. */
export interface ComputeStep {
  readonly op: 'compute';
  readonly row: OperatorRow;
  /** Numbers of live-ins, or constants. */
  readonly inputs: readonly ({ readonly liveIn: number } | { readonly constant: IValue })[];
}

/** Elements that decided what was recorded: they were read on the host. */
export interface GuardStep {
  readonly op: 'guard';
  readonly storage: Storage;
  readonly writes: number;
  /** The live-in that has to be a tensor of this storage; -1 where it is a constant's. */
  readonly liveIn: number;
}

/** Random numbers that launches work out: a replay draws as many, in the same order. */
export interface DrawStep {
  readonly op: 'draw';
  readonly count: number;
  readonly key: OpenNumber;
  readonly first: OpenNumber;
}

/** A launch that works with parameters alone: what it stores is kept from replay to replay. */
export interface KeepStep {
  readonly op: 'keep';
  readonly storage: Storage;
  readonly launch: PreparedLaunch;
  readonly kernel: Kernel;
}

/** A buffer whose contents serve one replay, for storages that lie in it one after the other. */
export interface ScratchStep {
  readonly op: 'scratch';
  readonly byteLength: number;
  readonly storages: readonly Storage[];
}

export interface LaunchStep {
  readonly op: 'launch';
  readonly launch: PreparedLaunch;
  /** Those of its bindings: its tensors may lie elsewhere later. */
  readonly storages: readonly Storage[];
  /** Launches of one turn wait for nothing of each other. One without is a turn by itself. */
  readonly turn?: number;
  /** Those that it does the work of, where they were joined. */
  readonly parts?: readonly LaunchStep[];
}

/** How a value is made that the stretch leaves. */
export interface MakeStep {
  readonly op: 'make';
  readonly value: MadeValue;
}

/** Puts a value at the end of a list that was there before: the list's live-in, and the number of what is made for it. */
export interface AppendStep {
  readonly op: 'append';
  readonly list: number;
  readonly made: number;
}

/** Puts a value in an attribute: the object's live-in, and the number of what is made for it. */
export interface SetStep {
  readonly op: 'set';
  readonly object: number;
  readonly slot: number;
  readonly made: number;
}

/** A register that holds another value at the end: the number of what is made for it, -1 where it holds nothing any more. */
export interface ResultStep {
  readonly op: 'result';
  readonly register: number;
  readonly made: number;
}

/** A storage of a program: where it comes from with each replay, and who has it afterwards. */
export interface ProgramStorage {
  readonly kind:
    /** Found: that of live-ins, or one that is always the same. */
    | 'given'
    | 'fixed'
    /** Always the same, for kernels to note faults in. */
    | 'faults'
    /** Computed by the host in each replay: for values that the stretch leaves, or for its launches alone. */
    | 'computed'
    | 'passing'
    /** What a {@link KeepStep} stores. */
    | 'kept'
    /** Made anew, on the device or of elements on the host: values lie in it that the stretch leaves. */
    | 'new'
    | 'copied'
    /** What is left lies in the memory of what was found, its `home`, and goes on where that ended. */
    | 'grown'
    /** Nobody reads it when the last launch is done. */
    | 'scratch';
  readonly dtype: ScalarType;
  readonly layout: DeviceLayout;
  /** What it holds is likely to be the same each time. */
  readonly isParameter?: boolean;
  /** A copy of what the host had computed: what is bound in its place, or what is made anew. */
  readonly copy?: Storage | null;
  /** The storage in whose memory it lies. */
  readonly home?: Storage;
  /** What it stands for, where that is a part of another storage. */
  readonly part?: Tensor;
  /** Of one that is found: the rows, with room behind each, that its elements have to lie in. */
  readonly rows?: FoundRows;
  /** Elements of each row that are its own, of one that is grown. */
  readonly row?: SymInt;
}

/** Rows of what is found. Launches use the memory that these lie in. */
export interface FoundRows {
  readonly dtype: ScalarType;
  readonly rows: SymInt;
  /** Elements of each row. */
  readonly row: SymInt;
  /** How many are put behind these; null where the rows are read alone. */
  readonly by: SymInt | null;
  /** From where one row begins to where the next one does, elements: whatever it is then. */
  readonly pitch: SymNode;
}

/** A launch whose tensors lie where it is to find them. */
export const launchStep = (launch: PreparedLaunch): LaunchStep => ({
  op: 'launch',
  launch,
  storages: launch.bindings.map(({ operand }) => operand.tensor.storage),
});

/** The kernel of a launch, where that is the whole of it and its tensors lie where they did. */
export function kernelOf({ launch: { kernel, bindings }, storages }: LaunchStep): Kernel | null {
  return bindings.every(({ operand }, binding) => operand.tensor.storage === storages[binding]) ? kernel : null;
}

/** The steps of one kind, in their order. */
export const stepsOf = <Op extends ProgramStep['op']>(
  { steps }: LaunchProgram,
  op: Op,
): Extract<ProgramStep, { readonly op: Op }>[] =>
  steps.filter((step): step is Extract<ProgramStep, { readonly op: Op }> => step.op === op);

const isAfterLaunches = (op: ProgramStep['op']): boolean => ['make', 'append', 'set', 'result'].includes(op);

/** A program with other launches, and with other steps before them. */
export function withLaunches(
  program: LaunchProgram,
  launches: readonly LaunchStep[],
  storages = program.storages,
  before: readonly (KeepStep | ScratchStep)[] = [],
): LaunchProgram {
  const first = program.steps.filter(({ op }) => op !== 'launch' && !isAfterLaunches(op));
  const last = program.steps.filter(({ op }) => isAfterLaunches(op));
  return { ...program, steps: [...first, ...before, ...launches, ...last], storages };
}

/** Storages that a replay works with beside its scratch buffers, and their numbers: those of live-ins are known by them. */
export const numbersOf = ({ storages }: LaunchProgram): ReadonlyMap<Storage, number> =>
  new Map([...storages].filter(([, { kind }]) => kind !== 'scratch').map(([storage], at) => [storage, at]));

/** Whether nobody reads a storage after the last launch. */
export const isScratch = ({ storages }: LaunchProgram, storage: Storage): boolean =>
  storages.get(storage)?.kind === 'scratch';

/** The storage in whose memory one lies in the end. */
export function homeOf(program: LaunchProgram, storage: Storage): Storage {
  const home = program.storages.get(storage)?.home;
  return home ? homeOf(program, home) : storage;
}

/** Launches that are done at a time. */
export function turnsOf(program: LaunchProgram): LaunchStep[][] {
  const turns: LaunchStep[][] = [];
  for (const step of stepsOf(program, 'launch')) {
    const last = turns.at(-1);
    if (last && step.turn !== undefined && last[0].turn === step.turn) last.push(step);
    else turns.push([step]);
  }
  return turns;
}
