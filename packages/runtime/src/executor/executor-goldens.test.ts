import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { declareScript } from '@cresset/frontend';
import {
  applyJitOptions,
  OptionalType,
  setJitLogSink,
  type DictType,
  type Graph,
  type GraphFunction,
  type JitOptions,
  type ListType,
  type Type,
} from '@cresset/ir';
import { Dict, type DictKey, List, Tensor, Tuple, type IValue, type ScalarType } from '@cresset/tensor';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { Recorder } from '../autograd/recording/recorder.ts';
import { gradientsOf } from '../autograd/tape.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { ExecutorCache, GraphExecutor } from './graph-executor.ts';

/** As scripts/fixtures/make-executor-goldens.py writes it. */
interface Golden extends Readonly<Record<Mode, readonly CallRecord[] | null>> {
  readonly calls: readonly (readonly EncodedValue[])[];
  readonly grad_enabled: boolean;
  /** Of two programs the backward graph, profiled and optimised. */
  readonly backward?: readonly string[];
  readonly graphs: readonly string[];
}

/** Numbers of graphs: the one that a call ran, and the optimised ones that were made for it. */
interface CallRecord {
  readonly run: number;
  readonly made: readonly number[];
}

type EncodedValue =
  | { readonly tensor: EncodedTensor }
  | { readonly list: readonly EncodedValue[] }
  | { readonly tuple: readonly EncodedValue[] }
  | { readonly dict: readonly (readonly [EncodedValue, EncodedValue])[] }
  | { readonly int: number }
  | string
  | number
  | boolean
  | null;

interface EncodedTensor {
  readonly dtype: ScalarType;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly requiresGrad: boolean;
  /** What all elements are. */
  readonly fill: number | boolean;
}

/** The executors that programs are run under. */
const MODES = {
  profiling: { executor: 'profiling' },
  groups: { executor: 'profiling', fuseOnCpu: true },
  dynamic: { executor: 'profiling', fuseOnCpu: true, fusionStrategy: [['DYNAMIC', 10]] },
  gradients: { executor: 'profiling' },
  simple: { executor: 'simple' },
  simple_groups: { executor: 'simple', fuseOnCpu: true },
  simple_gradients: { executor: 'simple' },
} satisfies Record<string, JitOptions>;

type Mode = keyof typeof MODES;

const LOGGED = 'profiling_graph_executor_impl';

beforeAll(registerAllParts);
afterEach(() => {
  applyJitOptions({});
  setJitLogSink((text) => console.debug(text));
});

const folder = fileURLToPath(new URL('goldens/', import.meta.url));
const programs = readdirSync(folder).flatMap((file) => (file.endsWith('.py') ? [file.slice(0, -3)] : []));

function decode(value: EncodedValue, type: Type): IValue {
  if (type instanceof OptionalType && value !== null) return decode(value, type.elementType);
  if (value === null || typeof value !== 'object') return value;
  if ('int' in value) return BigInt(value.int);
  if ('tensor' in value) return decodeTensor(value.tensor);
  if ('tuple' in value) return new Tuple(value.tuple.map((item, at) => decode(item, type.containedTypes()[at])));
  if ('list' in value) {
    const { elementType } = type as ListType;
    return new List(
      elementType,
      value.list.map((item) => decode(item, elementType)),
    );
  }
  const { keyType, valueType } = type as DictType;
  const dict = new Dict(keyType, valueType);
  for (const [key, item] of value.dict) dict.entries.set(decode(key, keyType) as DictKey, decode(item, valueType));
  return dict;
}

function decodeTensor({ dtype, sizes, strides, requiresGrad, fill }: EncodedTensor): Tensor {
  const extent = sizes.reduce((sum, size, dim) => sum + (size - 1) * strides[dim], 1);
  const elements = Tensor.empty([extent], dtype);
  const array = elements.contiguousArray() as { fill(value: unknown): unknown };
  array.fill(dtype === 'int64' ? BigInt(fill) : Number(fill));
  const tensor = elements.asStrided([...sizes], [...strides]);
  tensor.requiresGrad = requiresGrad;
  return tensor;
}

/** A value as texts and numbers that can be compared. */
function plain(value: IValue): unknown {
  if (value instanceof Tensor) return [value.dtype, [...value.sizes], [...value.contiguousArray()]];
  if (value instanceof List || value instanceof Tuple) return value.items.map(plain);
  return value instanceof Dict ? [...value.entries].map((entry) => entry.map(plain)) : value;
}

function requireGradients(value: IValue): void {
  if (value instanceof Tensor) value.requiresGrad = true;
  else if (value instanceof List || value instanceof Tuple) value.items.forEach(requireGradients);
  else if (value instanceof Dict) [...value.entries.values()].forEach(requireGradients);
}

/** The argument of a program's first call that a value is named after. */
function named(program: string, value: string): IValue {
  const { inputs } = compiledProgram(program).graph;
  const at = inputs.findIndex(({ debugNameBase }) => debugNameBase === value.replace(/\.\d+$/, ''));
  return decode(goldenOf(program).calls[0][at], inputs[at].type);
}

