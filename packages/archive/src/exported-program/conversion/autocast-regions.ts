import { BoolType, ClassType, type CompilationUnit, IntType, Source, StringType, type Value } from '@cresset/ir';
import { declareFunctions, Parser, SimpleSelf, type Resolver } from '@cresset/frontend';
import { toByteString } from '@cresset/tensor';
import type { GraphConverter } from './graph-converter.ts';
import { malformed, type SerializedNode } from './serialized-node.ts';

/** The class that TorchScript has for `torch.autocast`, by which a pass knows its regions. */
const CLASS_NAME = '__torch__.torch.amp.autocast_mode.autocast';

const METHODS = `def __enter__(self) -> None:
  return None
def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
  return None
`;

/** `wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, *operands)`: the graph within `with torch.autocast(…)`. */
export function convertAutocast(converter: GraphConverter, { inputs }: SerializedNode): readonly Value[] {
  const { graph } = converter;
  const [device, dtype, enabled, , body, ...operands] = inputs;
  if (typeof device.value !== 'string') malformed('an autocast names no device');
  const values = operands.map((operand) => converter.arguments.value(operand, null));
  const object = graph.insertNode(graph.createObject(autocastClass(converter.unit))).output();
  const set = (name: string, value: Value): void => void graph.insertNode(graph.createSetAttr(object, name, value));
  set('_enabled', converter.arguments.value(enabled, BoolType.get()));
  set('device', graph.insertConstant(toByteString(device.value)));
  set('fast_dtype', converter.arguments.value(dtype, null));
  graph.insertNode(graph.create('prim::Enter', [object])).output();
  const results = converter.inline(body, values);
  const none = graph.insertConstant(null);
  graph.insertNode(graph.create('prim::Exit', [object, none, none, none]));
  return results;
}

function autocastClass(unit: CompilationUnit): ClassType {
  const known = unit.getClass(CLASS_NAME);
  if (known) return known;
  const type = new ClassType(CLASS_NAME, { compilationUnit: unit });
  unit.registerType(type);
  type.addAttribute('_enabled', BoolType.get());
  type.addAttribute('device', StringType.get());
  type.addAttribute('fast_dtype', IntType.get());
  const resolver: Resolver = { resolveType: () => undefined, resolveValue: () => undefined };
  const definitions = new Parser(new Source(METHODS), 'python').parseDefinitions(true);
  declareFunctions(unit, definitions, { prefix: CLASS_NAME, resolver, self: new SimpleSelf(type) });
  return type;
}
