import { applyJitOptions, CressetError } from '@cresset/ir';
import type { RuntimeContextOptions } from '@cresset/runtime';
import { Tensor } from '@cresset/tensor';
import type { Call, CaseResult, Check, FileReader, GradientCase, JsonIValue, ProgramCase } from './case.ts';
import { difference, type Tolerance } from '../checks/compare.ts';
import { differenceOfGraph, FREEZE_STAGES, openFrozen, type FreezeCase } from './freeze-case.ts';
import { checkGradients } from '../checks/gradient-check.ts';
import { withCanonicalNames, withoutLocations } from './graph-text.ts';
import { checkIrCase, type IrCase } from './ir-case.ts';
import { decodeIValue } from './ivalue-json.ts';
import { openProgram, type Program } from './program.ts';
import { differencesWhenRepeated, roundsWithOtherShapes } from './repeated-runs.ts';
import { differencesWhenTiled } from './tiled-runs.ts';
import { jitOptionsOf, type ExecutorSetting, type RunnerSettings, type Tiled } from '../runner/runner-settings.ts';

/** Longest reason that is printed; equal beginnings count as one reason. */
const reasonLength = 110;

/** Derivatives of groups are said in other words than those of their operators: what they come to differs in so many last digits more. */
const GRADIENT_DIGITS = 16;

/** A failed expectation, as against an error of the program. */
class Mismatch extends Error {}

/** Runs cases one after the other on one device. */
export class CaseRunner {
  constructor(
    readonly context: Pick<RuntimeContextOptions, 'device' | 'limits'>,
    readonly checks: readonly Check[],
    private readonly plans: Pick<RunnerSettings, 'executors' | 'repeat' | 'tiled'> = {
      executors: ['default'],
      repeat: 1,
      tiled: null,
    },
  ) {}

  /** Never throws: whatever happens is the case's result. */
  async run(json: ProgramCase, readFile: FileReader): Promise<CaseResult> {
    const { executors, repeat } = this.plans;
    if (this.plans.tiled !== null) return this.#runTiled(json, readFile, this.plans.tiled);
    const results = new Map<ExecutorSetting, CaseResult>();
    for (const executor of executors) {
      applyJitOptions(jitOptionsOf(executor));
      results.set(executor, await this.#runOnce(json, readFile));
    }
    const isProgram = (json.compile_error ?? json.load_error) === undefined && !json.suite.startsWith('ir/');
    if (repeat > 1 && isProgram) await this.#repeat(json, readFile, results);
    const all = [...results.values()];
    const result = all.find(({ passed }) => !passed) ?? all[0];
    if (all.length === 1) return result;
    const verdicts = [...results].map(([executor, { reason = null }]) => [executor, reason]);
    return { ...result, verdicts: Object.fromEntries(verdicts) };
  }

  /** Makes the calls again under those executors under which the case has passed, and changes its result where one of them differs. */
  async #repeat(json: ProgramCase, readFile: FileReader, results: Map<ExecutorSetting, CaseResult>): Promise<void> {
    // What the others are compared with is a program that was compiled with the JIT off.
    const executors = [...results.keys()].filter((executor) => executor !== 'off' && results.get(executor)!.passed);
    if (executors.length === 0) return;
    const rounds = roundsWithOtherShapes(this.plans.repeat);
    const isDifferentiated = this.checks.includes('gradients');
    const repetition = {
      context: this.context,
      plainContext: this.context,
      readFile,
      rounds,
      executors,
      lastDigits: isDifferentiated ? GRADIENT_DIGITS : 2,
      isDifferentiated,
    };
    const fail = (executor: ExecutorSetting, reason: string): void => {
      results.set(executor, { ...results.get(executor)!, passed: false, reason: reason.slice(0, reasonLength) });
    };
    try {
      const found = await differencesWhenRepeated(json, repetition);
      for (const [executor, reason] of found) fail(executor, reason);
    } catch (error) {
      for (const executor of executors) fail(executor, reasonOf(error));
    }
  }