function compiledProgram(name: string): GraphFunction {
  const text = readFileSync(`${folder}${name}.py`, 'utf8').split('\nCALLS')[0];
  const { unit } = declareScript(text.replaceAll(/^(?:import|from) .*$/gm, ''), { filename: name, module: 'program' });
  const fn = unit.findFunction('__torch__.f') as GraphFunction;
  fn.ensureDefined();
  return fn;
}

/** What the calls of a program run, have made, and give. */
async function recordsOf(
  name: string,
  { calls, grad_enabled: gradEnabled }: Golden,
  options: JitOptions,
  requiresGrad = false,
): Promise<{ graph: Graph; run: string; made: string[]; result: unknown }[]> {
  let log: string[] = [];
  setJitLogSink((text) => log.push(text));
  applyJitOptions({ ...options, logLevel: LOGGED, sourceRanges: false });
  const fn = compiledProgram(name);
  const spec = { maxFusedTensors: 0, gradEnabled: gradEnabled || requiresGrad };
  const executors = new ExecutorCache(() => spec);
  const context = new RuntimeContext();
  context.gradEnabled = spec.gradEnabled;
  const records = [];
  for (const call of calls) {
    log = [];
    const args = call.map((value, at) => decode(value, fn.graph.inputs[at].type));
    if (requiresGrad) args.forEach(requireGradients);
    const { code, graph } = executors.executorOf(fn).planFor(spec, null, args);
    // Only a tape knows of what is made whether it requires a gradient.
    const execution = new Execution(context, null, requiresGrad ? new Recorder() : null);
    const state = new InterpreterState(execution, (callee) => executors.ofFunction(callee));
    const [result] = await state.run(code, args);
    records.push({ graph, run: print(graph), made: log.flatMap(optimizedGraph), result: [result, ...args].map(plain) });
  }
  return records;
}

/** The graph that a message of the log shows, where it is an optimised one. */
function optimizedGraph(message: string): string[] {
  const [title, ...lines] = message.replaceAll(new RegExp(`^\\[DUMP ${LOGGED}\\] `, 'gm'), '').split('\n');
  return /^Optimized (SimpleExecutor )?Graph:$/.test(title) ? [renamed(lines.join('\n'))] : [];
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
      /^ *%([\w.]+) : (.+) = prim::(?:Constant|Uninitialized)(.*)\(\)\n/gm,
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

const goldenOf = (name: string): Golden => JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8')) as Golden;

/**
 * Of the sum of a tensor and a number PyTorch goes on saying what it knew the first time around a loop, though of the tensor it knows
 * nothing the second time. What a differentiable graph keeps for a gradient that no one will ask for, PyTorch leaves out. And the forward
 * graphs of some programs that are specialised know more of their tensors there.
 */
const OTHERWISE: ReadonlySet<string> = new Set([
  'searches, simple',
  'searches, simple_groups',
  'optionals, gradients',
  ...['attention', 'dictionaries', 'images', 'layers', 'lengths', 'optionals', 'searches'].map(
    (name) => `${name}, simple_gradients`,
  ),
]);

const modes = Object.keys(MODES) as Mode[];
const compared = programs.flatMap((name) => modes.map((mode) => [name, mode] as const));

it.each(compared.filter(([name, mode]) => goldenOf(name)[mode] !== null && !OTHERWISE.has(`${name}, ${mode}`)))(
  '%s, %s: every call runs the graph that PyTorch runs, and has those made that PyTorch has',
  async (name, mode) => {
    const golden = goldenOf(name);
    const records = await recordsOf(name, golden, MODES[mode], mode.endsWith('gradients'));
    const text = (number: number): string => renamed(golden.graphs[number]);
    for (const [at, { run, made }] of golden[mode]!.entries()) {
      // Differentiable graphs have executors of their own in PyTorch.
      if (!mode.endsWith('gradients')) expect.soft(records[at].made, `made for call ${at + 1}`).toEqual(made.map(text));
      expect.soft(records[at].run, `call ${at + 1}`).toBe(text(run));
    }
  },
);

it.each(programs)('%s gives under every executor what it gives as it was compiled', async (name) => {
  const golden = goldenOf(name);
  const results = async (options: JitOptions): Promise<unknown> =>
    (await recordsOf(name, golden, options)).map(({ result }) => result);
  const expected = await results({ enabled: false });
  for (const mode of modes) expect.soft(await results(MODES[mode]), mode).toEqual(expected);
});

const ones = (...sizes: number[]): Tensor =>
  Tensor.fromArray(new Float32Array(sizes.reduce((product, size) => product * size, 1)).fill(1), sizes, 'float32');

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
  const golden = goldenOf(name);
  const plan = (await recordsOf(name, golden, { executor: 'profiling' }, true)).at(-1)!.graph;
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
  const backward = new GraphExecutor('df', df, executors, true);
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
