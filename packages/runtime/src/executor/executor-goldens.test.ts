import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { declareScript } from '@cresset/frontend';
import { applyJitOptions, TensorType, type Graph, type GraphFunction, type JitOptions } from '@cresset/ir';
import { List, Tensor, type IValue, type Tuple } from '@cresset/tensor';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { Recorder } from '../autograd/recorder.ts';
import { gradientsOf } from '../autograd/tape.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { ExecutorCache, GraphExecutor } from './graph-executor.ts';

/** As scripts/make-executor-goldens.py writes it: the graph as it was compiled, and after each call. */
interface Golden {
  readonly profiling: readonly string[];
  readonly groups: readonly string[];
  readonly dynamic: readonly string[];
  readonly legacy: readonly string[];
  readonly gradients: readonly string[];
  readonly legacy_gradients: readonly string[];
  /** Of two programs: profiled, and optimised. */
  readonly backward?: readonly string[];
}

beforeAll(registerAllParts);
afterEach(() => applyJitOptions({}));

const ones = (...sizes: number[]): Tensor =>
  Tensor.fromArray(new Float32Array(sizes.reduce((product, size) => product * size, 1)).fill(1), sizes, 'float32');

/** The arguments that the programs' own CALLS give. */
const ARGUMENTS: Readonly<Record<string, () => readonly IValue[]>> = {
  branches: () => [ones(4), ones(4), 2],
  layers: () => [ones(2, 4), ones(4, 4), ones(4)],
  loops: () => [ones(2, 2), 3n],
  merged_types: () => [new List(TensorType.get(), [ones(1), ones(1)])],
  pointwise: () => [ones(2, 3), ones(2, 3)],
  shapes: () => [ones(2, 3, 1), ones(3, 3)],
  writes: () => [ones(2, 2), ones(2, 2)],
};

const folder = fileURLToPath(new URL('goldens/', import.meta.url));
const programs = readdirSync(folder).flatMap((file) => (file.endsWith('.py') ? [file.slice(0, -3)] : []));

const tensorsAmong = (args: readonly IValue[]): Tensor[] =>
  args.flatMap((arg) => (arg instanceof List ? arg.items : [arg])).filter((arg) => arg instanceof Tensor);

/** The argument of a program that a value is named after. */
function named(program: string, value: string): IValue {
  const formals = compiledProgram(program).graph.inputs.map(({ debugNameBase }) => debugNameBase);
  return ARGUMENTS[program]()[formals.indexOf(value.replace(/\.\d+$/, ''))];
}

function compiledProgram(name: string): GraphFunction {
  const text = readFileSync(`${folder}${name}.py`, 'utf8').split('\nCALLS')[0];
  const { unit } = declareScript(text.replaceAll(/^(?:import|from) .*$/gm, ''), { filename: name, module: 'program' });
  const fn = unit.findFunction('__torch__.f') as GraphFunction;
  fn.ensureDefined();
  return fn;
}

/** The graphs that a program's executor has after two calls, by stage. */
async function stagesOf(name: string, options: JitOptions, requiresGrad = false): Promise<ReadonlyMap<string, Graph>> {
  applyJitOptions(options);
  const fn = compiledProgram(name);
  const spec = { maxFusedTensors: 0, gradEnabled: requiresGrad };
  const executors = new ExecutorCache(() => spec);
  const context = new RuntimeContext();
  context.gradEnabled = requiresGrad;
  for (let call = 0; call < 2; call++) {
    const args = ARGUMENTS[name]();
    if (requiresGrad) tensorsAmong(args).forEach((tensor) => (tensor.requiresGrad = true));
    const { code } = executors.executorOf(fn).planFor(spec, null, args);
    // Only a tape knows of what is made whether it requires a gradient.
    const execution = new Execution(context, null, requiresGrad ? new Recorder() : null);
    await new InterpreterState(execution, (callee) => executors.ofFunction(callee)).run(code, args);
  }
  return executors.executorOf(fn).chooserFor(spec, null, true).stages();
}

/** Sizes without a number are named in the order in which a process meets them. */
function withOwnSymbols(text: string): string {
  const symbols = new Map<string, string>();
  return text.replaceAll(/symbolic_shape_inputs=\[[^\]]*\]/g, (list) =>
    list.replaceAll(/-\d+/g, (symbol) => {
      if (!symbols.has(symbol)) symbols.set(symbol, `s${symbols.size}`);
      return symbols.get(symbol)!;
    }),
  );
}

