import { canonicalize, eraseShapeInformation, inline } from '@cresset/passes';
import { functionOfPlaceholder } from '@cresset/frontend';
import { CressetError, isTensorConstant, printNode, type Graph, type GraphFunction, type Node } from '@cresset/ir';
import { Tensor, Tuple, type IValue } from '@cresset/tensor';
import { Tensor as PageTensor } from '../page/values/tensor.ts';
import type { Output } from '../page/values/value.ts';
import { lineDifferences } from './line-differences.ts';
import type { MethodInputs, RecordedTrace, TraceRecorder } from './recording.ts';
import { runtimeTensor } from './runtime-tensor.ts';
import { tensorDifference } from './tensor-difference.ts';

/** Thrown where tracing again gives another graph (PyTorch: TracingCheckError). */
export class TracingCheckError extends CressetError {
  constructor(message: string) {
    super('TRACE_CHECK', message);
    this.name = 'TracingCheckError';
  }
}

/** Runs a method of the traced program, where it was loaded. */
type RunTraced = (method: string, inputs: readonly unknown[]) => Promise<Output>;

/**
 * Traces the program again and compares: what the traced program, the function and the second trace give, which are warnings, and then the graphs
 * (PyTorch: _check_trace). Throws a TracingCheckError where the graphs differ, or a program fails that was traced.
 */
export async function checkTrace(
  recorder: TraceRecorder,
  recorded: RecordedTrace,
  checkInputs: readonly MethodInputs[],
  tolerance: number,
  runTraced: RunTraced,
): Promise<void> {
  for (const name of recorded.methods.keys()) {
    for (const all of checkInputs) {
      const inputs = all[name] ?? [];
      const check = new MethodCheck(recorder, recorded, recorder.record(all), name, tolerance);
      const traced = await check.run('trace', async () => tensorsOf(fromPage(await runTraced(name, inputs))));
      const plain = await check.run('Python function', () =>
        tensorsOf(recorder.record({ [name]: inputs }, () => undefined).methods.get(name)!.outputs),
      );
      if (check.compare(traced, plain, 'Python function')) {
        const again = await check.run('repeated trace', () => tensorsOf(recorder.run(check.second, name, inputs)));
        check.compare(traced, again, 'repeated trace');
      }
      const report = check.graphReport();
      if (report !== '') throw new TracingCheckError(`Tracing failed sanity checks!\n${report}`);
    }
  }
}

/** One method of two traces. */
class MethodCheck {
  readonly #recorder: TraceRecorder;
  readonly #first: Graph;
  readonly second: RecordedTrace;
  readonly #name: string;
  readonly #tolerance: number;

  constructor(recorder: TraceRecorder, first: RecordedTrace, second: RecordedTrace, name: string, tolerance: number) {
    this.#recorder = recorder;
    this.#first = graphOf(first, name);
    this.second = second;
    this.#name = name;
    this.#tolerance = tolerance;
  }

  /** Runs one of the programs. Throws a TracingCheckError where it fails. */
  async run(what: string, program: () => readonly Tensor[] | Promise<readonly Tensor[]>): Promise<readonly Tensor[]> {
    try {
      return await program();
    } catch (error) {
      const message = `encountered an exception while running the ${what} with test inputs.\nException:\n${indent((error as Error).message)}\n`;
      throw new TracingCheckError(`Tracing failed sanity checks!\n${message}${this.graphReport()}`);
    }
  }

  /** Warns of results that are apart; gives whether there are none. */
  compare(given: readonly Tensor[], wanted: readonly Tensor[], what: string): boolean {
    let isAllAlike = true;
    for (const [at, each] of given.entries()) {
      const other = wanted[at];
      const difference = other && tensorDifference(each, other, this.#tolerance);
      if (!difference) continue;
      this.#warnOfRandomNodes();
      this.#recorder.warn(
        `Output nr ${at + 1}. of the traced function does not match the corresponding output of the ${what}. Detailed error:\n${difference}`,
      );
      isAllAlike = false;
    }
    return isAllAlike;
  }

  #warnOfRandomNodes(): void {
    const random = [...this.#first.nodes()].filter((node) => node.isNondeterministic());
    if (random.length === 0) return;
    const nodes = random.slice(0, 20).map((node) => indent(printNode(node).trimEnd()));
    this.#recorder.warn(
      `Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n${nodes.join('\n')}\n` +
        'This may cause errors in trace checking. To disable trace checking, pass check_trace=False to torch.jit.trace()',
    );
  }

  /** How the two graphs differ; empty where they are the same. */
  graphReport(): string {
    const [first, second] = [this.#first, graphOf(this.second, this.#name)].map(comparable) as [Graph, Graph];
    const graphs = textOf(first) === textOf(second) ? '' : graphDifference(first, second);
    const constants = constantDifference(first, second);
    return (
      (graphs && `ERROR: Graphs differed across invocations!\n${indent(graphs)}\n`) +
      (constants &&
        'ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that the tracer has encountered ' +
          `untraceable code.\n${indent(constants)}\n`)
    );
  }
}

const indent = (text: string): string =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => `\t${line}`)
    .join('\n');

const textOf = (graph: Graph): string => `${graph}`.replaceAll(/___torch_mangle_\d+\./g, '');

/** Of a function that stands in a module, what it would be by itself. */
function graphOf({ module: { type } }: RecordedTrace, name: string): Graph {
  return (functionOfPlaceholder(type, name) ?? (type.getMethod(name) as GraphFunction)).graph;
}

function comparable(graph: Graph): Graph {
  const copy = canonicalize(graph);
  inline(copy);
  eraseShapeInformation(copy);
  return copy;
}

/** The two graphs line by line, and the first nodes that differ. */
function graphDifference(first: Graph, second: Graph): string {
  let report = `Graph diff:\n${indent(lineDifferences(textOf(first), textOf(second)))}\n`;
  const others = [...second.nodes()];
  for (const [at, node] of [...first.nodes()].entries()) {
    const other = others[at];
    if (other === undefined) break;
    const [before, after] = [printNode(node), printNode(other)];
    if (before === after) continue;
    report += `First diverging operator:\nNode diff:\n${indent(lineDifferences(before, after))}\n`;
    break;
  }
  return report;
}

/** The first constants that are tensors and not the same. */
function constantDifference(first: Graph, second: Graph): string {
  const others = [...second.nodes()];
  for (const [at, node] of [...first.nodes()].entries()) {
    const other = others[at];
    if (other?.kind !== node.kind) break;
    const [left, right] = [node, other].map(tensorOfConstant);
    if (!left || !right) continue;
    const difference = tensorDifference(left, right);
    if (difference) return `Node:\n${indent(printNode(node))}\nComparison exception: ${indent(difference)}`;
  }
  return '';
}

function tensorOfConstant(node: Node): Tensor | undefined {
  if (node.kind !== 'prim::Constant' || !node.hasAttribute('value')) return undefined;
  const { value } = node.attribute('value');
  return isTensorConstant(value) ? (value as Tensor) : undefined;
}

/** Tensors among the results; what is in containers is not compared (PyTorch: run_mod_and_filter_tensor_outputs). */
function tensorsOf(value: IValue): readonly Tensor[] {
  return (value instanceof Tuple ? value.items : [value]).filter((each) => each instanceof Tensor);
}

/** Results of the page as programs have them, as far as they are compared. */
function fromPage(value: Output): IValue {
  if (value instanceof PageTensor) return runtimeTensor(value);
  return Array.isArray(value) ? new Tuple((value as readonly Output[]).map(fromPage)) : null;
}
