import { Argument, FunctionSchema, GraphFunction, unshapedType, type ClassType, type Graph } from '@cresset/ir';

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
