import {
  lastStorageSerial,
  List,
  type OpenNumber,
  realType,
  Tensor,
  Tuple,
  watchHostAccess,
  type DeviceLayout,
  type HostAccessWatch,
  type IValue,
  type ScriptObject,
  type ScalarType,
  type Storage,
  type SymKind,
  type SymNode,
} from '@cresset/tensor';
import { hasLayouts, isSymbolicKernel, type Kernel, type ParamExpr, type PreparedLaunch } from '@cresset/tensorexpr';
import type { Frame } from '../../interpreter/frame.ts';
import type { CallInProgress } from '../../interpreter/program-place.ts';
import type { HostContext, LoweringContext, OpenUp, PreparedCall, RandomGenerator } from '@cresset/operators';
import type { Instruction } from '../../interpreter/code/instruction.ts';
import { givenLayout, isUnmoved, type GivenLayout } from './given-layout.ts';
import type { LoopInProgress } from './loop-body.ts';
import { isFixed, type HostStep, type StepInput } from './host-step.ts';
import { baseOf, close, derivedParam, openScalars, SizedNumber, type OpenArguments } from './open-params.ts';
import { goesToAnchor, handsOn, isAppend, moves, usesOf } from './recordable.ts';
import { watchedGenerator } from './watched-generator.ts';
import { RecordedAttributes } from './recorded-attributes.ts';
import type { AppendNote, SetNote, StorageNote } from './recording-notes.ts';
import { GrowingList, isImmutable, isPlainTensor, SameLayout, type LiveInRules, type Origin } from './live-in.ts';
import { LiveInTable, maxItems, type MovedSizes } from './live-in-table.ts';
import {
  launchStep,
  type ComputeStep,
  type DrawStep,
  type GuardStep,
  type LaunchStep,
} from '../program/launch-program.ts';
import { isSetBy } from '../set-attributes.ts';
import { RecordedSizes, type OpenNumbers } from './recorded-sizes.ts';
import type { SizedItems } from './sizes-made.ts';

/** A stretch ends when it has so many launches: the next one begins there. */
export const maxLaunches = 1024;

/**
 * Notes down what a straight line of instructions does while it runs as ever: where its values come from, what it launches, what is in
 * registers at its end. It says why it cannot go on where that is so; what came before holds then.
 */
export class Recording extends LiveInTable implements HostAccessWatch, OpenNumbers {
  readonly launches: LaunchStep[] = [];
  /** What the launches are counted as, one for each time that an operator launched something. */
  readonly labels: string[] = [];
  readonly contents: GuardStep[] = [];
  readonly storages = new Map<Storage, StorageNote>();
  /** Registers that hold something else than before: their values; undefined for those that were given up. */
  readonly registers = new Map<number, IValue | undefined>();
  instructions = 0;
  /** The loop of whose trips it is the first, where they are to be rolled. */
  loop: LoopInProgress | null = null;
  /** Whether its launches note faults, whose places belong to one call stack. */
  notesFaults = false;
  /** Storages with a larger number were made while it went on. */
  readonly firstSerial = lastStorageSerial();
  readonly steps: ComputeStep[] = [];
  readonly hostSteps: HostStep[] = [];
  readonly draws: DrawStep[] = [];
  readonly appends: AppendNote[] = [];
  readonly attributes = new RecordedAttributes(this);
  /** Which live-in a register holds. */
  readonly #sources = new Map<number, number>();
  /** Numbers that the instruction's calls on the host take whatever they are, and how many do. */
  readonly #handedOn = new Map<OpenNumber, number>();
  /** Live-ins that are another one each time, as far as is known. */
  readonly #varying = new Set<number>();
  #step: ComputeStep | null = null;
  readonly #sizes: RecordedSizes;
  /** How registers came to hold views of live-ins that are the same each time. */
  readonly #views = new Map<number, ComputeStep>();
  /** Numbers that were open before it. */
  #untouched: readonly OpenNumber[] = [];
  /** The one that runs. */
  #instruction: Instruction | null = null;
  /** The kernel that an operator has launched last. */
  #launching: Kernel | null = null;
  readonly #faultStorages = new Set<Storage>();
  /** What is taken back where an instruction turns out not to belong to it, live-ins and launches first, and how much there was of each before. */
  readonly #notes: readonly unknown[][];
  #lengths: readonly number[] = [];
  #refusal: string | null = null;
  /** Whether the program waits for what it will not have to wait for the next time. */
  isPassing = false;
  /** Memory of the recording that the host wrote since the instruction that runs began, before which it was there. */
  readonly #written = new Set<Storage>();
  /** Storages with a larger number were made by the instruction that runs. */
  #lastSerial = 0;
  /** How the tensors lay that it was given. */
  #given: readonly GivenLayout[] = [];

