import { CressetError, nextTurn, type ScriptFunction } from '@cresset/ir';
import { Future, meterMemory, Tuple, type IValue, type ScriptObject } from '@cresset/tensor';
import type { Code, CodeSource } from './code/code.ts';
import { Frame } from './frame.ts';
import { instructionHandlers } from './instruction-handlers.ts';
import type { Instruction } from './code/instruction.ts';
import { MAX_BUSY_MS, type Execution } from '../run/execution.ts';
import type { RecordingNotes } from '../run/planner.ts';
import { ProgramPlace, stackOf, type CallInProgress, type RunningProgram } from './program-place.ts';
import { InterruptedError, MemberError, TorchScriptError } from './script-error.ts';

/** Instructions without tensors between two looks at the clock and the abort signal. */
const checkInterval = 1024;

/**
 * A running program: call frames with registers and a program counter, and nothing else (torch::jit::InterpreterState). It
 * runs synchronously until an operator has to wait, can rest at any instruction, and is then resumed where it was.
 */
export class InterpreterState implements RunningProgram {
  readonly #frames: Frame[] = [];
  /** Objects whose `__enter__` ran and whose `__exit__` did not yet. */
  readonly #entered: ScriptObject[] = [];
  #results: readonly IValue[] | null = null;
  instructions = 0;
  /** An operator made a tensor, which may have taken any time, since the last look at the clock. */
  #hasComputed = false;
  #lastRest = performance.now();
  /** What was being recorded when the program came to rest. */
  #suspended: RecordingNotes | null = null;
  readonly #calls = (): CallInProgress[] => this.calls();

  constructor(
    readonly execution: Execution,
    /** The code of a function that is only found while running: methods of interfaces, `__enter__` and `__exit__`. */
    readonly codeOf: (fn: ScriptFunction) => CodeSource,
    /** Whether results are held when it has run, as registers hold values; else the end of the execution finds out about them. */
    private readonly holdsResults = false,
  ) {}

  /** Runs `code`; a Promise where it has to wait somewhere. Throws, or rejects with, a TorchScriptError. */
  run(code: Code, args: readonly IValue[]): readonly IValue[] | Promise<readonly IValue[]> {
    this.enter(code, args, []);
    this.execution.budget?.programs.add(this);
    return this.#continue();
  }

  /** Calls `code` from the current frame; its results go to `resultRegisters` there. */
  enter(code: Code, args: readonly IValue[], resultRegisters: readonly number[]): void {
    if (this.#frames.length >= this.execution.context.limits.maxCallDepth) {
      throw new InterruptedError('RUN_LIMIT', `the program called more than ${this.#frames.length} functions deep`);
    }
    if (args.length !== code.parameterCount) {
      throw new CressetError('ARGUMENT_COUNT', `${code.name} takes ${code.parameterCount} values, not ${args.length}`);
    }
    const frame = new Frame(code, this.execution.ledger, resultRegisters);
    for (let i = 0; i < args.length; i++) frame.set(i, args[i]);
    this.#frames.push(frame);
  }

  /** Ends the current call. */
  leave(results: readonly IValue[]): void {
    const frame = this.#frames.pop()!;
    const caller = this.#frames.at(-1);
    if (caller) {
      caller.setAll(frame.resultRegisters, results);
    } else {
      // No register holds them from here on: whoever started the program decides about them.
      const { ledger } = this.execution;
      for (const result of results) {
        if (this.holdsResults) ledger?.retain(result, false);
        else ledger?.pin(result);
      }
      this.#results = results;
    }
    frame.leave();
  }

  /** Goes on in `code` in the place of the current frame, to whose caller its results go (PyTorch: TAIL_CALL). */
  continueIn(code: Code, args: readonly IValue[]): void {
    const left = this.#frames.at(-1)!;
    // Its values are held by the new frame before the old one lets go of them.
    this.enter(code, args, left.resultRegisters);
    this.#frames.splice(-2, 1);
    left.leave();
  }

  /** Starts `code` beside this program, to complete `future`; it runs until it has to wait for the first time. */
  fork(code: Code, args: readonly IValue[], future = new Future()): Future {
    const complete = (results: readonly IValue[]): void => {
      future.markCompleted(results.length === 1 ? results[0] : new Tuple(results));
    };
    try {
      const results = this.runBeside(code, args);
      if (results instanceof Promise) results.then(complete, (error: unknown) => future.setError(error));
      else complete(results);
    } catch (error) {
      future.setError(error);
    }
    return future;
  }

  /** Runs `code` with registers of its own, within the same execution. */
  runBeside(code: Code, args: readonly IValue[]): readonly IValue[] | Promise<readonly IValue[]> {
    return new InterpreterState(this.execution, this.codeOf).run(code, args);
  }

  noteComputed(): void {
    this.#hasComputed = true;
  }

  noteEntered(object: ScriptObject): void {
    this.#entered.push(object);
  }

  noteExited(): void {
    this.#entered.pop();
  }