  /** Compares the case with its tensors tiled with a plain run of it; PyTorch's results, which are of other sizes, are not looked at. */
  async #runTiled(json: ProgramCase, readFile: FileReader, tiled: Tiled): Promise<CaseResult> {
    const { id, suite } = json;
    const { executors, repeat } = this.plans;
    try {
      const found = await differencesWhenTiled(json, {
        context: this.context,
        readFile,
        tiled,
        times: repeat,
        executors,
      });
      if (found === null) return { id, suite, passed: true, unchecked: 'no tiling fits' };
      const reasons = [...found].map(([executor, reason]) => `${executor}: ${reason}`);
      return { id, suite, passed: reasons.length === 0, reason: reasons[0]?.slice(0, reasonLength) };
    } catch (error) {
      return { id, suite, passed: false, reason: reasonOf(error) };
    }
  }

  async #runOnce(json: ProgramCase, readFile: FileReader): Promise<CaseResult> {
    const { id, suite } = json;
    const hostFallbacks: Record<string, number> = {};
    const fallbackReasons: Record<string, string> = {};
    try {
      if (suite === 'ir/freeze') await this.#expectFrozen(json as FreezeCase, readFile);
      else if (suite.startsWith('ir/')) expectIr(json as unknown as IrCase);
      else {
        const unchecked = await this.#expect(json, readFile, hostFallbacks, fallbackReasons);
        if (unchecked !== undefined) return { id, suite, passed: true, unchecked };
      }
      return { id, suite, passed: true, hostFallbacks, fallbackReasons };
    } catch (error) {
      return { id, suite, passed: false, reason: reasonOf(error), hostFallbacks, fallbackReasons };
    }
  }

  async #expect(
    json: ProgramCase,
    readFile: FileReader,
    hostFallbacks: Record<string, number>,
    fallbackReasons: Record<string, string>,
  ): Promise<string | undefined> {
    let program: Program;
    try {
      program = await openProgram(json, this.context, readFile);
    } catch (error) {
      const message = json.compile_error ?? json.load_error;
      if (message === undefined) throw error;
      expectError(error, message);
      return this.checks.includes('gradcheck') ? 'no results' : undefined;
    }
    if (json.compile_error !== undefined) throw new Mismatch('compiled, though PyTorch refuses it');
    try {
      if (this.checks.includes('graph') && json.graph !== undefined) expectGraph(program, json);
      if (this.checks.includes('code') && json.code !== undefined) expectCode(program, json);
      if (this.checks.includes('grads') && json.grads) {
        for (let round = 0; round < this.plans.repeat; round++) {
          await expectGradients(program, json, json.grads, readFile);
        }
      }
      if (this.checks.includes('gradcheck')) {
        const found = await checkGradients(program, json, readFile);
        if ('unchecked' in found) return found.unchecked;
        if (found.difference !== null) throw new Mismatch(found.difference);
      }
      if (this.checks.includes('output')) await expectCalls(program, json, readFile);
    } finally {
      for (const [operator, count] of program.hostFallbacks()) {
        hostFallbacks[operator] = (hostFallbacks[operator] ?? 0) + count;
      }
      Object.assign(fallbackReasons, Object.fromEntries(program.fallbackReasons()));
      program.dispose();
    }
    return undefined;
  }

  /** Graphs and results of a module before it is frozen, and after. */
  async #expectFrozen(json: FreezeCase, readFile: FileReader): Promise<void> {
    for (const stage of FREEZE_STAGES) {
      const program = await openFrozen(json, stage, this.context, readFile);
      try {
        const found = differenceOfGraph(program.graph('forward'), json[stage]);
        if (found) throw new Mismatch(`${stage}: ${found}`);
        await expectCalls(program, json, readFile);
      } finally {
        program.dispose();
      }
    }
  }
}

function expectIr(json: IrCase): void {
  const found = checkIrCase(json);
  if (found) throw new Mismatch(found);
}

function expectGraph(program: Program, { entry, graph }: ProgramCase): void {
  const got = withCanonicalNames(withoutLocations(program.graph(entry ?? 'forward')));
  if (got !== withCanonicalNames(withoutLocations(graph!))) throw new Mismatch('another graph');
}

function expectCode(program: Program, { entry, code }: ProgramCase): void {
  if (program.code(entry ?? 'forward').trim() !== code!.trim()) throw new Mismatch('other code');
}

async function expectCalls(program: Program, json: ProgramCase, readFile: FileReader): Promise<void> {
  const tolerance: Tolerance = { rtol: json.rtol ?? 0, atol: json.atol ?? 0, shapeOnly: json.shape_only ?? false };
  for (const [name, text] of Object.entries(json.extra_files ?? {})) {
    const found = program.extraFiles().get(name);
    if (!found || new TextDecoder().decode(found) !== text) throw new Mismatch(`another extra file '${name}'`);
  }
  for (const call of json.calls ?? []) {
    const states = isExported(json) ? await stateOf(program) : null;
    await expectCall(program, call, json.entry ?? 'forward', tolerance, readFile);
    if (states) await expectState(program, states, call, tolerance, readFile);
  }
}