  constructor(
    readonly frame: Frame,
    /** The index of its first instruction. */
    readonly start: number,
    readonly gradEnabled: boolean,
    /** Registers with numbers that differ from visit to visit. */
    private readonly varyingRegisters: ReadonlySet<number>,
    rules: LiveInRules,
    /** Where the program is that runs it. */
    readonly callers: () => CallInProgress[],
    moved?: MovedSizes,
  ) {
    super(rules, moved);
    const { launches, contents, labels, steps, hostSteps, draws, appends, attributes } = this;
    this.#notes = [this.liveIns, launches, contents, labels, steps, hostSteps, draws, appends, attributes.sets];
    this.#sizes = new RecordedSizes(this, frame);
  }

  // ---- told from elsewhere while an instruction runs

  /** What is being recorded ends before the instruction that runs. */
  refuse(reason: string): void {
    this.#refusal ??= reason;
  }

  passing(): void {
    this.isPassing = true;
  }

  isFoundAnew(storage: Storage): boolean {
    if (this.givenIn(storage) === undefined) return false;
    const attribute = this.attributeOf(storage);
    // An attribute that the code sets is another tensor the next time.
    return !attribute || isSetBy(this.frame.code, attribute);
  }

  reads(storage: Storage): void {
    const liveIn = this.givenIn(storage);
    if (liveIn === undefined && storage.serial > this.firstSerial) return;
    if (this.isFoundAnew(storage)) return this.refuse('elements of a value that the host looks at');
    if (!this.contents.some((known) => known.storage === storage)) {
      this.contents.push({ op: 'guard', storage, writes: storage.writes, liveIn: liveIn ?? -1 });
    }
  }

