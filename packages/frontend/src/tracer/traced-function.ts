import {
  Argument,
  CressetError,
  FunctionSchema,
  GraphFunction,
  unshapedType,
  type ClassType,
  type Graph,
} from '@cresset/ir';

/** A function, or a method, of a traced graph: its schema is what the graph's inputs and outputs say (PyTorch: defaultSchemaFor). */
export function tracedFunction(qualifiedName: string, graph: Graph): GraphFunction {
  const fn = new GraphFunction(qualifiedName, graph);
  const args = graph.inputs.map(
    (input, index) =>
      new Argument(input.hasDebugName() ? input.debugNameBase : `argument_${index}`, unshapedType(input.type)),
  );
  const returns = graph.outputs.map((output) => new Argument('', unshapedType(output.type)));
  return fn.setSchema(new FunctionSchema(fn.name, '', args, returns));
}

/** What PyTorch calls the module of one function: its `forward`, which has no use for `self`. */
const PLACEHOLDER = /^__torch__\.(?:.*\.)?PlaceholderModule$/;

/** The function that a module stands for, which was made to save or trace one; undefined for modules that are more. */
export function functionOfPlaceholder(type: ClassType, qualifiedName: string): GraphFunction | undefined {
  const forward = type.findMethod('forward');
  if (!PLACEHOLDER.test(type.qualifiedName) || !(forward instanceof GraphFunction)) return undefined;
  const graph = forward.graph.copy();
  if (graph.inputs[0]!.hasUses()) return undefined;
  graph.eraseInput(0);
  const { arguments: args, returns } = forward.schema;
  const fn = new GraphFunction(qualifiedName, graph);
  return fn.setSchema(new FunctionSchema(fn.name, '', args.slice(1), returns));
}

/** Thrown where tracing again gives another graph (PyTorch: TracingCheckError). */
export class TracingCheckError extends CressetError {
  constructor(message: string) {
    super('TRACE_CHECK', message);
    this.name = 'TracingCheckError';
  }
}

/**
 * Compares what two traces of one program recorded (PyTorch: _check_trace). `first` and `second` are graphs in canonical form; throws a
 * TracingCheckError that shows where they differ.
 */
export function checkSameGraph(first: Graph, second: Graph): void {
  const [before, after] = [first, second].map((graph) => `${graph}`.split('\n')) as [string[], string[]];
  if (before.join('\n') === after.join('\n')) {
    return;
  }
  const withoutTensors = [before, after].map((lines) => lines.map(withoutConstantTensor).join('\n'));
  const report =
    withoutTensors[0] === withoutTensors[1]
      ? 'ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that the tracer has encountered ' +
        `untraceable code.\n${indent(differences(before, after))}`
      : `ERROR: Graphs differed across invocations!\n\tGraph diff:\n${indent(differences(before, after))}`;
  throw new TracingCheckError(`Tracing failed sanity checks!\n${report}`);
}

function withoutConstantTensor(line: string): string {
  return line.includes(' : Tensor') || /\bstrides=|device=cpu\)/.test(line)
    ? line.replace(/prim::Constant\[value=.*\]\(\)$/, 'prim::Constant')
    : line;
}

const indent = (lines: readonly string[]): string => lines.map((line) => `\t\t${line}`).join('\n');

/** Lines of the two texts as a diff shows them: what both have in common at the beginning and the end stands once. */
function differences(before: readonly string[], after: readonly string[]): readonly string[] {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start++;
  let end = 0;
  const longest = Math.min(before.length, after.length) - start;
  while (end < longest && before.at(-1 - end) === after.at(-1 - end)) end++;
  return [
    ...before.slice(0, start).map((line) => `  ${line}`),
    ...before.slice(start, before.length - end).map((line) => `- ${line}`),
    ...after.slice(start, after.length - end).map((line) => `+ ${line}`),
    ...before.slice(before.length - end).map((line) => `  ${line}`),
  ];
}