/** Of programs of torch.export, cases tell what their calls change. */
const isExported = ({ file }: ProgramCase): boolean => file?.endsWith('.pt2') === true;

async function stateOf(program: Program): Promise<ReadonlyMap<string, string>> {
  const states = new Map<string, string>();
  for (const [name, tensor] of program.tensors()) {
    await tensor.storage.toHost();
    states.set(name, String(tensor.contiguousArray()));
  }
  return states;
}

async function expectState(
  program: Program,
  before: ReadonlyMap<string, string>,
  { state_after: changed = {} }: Call,
  tolerance: Tolerance,
  readFile: FileReader,
): Promise<void> {
  const after = await stateOf(program);
  for (const name of before.keys()) {
    const want = changed[name];
    if (want === undefined && before.get(name) !== after.get(name)) throw new Mismatch(`the call changed '${name}'`);
  }
  for (const [name, want] of Object.entries(changed)) {
    const found = await difference(program.tensors().get(name) ?? null, want, tolerance, readFile, 'state afterwards');
    if (found) throw new Mismatch(found);
  }
}

/** Compares the gradients of a call's inputs, given those of its outputs. */
async function expectGradients(
  program: Program,
  json: ProgramCase,
  grads: GradientCase,
  readFile: FileReader,
): Promise<void> {
  const [call] = json.calls ?? [];
  const inputs = await Promise.all(call.inputs.map((input) => decodeIValue(input, readFile)));
  const gradients = await Promise.all(grads.grad_outputs.map((each) => decodeIValue(each, readFile)));
  const leaves = inputs.filter((input, at): input is Tensor => grads.requires_grad[at] && input instanceof Tensor);
  const found = await program.gradients(call.entry ?? json.entry ?? 'forward', inputs, leaves, gradients as Tensor[]);
  const tolerance: Tolerance = { rtol: json.rtol ?? 0, atol: json.atol ?? 0, shapeOnly: json.shape_only ?? false };
  for (const [at, want] of grads.expected.entries()) {
    const leaf = leaves.indexOf(inputs[at] as Tensor);
    const other = await difference(found[leaf] ?? null, want, tolerance, readFile, `gradient ${at}`);
    if (other) throw new Mismatch(other);
  }
}

async function expectCall(
  program: Program,
  call: Call,
  entry: string,
  tolerance: Tolerance,
  readFile: FileReader,
): Promise<void> {
  const inputs = await Promise.all(call.inputs.map((input) => decodeIValue(input, readFile)));
  const kwargs = new Map<string, Awaited<ReturnType<typeof decodeIValue>>>();
  for (const [name, value] of Object.entries(call.kwargs ?? {})) kwargs.set(name, await decodeIValue(value, readFile));
  let output;
  try {
    output = await program.call(call.entry ?? entry, inputs, kwargs);
  } catch (error) {
    if (call.raises === undefined) throw error;
    expectError(error, call.raises);
    return;
  }
  if (call.raises !== undefined) throw new Mismatch('returned, though PyTorch raises');
  await expectEqual(output, call.output ?? null, 'output');
  for (const [at, want] of (call.inputs_after ?? []).entries()) await expectEqual(inputs[at], want, 'input afterwards');
  for (const [name, want] of Object.entries(call.kwargs_after ?? {}))
    await expectEqual(kwargs.get(name) ?? null, want, 'input afterwards');

  async function expectEqual(got: Parameters<typeof difference>[0], want: JsonIValue, name: string): Promise<void> {
    const found = await difference(got, want, tolerance, readFile, name);
    if (found) throw new Mismatch(found);
  }
}

/** Whether the error is one of ours that says what PyTorch's says. */
function expectError(error: unknown, message: string): void {
  if (!(error instanceof CressetError)) throw error;
  if (!error.message.includes(message)) throw new Mismatch(`raised another message: ${tellingLine(error.message)}`);
}

function reasonOf(error: unknown): string {
  if (error instanceof Mismatch) return error.message.slice(0, reasonLength);
  if (error instanceof CressetError) return `${error.code}: ${tellingLine(error.message)}`.slice(0, reasonLength);
  return `not a CressetError: ${error instanceof Error ? `${error.name}: ${firstLine(error.message)}` : String(error)}`.slice(
    0,
    reasonLength,
  );
}

const firstLine = (message: string): string => message.trim().split('\n')[0];

/** An error of a program carries its traceback before the message proper. */
function tellingLine(message: string): string {
  const lines = message.trim().split('\n');
  return lines[0].startsWith('The following operation failed') ? lines.at(-1)! : lines[0];
}
