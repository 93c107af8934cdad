import { writeModule } from '@cresset/archive';
import { checkSameGraph, Tracer, traceError } from '@cresset/frontend';
import { lint, type Graph } from '@cresset/ir';
import { canonicalize, eliminateDeadWrites, lowerSimpleTuples, normalizeOps } from '@cresset/passes';
import { HostOperators, initializeRuntime } from '@cresset/runtime';
import { Dict, List, Tensor, Tuple, type IValue, type ScriptObject } from '@cresset/tensor';
import { Tensor as PageTensor } from '../page/values/tensor.ts';
import { mapItems } from '../page/values/named-tuple.ts';
import { parameterNames } from '../page/parameter-names.ts';
import { TensorList } from '../page/values/tensor-list.ts';
import type { TraceOptions } from '../page/trace.ts';
import type { Output } from '../page/values/value.ts';
import { runtimeTensor } from './runtime-tensor.ts';
import { isTraceableModule, ModuleTree, placeholderModule, type TraceableModule } from './traced-module.ts';
import { TracedValues, type TracedTensor, type TracedTorch } from './traced-tensor.ts';

/** Options of a trace that decide what is recorded. */
type RecordOptions = Pick<TraceOptions, 'argumentNames' | 'checkTrace' | 'strict' | 'warn'>;

/** Makes `torch` what the trace gives, while `body` runs. */
type WithTorch = <T>(module: TracedTorch, body: () => T) => T;

/** Puts in place what compiling needs, which tracing does too. */
export function register(): void {
  initializeRuntime();
}

/** A function to be traced: its last parameter is the module `torch`, its results tensors, arrays or objects of such. */
export type TraceableFunction = (...inputs: TracedTensor[]) => unknown;

/** What a trace recorded: a module whose `forward` it is. */
export interface RecordedTrace {
  readonly module: ScriptObject;
  /** The graph of `forward`, in canonical form. */
  readonly graph: Graph;
  /** What the function gave. */
  readonly outputs: IValue;
}

/** The function's inputs as programs get them. */
export function exampleInputs(inputs: readonly unknown[], values: TracedValues): IValue[] {
  return inputs.map((input) => values.unwrap(withRuntimeTensors(input)));
}

function withRuntimeTensors(value: unknown): unknown {
  if (value instanceof PageTensor) return runtimeTensor(value);
  if (value instanceof TensorList) return new TensorList(value.items.map(withRuntimeTensors));
  if (Array.isArray(value)) return mapItems(value, withRuntimeTensors);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, withRuntimeTensors(item)]));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withRuntimeTensors(item)]));
  }
  return value;
}

/** Runs a function or module on example inputs and records what it does. Throws `TRACE` for what cannot be recorded. */
export function recordTrace(
  program: TraceableFunction | TraceableModule,
  inputs: readonly unknown[],
  options: RecordOptions,
  withTorch: WithTorch,
): RecordedTrace {
  const operators = new HostOperators();
  const warn = options.warn ?? ((message: string) => console.warn(`TracerWarning: ${message}`));
  const tree = isTraceableModule(program) ? new ModuleTree(program, cleanUp) : null;
  const tracer = new Tracer(
    { execute: (operator, args) => operators.call(operator, args), warn, strict: options.strict },
    tree?.root ?? null,
    tree?.places,
  );
  const values = new TracedValues(tracer);
  const source = isTraceableModule(program) ? program.forward : program;
  const run = source.bind(tree?.self(program, values)) as (...inputs: readonly unknown[]) => unknown;
  const names = options.argumentNames ?? parameterNames(source);
  const given = exampleInputs(inputs, values).map((input, index) => tracer.addInput(input, names[index] ?? ''));
  const result = withTorch(values.torch, () => run(...given.map((input) => values.wrap(input)), values.torch));
  if (result instanceof Promise) {
    result.catch(() => undefined);
    throw traceError('an async function cannot be traced: what it does after its first wait is not seen');
  }
  const outputs = values.unwrap(result);
  tracer.addOutput(outputs, 0);
  const { graph } = tracer;
  if (!tree) return { module: placeholderModule(graph, cleanUp), graph, outputs };
  tree.define(tree.root.object.type, graph);
  return { module: tree.root.object, graph, outputs };
}

/** As torch.jit.trace leaves a graph (PyTorch: FixupTraceScopeBlocks and runCleanupPasses). */
function cleanUp(graph: Graph): void {
  normalizeOps(graph);
  lowerSimpleTuples(graph);
  eliminateDeadWrites(graph);
  lint(graph);
}

/** Traces twice, and throws a TracingCheckError where the two are not the same. */
export function recordChecked(
  program: TraceableFunction | TraceableModule,
  inputs: readonly unknown[],
  options: RecordOptions,
  withTorch: WithTorch,
): RecordedTrace {
  const first = recordTrace(program, inputs, options, withTorch);
  if (options.checkTrace ?? true) {
    const second = recordTrace(program, inputs, { ...options, warn: () => undefined }, withTorch);
    checkSameGraph(canonicalize(first.graph), canonicalize(second.graph));
  }
  return first;
}

/** The file of a traced program. */
export function traceFile({ module }: RecordedTrace): Promise<Uint8Array<ArrayBuffer>> {
  return writeModule(module, { name: 'traced' });
}

/** Compares what a traced program gives with what its function gave; gives the text of a warning, or null. */
export function outputDifference(got: Output, want: IValue, tolerance: number): string | null {
  let found: string | null = null;
  const visit = (left: unknown, right: IValue | undefined, place: number): void => {
    if (left instanceof PageTensor && right instanceof Tensor) {
      const difference = tensorDifference(left, right, tolerance);
      found ??=
        difference &&
        `Output nr ${place}. of the traced function does not match the corresponding output of the Python function. Detailed error:\n${difference}`;
    } else if (Array.isArray(left) && (right instanceof Tuple || right instanceof List)) {
      left.forEach((item, index) => visit(item, right.items[index], index + 1));
    } else if (left instanceof Map && right instanceof Dict) {
      [...right.entries].forEach(([key, item], index) => visit(left.get(key), item, index + 1));
    }
  };
  visit(got, want, 1);
  return found;
}

function tensorDifference(got: PageTensor, want: Tensor, tolerance: number): string | null {
  if (got.dtype !== want.dtype) {
    return `The values for attribute 'dtype' do not match: ${got.dtype} != ${want.dtype}.`;
  }
  if (got.shape.join() !== want.sizes.join()) {
    return `The values for attribute 'shape' do not match: [${got.shape.join(', ')}] != [${want.sizes.join(', ')}].`;
  }
  const expected = want.contiguousArray();
  let wrong = 0;
  got.data.forEach((element, index) => {
    const [x, y] = [Number(element), Number(expected[index])];
    const isClose = Math.abs(x - y) <= tolerance + tolerance * Math.abs(y) || Object.is(x, y) || x === y;
    if (!isClose) wrong++;
  });
  return wrong === 0 ? null : `Tensor-likes are not close!\n\nMismatched elements: ${wrong} / ${expected.length}`;
}