  writes(storage: Storage): void {
    if (this.givenIn(storage) !== undefined || storage.serial <= this.firstSerial)
      this.refuse('elements that the host writes');
    else if (storage.serial <= this.#lastSerial) this.#written.add(storage);
  }

  measures(storage: Storage): void {
    const at = this.givenIn(storage);
    const liveIn = at === undefined ? null : this.liveIns[at];
    if (!(liveIn instanceof SameLayout)) return;
    this.guard(at!);
    liveIn.measure();
  }

  watched(generator: RandomGenerator): RandomGenerator {
    return watchedGenerator(generator, this.draws, () => this.refuse('random numbers that the host draws'));
  }

  openUp(inputs?: readonly number[]): OpenUp {
    const inputOf = (at: number): number => (inputs ? inputs[at] : at);
    const numbers: OpenArguments = {
      openNumber: (at) => this.#openNumber(inputOf(at)),
      admit: (at, ...number) => this.#admit(this.#openNumber(inputOf(at))!, inputOf(at), ...number),
    };
    return (row, args, values, computing, paramOf) => openScalars(row, args, values, computing, paramOf, numbers);
  }

  openParam(...[at, paramOf, refuses]: Parameters<LoweringContext['openParam'] & {}>): ParamExpr | null {
    const open = this.#openNumber(at);
    if (!open) return null;
    if (refuses) this.#admit(open, at, 'is taken', refuses);
    return derivedParam(open, paramOf);
  }

  #admit(open: OpenNumber, ...[at, what, refuses]: Parameters<OpenArguments['admit']>): void {
    const admits = (value: number | bigint): boolean => {
      try {
        refuses(value);
        return true;
      } catch {
        // The instruction itself tells of it.
        return false;
      }
    };
    if (open instanceof SizedNumber) {
      const isInt = open.size.kind === 'int';
      this.env!.note(open.size, what, (value) => admits(isInt ? BigInt(value) : value));
    } else this.liveIns[this.sourceOf(this.#instruction!.inputs[at])].admits.push(admits);
  }

  /** The number that is argument `at` of the operator or group that runs; null where it is not to stay open. */
  #openNumber(at: number): OpenNumber | null {
    const instruction = this.#instruction;
    const register = instruction?.inputs[at] ?? -1;
    if (!instruction || register < 0) return null;
    if (instruction.op === 'FUSION_GROUP' && goesToAnchor(instruction.operand, at)) return null;
    const source = this.sourceOf(register);
    if (!this.#varying.has(source)) return this.#sizes.openIn(register, at);
    const liveIn = this.liveIns[source];
    // What an instruction before went by stays as it is.
    if (!liveIn.open && this.wasGuardedBefore(liveIn)) return null;
    return liveIn.openUp();
  }

  callOnHost(
    name: string,
    call: PreparedCall,
    args: readonly IValue[],
    context: HostContext,
    positions: readonly number[] | null,
  ): IValue | undefined {
    const inputs = call.overwrites ? null : this.#inputsOfStep(args, call.patched, positions);
    // Of nothing that may be another time, the result is not either: whoever looks at it may go by it.
    if (!inputs || inputs.every(isFixed)) return call.run(args, context);
    // Elements are others each time, and so is where they lie: that decides nothing that is recorded.
    const untouched = this.openNumbers();
    watchHostAccess(null);
    try {
      const result = call.run(args, context);
      for (const open of untouched) open.isRead = false;
      if (result !== undefined) {
        const step = this.hostSteps.push({ op: 'host', name, call, inputs }) - 1;
        if (this.addLiveIn({ kind: 'host', step }, result) < 0) this.refuse('a value that nothing short tells apart');
      }
      return result;
    } finally {
      watchHostAccess(this);
    }
  }

  /** Where a replay takes the arguments of a call on the host from; null where it can't. */
  #inputsOfStep(args: readonly IValue[], patched: number, positions: readonly number[] | null): StepInput[] | null {
    const inputs: StepInput[] = [];
    for (const [at, value] of args.entries()) {
      const input = (at === patched && this.#patchedInput(positions ? positions[at] : at)) || this.#inputOfStep(value);
      if (!input) return null;
      inputs.push(input);
    }
    return inputs;
  }

  /** A number that the call takes whatever it is. */
  #patchedInput(at: number): StepInput | null {
    const open = this.#openNumber(at);
    if (!open) return null;
    this.#handedOn.set(open, (this.#handedOn.get(open) ?? 0) + 1);
    if (open instanceof SizedNumber) return { kind: 'size', of: open.size };
    return { kind: 'live-in', at: this.#sources.get(this.#instruction!.inputs[at])! };
  }

  #inputOfStep(value: IValue): StepInput | null {
    // What numbers it was given decides what it is: those are guarded as for any other instruction.
    if (isImmutable(value) || this.isConstant(value)) return { kind: 'constant', value };
    const liveIn = this.liveInOf(value as object);
    if (liveIn >= 0) {
      this.guard(liveIn);
      const { open } = this.liveIns[liveIn];
      const [own, ...others] = this.#sourcesOf(value);
      if (own !== undefined && others.length === 0) return { kind: 'live-in', at: own };
      // Which of several views it is the next time, a replay could not tell.
      if (open) open.isRead = true;
      return { kind: 'live-in', at: liveIn };
    }
    if (value instanceof Tensor) return isPlainTensor(value) ? this.#tensorOfStep(value) : null;
    if (!(value instanceof List || value instanceof Tuple) || value.items.length > maxItems) return null;
    const items: StepInput[] = [];
    for (const item of value.items) {
      const input = this.#inputOfStep(item);
      if (!input) return null;
      items.push(input);
    }
    return value instanceof List
      ? { kind: 'list', elementType: value.elementType, items }
      : { kind: 'tuple', type: value.type, items };
  }

  /** Live-ins that inputs of the instruction are which hold this value. */
  #sourcesOf(value: IValue): Set<number> {
    const registers = this.#instruction!.inputs.filter((register) => this.frame.get(register) === value);
    return new Set(registers.flatMap((register) => this.#sources.get(register) ?? []));
  }

  #tensorOfStep(tensor: Tensor): StepInput | null {
    const { storage, dtype, sizes, strides } = tensor;
    const of = this.givenIn(storage);
    if (of !== undefined) return { kind: 'view', of, dtype, sizes, strides, offset: tensor.storageOffset };
    if (storage.serial <= this.firstSerial || !storage.isOnHost) return null;
    // Made on the host meanwhile, of nothing that may be another time.
    const copy = new Tensor(storage.copyOnHost(), dtype, sizes, strides, tensor.storageOffset);
    return { kind: 'constant', value: copy };
  }

  faultsGoTo(storage: Storage): void {
    this.notesFaults = true;
    this.#faultStorages.add(storage);
  }

  /** Whether kernels note faults in a storage, in this recording or before it. */
  isOfFaults(storage: Storage): boolean {
    return this.#faultStorages.has(storage);
  }

  launching(kernel: Kernel): void {
    this.#launching = kernel;
  }

  launched(launch: PreparedLaunch): void {
    this.#checkSizes(launch);
    for (const { operand, stored, layout } of launch.bindings) {
      const { storage, dtype } = operand.tensor;
      this.#note(storage, realType(dtype), layout, stored);
    }
    this.launches.push(launchStep(launch));
  }

  /** What a device makes of a kernel by its sizes of now, as several launches, holds for these alone. */
  #checkSizes({ kernel, again }: PreparedLaunch): void {
    const launching = this.#launching;
    if (!this.env || again || !launching || kernel === launching || !isSymbolicKernel(launching)) return;
    if (!kernel || !isSymbolicKernel(kernel)) this.env.settle();
  }