/** Values count by where they first stand, and constants by what they are: in which order they lie is the history of the graph. */
function renamed(text: string): string {
  const graphs = withOwnSymbols(text.replaceAll(/ *# .*$/gm, '')).split(/^(?=with )/m);
  return graphs.map(renamedGraph).join('').trim();
}

function renamedGraph(graph: string): string {
  const names = new Map<string, string>();
  const constants = new Map<string, string>();
  return graph
    .replaceAll(
      /^ *%([\w.]+) : (\S+) = prim::Constant(.*)\(\)\n/gm,
      (_line, name: string, type: string, value: string) => {
        constants.set(name, `${type}${value}`);
        return '';
      },
    )
    .replaceAll(/%([\w.]+)/g, (_text, name: string) => {
      if (constants.has(name)) return constants.get(name)!;
      if (!names.has(name)) names.set(name, `%${names.size}`);
      return names.get(name)!;
    });
}

const print = (graph: Graph | undefined): string => renamed(graph?.toString({ sourceRanges: false }) ?? 'no graph');

it.each(programs)('%s is profiled and optimised to what PyTorch has', async (name) => {
  const golden = JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8')) as Golden;
  const profiling = await stagesOf(name, { executor: 'profiling' });
  expect.soft(print(profiling.get('profiled'))).toBe(renamed(golden.profiling[1]));
  expect.soft(print(profiling.get('optimized'))).toBe(renamed(golden.profiling[2]));
  const groups = await stagesOf(name, { executor: 'profiling', fuseOnCpu: true });
  expect.soft(print(groups.get('optimized'))).toBe(renamed(golden.groups[2]));
  const dynamic = await stagesOf(name, { executor: 'profiling', fuseOnCpu: true, fusionStrategy: [['DYNAMIC', 10]] });
  expect.soft(print(dynamic.get('optimized'))).toBe(renamed(golden.dynamic[2]));
});

/** In one PyTorch has groups of its older fuser, in the other it leaves lists as they are where no loop was unrolled. */
const OTHERWISE: ReadonlySet<string> = new Set(['layers', 'writes']);

it.each(programs.filter((name) => !OTHERWISE.has(name)))(
  '%s is specialised to an ArgumentSpec as PyTorch has it',
  async (name) => {
    const golden = JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8')) as Golden;
    const simple = await stagesOf(name, { executor: 'simple' });
    expect(print(simple.get('optimized'))).toBe(renamed(golden.legacy[2]));
  },
);

it.each(programs.filter((name) => name !== 'writes'))('%s is differentiated as PyTorch does', async (name) => {
  const golden = JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8')) as Golden;
  const profiling = await stagesOf(name, { executor: 'profiling' }, true);
  expect(print(profiling.get('optimized'))).toBe(renamed(golden.gradients[2]));
});

it.each(programs.filter((name) => !OTHERWISE.has(name)))(
  '%s is specialised and differentiated as PyTorch does',
  async (name) => {
    const golden = JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8')) as Golden;
    const simple = await stagesOf(name, { executor: 'simple' }, true);
    expect(print(simple.get('optimized'))).toBe(renamed(golden.legacy_gradients[2]));
  },
);

it('what was differentiated runs on a tape, operator by operator', async () => {
  applyJitOptions({ executor: 'profiling' });
  const fn = compiledProgram('pointwise');
  const spec = { maxFusedTensors: 0, gradEnabled: true };
  const executors = new ExecutorCache(() => spec);
  const context = new RuntimeContext();
  context.gradEnabled = true;
  const slopes: number[][] = [];
  for (let call = 0; call < 3; call++) {
    const args = [ones(2, 3), ones(2, 3)];
    for (const tensor of args) tensor.requiresGrad = true;
    const { code, graph } = executors.executorOf(fn).planFor(spec, null, args);
    expect(String(graph).includes('prim::DifferentiableGraph')).toBe(call > 0);
    const state = new InterpreterState(new Execution(context, null, new Recorder()), (callee) =>
      executors.ofFunction(callee),
    );
    const [result] = (await state.run(code, args)) as [Tensor];
    const found = await gradientsOf({ outputs: [result], gradients: [ones(2, 3)], inputs: args }, context);
    slopes.push(found.flatMap((gradient) => [...(gradient!.contiguousArray() as Float32Array)]));
  }
  // tanh(2)' * 2, and tanh(2)' - sigmoid(1)'
  expect(slopes[0][0]).toBeCloseTo(2 * (1 - Math.tanh(2) ** 2), 5);
  expect(slopes[0][6]).toBeCloseTo(1 - Math.tanh(2) ** 2 - 0.1966119, 5);
  expect(slopes[1]).toEqual(slopes[0]);
  expect(slopes[2]).toEqual(slopes[0]);
});

it.each(['pointwise', 'layers'])('the backward graph of %s is profiled and optimised as PyTorch does', async (name) => {
  const golden = JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8')) as Golden;
  const plan = (await stagesOf(name, { executor: 'profiling' }, true)).get('optimized')!;
  const group = [...plan.allNodes()].find(({ kind }) => kind === 'prim::DifferentiableGraph')!;
  const [f, df] = [group.g('Subgraph'), group.g('ReverseSubgraph')];
  const spec = { maxFusedTensors: 0, gradEnabled: false };
  const executors = new ExecutorCache(() => spec);
  const run = async (executor: GraphExecutor, args: readonly IValue[]): Promise<readonly IValue[]> => {
    const { code } = executor.planFor(spec, null, args);
    const state = new InterpreterState(new Execution(new RuntimeContext()), (callee) => executors.ofFunction(callee));
    return await state.run(code, args);
  };
  const inputs = f.inputs.map(({ debugName }) => named(name, debugName));
  const outputs = await run(new GraphExecutor('f', f, executors), inputs);
  // A gradient comes where the result was last given out; the others are zero.
  const result = f.outputs.lastIndexOf(f.outputs[0]);
  const gradients = group
    .is('df_input_vjps')
    .map((at) => (Number(at) === result ? ones(...(outputs[0] as Tensor).sizes) : null));
  const captured = [
    ...group.is('df_input_captured_inputs').map((at) => inputs[Number(at)]),
    ...group.is('df_input_captured_outputs').map((at) => outputs[Number(at)]),
  ];
  applyJitOptions({ executor: 'profiling' });
  const backward = new GraphExecutor('df', df, executors);
  const found: IValue[] = [];
  for (let call = 0; call < 2; call++) found.push(...(await run(backward, [...gradients, ...captured])));
  const stages = backward.chooserFor(spec, null, true).stages();
  // Whatever is profiled here was simplified as PyTorch simplifies functions, which takes branches on what is plainly no None.
  if (name !== 'layers') expect.soft(print(stages.get('profiled'))).toBe(renamed(golden.backward![0]));
  expect.soft(print(stages.get('optimized'))).toBe(renamed(golden.backward![1]));
  const [first, second] = found.map((value) =>
    (value as Tuple).items.map((item) => [...(item as Tensor).contiguousArray()]),
  );
  expect(second).toEqual(first);
});