  #continue(): readonly IValue[] | Promise<readonly IValue[]> {
    const { execution } = this;
    const outer = execution.running;
    execution.running = this;
    const { planner, budget } = execution;
    const outerMeter = meterMemory(budget);
    if (this.#suspended) planner!.resume(this.#suspended);
    this.#suspended = null;
    try {
      while (this.#results === null) {
        const frame = this.#frames[this.#frames.length - 1];
        if (planner) {
          const replayed = planner.before(frame, execution, this.#calls);
          if (replayed > 0) {
            this.instructions += replayed;
            const rest = this.#check();
            if (rest) return this.#resumeAfter(rest, frame);
            continue;
          }
        }
        const instruction = frame.code.instructions[frame.programCounter++];
        const pending = this.#step(frame, instruction);
        if (pending) {
          planner?.waits();
          return this.#resumeAfter(pending, frame, instruction);
        }
        planner?.after(instruction);
        if (instruction.clears.length > 0) frame.clear(instruction.clears);
        if (++this.instructions % checkInterval === 0 || instruction.op === 'FUSION_GROUP' || this.#hasComputed) {
          const rest = this.#check();
          if (rest) {
            this.#suspended = planner?.suspend() ?? null;
            return this.#resumeAfter(rest, frame);
          }
        }
      }
    } catch (error) {
      planner?.abandon();
      return this.#fail(error);
    } finally {
      execution.running = outer;
      meterMemory(outerMeter);
    }
    budget?.programs.delete(this);
    this.execution.context.counters.instructions += this.instructions;
    return this.#results;
  }

  #step(frame: Frame, instruction: Instruction): Promise<void> | void {
    // What loops are made of has call sites of its own, where an engine can inline the handler.
    switch (instruction.op) {
      case 'DIRECT':
        return instructionHandlers.DIRECT(this, frame, instruction);
      case 'OP':
        return instructionHandlers.OP(this, frame, instruction);
      case 'MOVE_PLAIN':
        return instructionHandlers.MOVE_PLAIN(this, frame, instruction);
      case 'MOVE':
        return instructionHandlers.MOVE(this, frame, instruction);
      case 'JUMP':
        return instructionHandlers.JUMP(this, frame, instruction);
      case 'LOOP':
        return instructionHandlers.LOOP(this, frame, instruction);
      case 'JUMP_IF_FALSE':
        return instructionHandlers.JUMP_IF_FALSE(this, frame, instruction);
    }
    // One handler an instruction, each typed by its operand; the table cannot tell TypeScript that they belong together.
    const handler = instructionHandlers[instruction.op] as (
      state: InterpreterState,
      frame: Frame,
      instruction: Instruction,
    ) => Promise<void> | void;
    return handler(this, frame, instruction);
  }

  /** @param waited the instruction that had to wait: it has registers to give up */
  async #resumeAfter(
    pending: Promise<void>,
    frame: Frame,
    waited: Instruction | null = null,
  ): Promise<readonly IValue[]> {
    try {
      await pending;
      this.#lastRest = performance.now();
      this.execution.throwIfEnded();
    } catch (error) {
      return this.#fail(error);
    }
    if (waited) {
      this.instructions++;
      frame.clear(waited.clears);
    }
    return this.#continue();
  }

  /** Whether the run may go on; a Promise where others should get a turn first, an abort message among them. */
  #check(): Promise<void> | null {
    const { context, signal } = this.execution;
    this.#hasComputed = false;
    if (this.instructions >= context.limits.maxInstructions) {
      throw new InterruptedError('RUN_LIMIT', `the run took more than ${this.instructions} instructions`);
    }
    this.execution.throwIfEnded();
    const room = context.device?.room() ?? null;
    if (room) return this.execution.untilAborted(room);
    if (!signal || performance.now() - this.#lastRest < MAX_BUSY_MS) return null;
    return nextTurn();
  }

  // ---- errors

  /** Closes what `with` opened, gives up all registers, and throws with the program's call stack. */
  #fail(thrown: unknown): never | Promise<never> {
    const error = thrown instanceof MemberError ? thrown.cause : thrown;
    const entries = stackOf(new ProgramPlace(this, thrown instanceof MemberError ? thrown.node : null).calls());
    const report =
      error instanceof InterruptedError || error instanceof TorchScriptError
        ? error
        : new TorchScriptError(error, entries);
    const entered = this.#entered.splice(0).reverse();
    if (entered.length > 0 && !(error instanceof InterruptedError)) {
      return this.#exitAll(entered).then(() => this.#abandon(report));
    }
    return this.#abandon(report);
  }

  #abandon(report: Error): never {
    for (const frame of this.#frames.splice(0)) frame.leave();
    this.execution.budget?.programs.delete(this);
    throw report;
  }

  async #exitAll(entered: readonly ScriptObject[]): Promise<void> {
    for (const object of entered) {
      const exit = this.codeOf(object.type.getMethod('__exit__'));
      try {
        const args = [object, null, null, null];
        await this.runBeside(exit.code(args), args);
      } catch {
        // As in PyTorch: the first error is the one to tell.
      }
    }
  }

  values(): IValue[] {
    return this.#frames.flatMap(({ values }) => values.filter((value) => value !== undefined));
  }

  calls(): CallInProgress[] {
    return this.#frames.map(({ code, programCounter }) => ({
      node: code.instructions[Math.max(programCounter - 1, 0)].node,
      functionName: code.name,
    }));
  }
}