  #note(storage: Storage, dtype: ScalarType, layout: DeviceLayout, stored: boolean): void {
    let note = this.storages.get(storage);
    if (!note) {
      const kind = this.#kindOf(storage);
      const copy = kind === 'computed' ? storage.copyOnHost() : null;
      this.storages.set(storage, (note = { kind, dtype, layout, copy, writes: storage.writes }));
    }
    if (note.dtype !== dtype || note.layout !== layout) this.refuse('memory that is used as two dtypes');
    if (note.kind === 'computed' && (stored || note.writes !== storage.writes)) {
      this.writes(storage);
      this.refuse('elements that host and device write in turn');
    }
  }

  #kindOf(storage: Storage): StorageNote['kind'] {
    if (this.#faultStorages.has(storage)) return 'fixed';
    if (this.givenIn(storage) !== undefined) return 'given';
    if (storage.serial <= this.firstSerial) return 'fixed';
    return storage.isOnHost ? 'computed' : 'made';
  }

  // ---- instructions

  /** Before an instruction runs: what it reads that was there before. Why it cannot be recorded, where it cannot. */
  before(instruction: Instruction): string | null {
    this.#written.clear();
    this.#lastSerial = lastStorageSerial();
    this.#handedOn.clear();
    this.#instruction = instruction;
    this.#given = [];
    this.#lengths = this.#notes.map(({ length }) => length);
    this.beginGuards();
    const refusal = isAppend(instruction) ? this.#expectAppend(instruction) : this.#readsGrowing(instruction);
    if (refusal) return this.#end(refusal);
    for (const register of instruction.inputs) {
      if (register < 0) this.noteConstant(this.frame.get(register));
      else if (!this.registers.has(register) && !this.#sources.has(register)) {
        const at = this.addLiveIn({ kind: 'register', register }, this.frame.get(register));
        if (at < 0) return this.#end('a value that nothing short tells apart from others');
        this.#sources.set(register, at);
        if (this.varyingRegisters.has(register)) this.#varying.add(at);
      }
    }
    if (instruction.op === 'SET_ATTR' && !this.#expectSet(instruction)) return this.#end('an attribute that is set');
    this.#step = isAppend(instruction) ? null : this.#stepOf(instruction);
    this.#sizes.before(instruction, this.#step !== null);
    this.#untouched = this.#step ? this.openNumbers() : [];
    // A list of the recording's own holds the item itself in the end.
    const isOwn = isAppend(instruction) && !this.#sources.has(instruction.inputs[0]);
    if (!this.#step && (isOwn || !handsOn(instruction))) this.#guardInputs(instruction);
    this.#given = instruction.inputs.flatMap((register) => givenLayout(this.frame.get(register)));
    return null;
  }

  /** An attribute is to hold a tensor, or what is told by being the same, in an object that was there before. Whether that can be recorded. */
  #expectSet({ inputs: [object, register] }: Instruction): boolean {
    const value = this.frame.get(register);
    if (!(value instanceof Tensor ? isPlainTensor(value) : typeof value !== 'object' || value === null)) return false;
    const source = this.#sources.get(object);
    if (source === undefined) return false;
    this.guard(source);
    return true;
  }

  /** A list that was there before is to grow. Why that cannot be recorded, where it cannot. */
  #expectAppend({ inputs: [register, item] }: Instruction): string | null {
    const list = this.frame.get(register) as List;
    const source = this.#sources.get(register);
    const isOwn = this.registers.has(register) && source === undefined;
    if (this.registers.has(item) && !this.canMake(this.frame.get(item), isOwn ? 1 : 0)) return unmakeable;
    if (isOwn) return list.items.length < maxItems ? null : unmakeable;
    if (source !== undefined) return this.liveIns[source] instanceof GrowingList ? null : changes;
    const known = this.liveInOf(list);
    if (known >= 0 && !(this.liveIns[known] instanceof GrowingList)) return changes;
    this.#sources.set(register, this.addGrowingList(register, list));
    return null;
  }

  /** What a list that grows holds is another time something else. */
  #readsGrowing({ inputs }: Instruction): string | null {
    const isGrowing = (register: number): boolean => {
      const value = this.frame.get(register);
      return value instanceof List && this.liveIns[this.liveInOf(value)] instanceof GrowingList;
    };
    return inputs.some(isGrowing) ? changes : null;
  }

  /** What an instruction does anew each time, if it is of that kind. */
  #stepOf(instruction: Instruction): ComputeStep | null {
    const { inputs } = instruction;
    const isVarying = inputs.some((register) => this.#varying.has(this.#sources.get(register) ?? -1));
    if (isVarying) for (const register of inputs) this.#repeatView(register);
    return isVarying ? this.#repeatable(instruction) : null;
  }

  /** An operator on views, sizes or numbers that goes by live-ins alone. */
  #repeatable(instruction: Instruction): ComputeStep | null {
    if (instruction.op !== 'OP' && instruction.op !== 'DIRECT') return null;
    const { inputs, operand } = instruction;
    const { row } = operand;
    if (!row || row.readsElements || !(row.scalar || row.view)) return null;
    if (!inputs.every((register) => register < 0 || this.#sources.has(register))) return null;
    return {
      op: 'compute',
      row,
      inputs: inputs.map((register) =>
        register < 0 ? { constant: this.frame.get(register) } : { liveIn: this.#sources.get(register)! },
      ),
    };
  }

  /** Has a view that something varying is made of be made anew each time too: it is a live-in then, as what it is a view of. */
  #repeatView(register: number): void {
    const view = this.#views.get(register);
    if (!view || this.#sources.has(register)) return;
    this.#views.delete(register);
    const step = this.steps.push(view) - 1;
    const at = this.addLiveIn({ kind: 'computed', step, at: 0 }, this.frame.get(register));
    if (at >= 0) this.#sources.set(register, at);
  }

  #guardInputs({ inputs }: Instruction): void {
    for (const [place, register] of inputs.entries()) {
      const at = this.#sources.get(register);
      if (at !== undefined && !this.#sizes.takes(register, place)) this.guard(at);
    }
  }

  /** Numbers that it took otherwise than as params of its launches have to be what they were. */
  #closeRead(instruction: Instruction): void {
    const { inputs } = instruction;
    const launches = this.launches.slice(this.#lengths[1]);
    for (const [at, register] of inputs.entries()) {
      const liveIn = this.liveIns[this.sourceOf(register)];
      // A tensor tells by itself when it is asked where it begins.
      const open = liveIn instanceof SameLayout ? null : (liveIn?.open ?? this.#sizes.openIn(register, at));
      if (!open || this.#handedOn.get(open) === usesOf(instruction, register)) continue;
      if (!launches.some(({ launch }) => launch.params.some((param) => baseOf(param.open) === open))) close(open);
    }
  }

  /** After it ran, before it gives registers up. */
  after(instruction: Instruction, gradEnabled: boolean): string | null {
    this.#sizes.after();
    if (gradEnabled !== this.gradEnabled) this.refuse('a change of what gradients are recorded of');
    if (this.#refusal !== null) return this.#end(this.#refusal);
    if (!this.#step && !handsOn(instruction)) this.#closeRead(instruction);
    const { outputs } = instruction;
    const moved = moves(instruction) ? instruction.inputs.map((register) => this.#sources.get(register)) : [];
    const made: number[] = [];
    if (this.#step && this.launches.length === this.#lengths[1] && this.contents.length === this.#lengths[2]) {
      const step = this.steps.push(this.#step) - 1;
      // Where a view begins is worked out anew, of wherever that begins which it is a view of.
      for (const open of this.#untouched) open.isRead = false;
      for (const [at, register] of outputs.entries()) {
        made.push(this.addLiveIn({ kind: 'computed', step, at }, this.frame.get(register)));
        this.#varying.add(made[at]);
      }
    } else if (this.#step) {
      this.#guardInputs(instruction);
      this.#closeRead(instruction);
    }
    if (isAppend(instruction)) this.#noteAppend(instruction);
    const set = this.#attribute(instruction, made);
    if (set && set.source >= 0) moved.push(set.source);
    if (made.includes(-1)) return this.#end('a value that nothing short tells apart from others');
    if (!outputs.every((register) => this.canMake(this.frame.get(register)))) {
      return this.#end(unmakeable);
    }
    if (instruction.inputs.some((register) => register >= 0 && this.wasChanged(this.#valueOf(register))))
      return this.#end('a tensor that changes its shape');
    const view = made.length === 0 && outputs.length === 1 ? this.#viewOf(instruction) : null;
    outputs.forEach((register, at) => {
      this.#views.delete(register);
      this.registers.set(register, this.frame.get(register));
      const source = made[at] ?? moved[at] ?? this.#sourceOfResult(register);
      if (source === undefined) this.#sources.delete(register);
      else this.#sources.set(register, source);
    });
    if (view) this.#views.set(outputs[0], view);
    this.#sizes.note(outputs);
    if (set?.size) this.#sizes.give(outputs[0], set.size);
    for (const register of instruction.clears) {
      this.registers.set(register, undefined);
      this.#sizes.clear(register);
      this.#sources.delete(register);
      this.#views.delete(register);
    }
    this.instructions++;
    this.#written.clear();
    return null;
  }

  /** How the view that an instruction made can be made again. */
  #viewOf(instruction: Instruction): ComputeStep | null {
    const step = this.#repeatable(instruction);
    const value = this.frame.get(instruction.outputs[0]);
    if (!step?.row.view || !(value instanceof Tensor) || this.launches.length > this.#lengths[1]) return null;
    const isOf = (input: ComputeStep['inputs'][number]): boolean =>
      'liveIn' in input && this.liveInStorages[input.liveIn] === value.storage;
    return step.inputs.some(isOf) ? step : null;
  }

  #noteAppend({ inputs: [register, item] }: Instruction): void {
    const list = this.#sources.get(register);
    // A list of its own is made whole in the end.
    if (list === undefined) return;
    this.appends.push({ list, value: this.frame.get(item), source: this.sourceOf(item) });
  }

  /** Notes what was done with an attribute. Gives what it was set to before, where it was read. @param made gets the live-in that it is */
  #attribute(instruction: Instruction, made: number[]): SetNote | null {
    if (instruction.op !== 'SET_ATTR' && instruction.op !== 'GET_ATTR') return null;
    const { attributes } = this;
    const { inputs, outputs, operand } = instruction;
    const { slot } = operand;
    const object = this.#valueOf(inputs[0]) as ScriptObject;
    if (instruction.op === 'SET_ATTR') {
      const [, register] = inputs;
      attributes.note(object, slot, this.frame.get(register), this.sourceOf(register), this.sizeOf(register));
      return null;
    }
    const set = attributes.setBefore(object, slot);
    if (set) return set;
    const [register] = outputs;
    const known = attributes.readBefore(object, slot);
    const origin: Origin = { kind: 'attribute', object, slot, register };
    made.push(known < 0 ? this.addLiveIn(origin, this.frame.get(register)) : known);
    if (this.varyingRegisters.has(register)) this.#varying.add(made[0]);
    return null;
  }

  /** The live-in that a register holds after the host computed it. */
  #sourceOfResult(register: number): number | undefined {
    const value = this.frame.get(register);
    const at = value instanceof Tensor ? this.liveInOf(value) : -1;
    return at >= this.#lengths[0] ? at : undefined;
  }

  /** Has a register hold something at the end that is no live-in. */
  leave(register: number, value: IValue): void {
    this.registers.set(register, value);
    this.#sources.delete(register);
  }

  /** Forgets the instruction that runs, which does not belong to it after all. */
  rewind(): void {
    this.#end('');
  }

  /** Ends it before the instruction that runs next: another recording begins, and tensors begin at open numbers of one recording at a time. */
  interrupt(): void {
    this.refuse('another call');
    this.close();
  }

  /** Ends it for good: offsets that were open, and sizes, are numbers again. */
  close(): void {
    this.env?.close();
    for (const { open } of this.liveIns) if (open) open.isClosed = true;
  }

  /**
   * Whether it holds although the instruction that it ends before has run: not where that wrote over what the host had computed, or to what
   * launches had read as float16, or gave a tensor other sizes.
   */
  get isWhole(): boolean {
    return (
      this.#written.size === 0 &&
      this.#given.every(isUnmoved) &&
      this.launches.every(({ launch }) => hasLayouts(launch))
    );
  }

  #end(reason: string): string {
    const [liveIns] = this.#lengths;
    this.forgetLiveIns(liveIns);
    // A view that was to be made anew for the instruction is what it was before.
    for (const [register, at] of this.#sources) if (at >= liveIns) this.#sources.delete(register);
    this.#notes.forEach((notes, at) => (notes.length = this.#lengths[at]));
    return reason;
  }

  #valueOf(register: number): IValue | undefined {
    return this.registers.get(register) ?? this.frame.get(register);
  }

  // ---- values

  isGiven(register: number): boolean {
    return this.#varying.has(this.sourceOf(register));
  }

  symbolIn(register: number): SymNode<SymKind> | null {
    return this.isGiven(register) ? this.symbolFor(this.sourceOf(register), this.frame.get(register)) : null;
  }

  /** The expression that a register holds the number of at the end; null where it holds no such number. */
  sizeOf(register: number): SymNode<SymKind> | null {
    return this.#sizes.in(register);
  }

  /** As `sizeOf`, of the items of a list or a tuple. */
  sizesInList(list: List | Tuple): SizedItems | null {
    return this.#sizes.inList(list);
  }

  /** The live-in that a register holds at the end; -1 where it holds none. */
  sourceOf(register: number): number {
    return this.#sources.get(register) ?? -1;
  }
}

const changes = 'a container that changes';
const unmakeable = 'a value that cannot be made again';
