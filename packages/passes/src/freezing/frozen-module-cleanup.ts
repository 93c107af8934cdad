import type { ClassType, CompilationUnit, GraphFunction, Node } from '@cresset/ir';
import { ScriptObject } from '@cresset/tensor';
import type { PreservedAttributes } from './module-attributes.ts';

/** What is kept of a module whose methods have their attributes as constants. */
export interface FrozenContents {
  readonly methods: ReadonlySet<GraphFunction>;
  readonly preserved: PreservedAttributes;
  /** Modules of which everything stays. */
  readonly wholeModules: ReadonlySet<ScriptObject>;
  /** Attributes that lead to what stays. */
  readonly onTheWay: readonly (readonly [owner: ScriptObject, name: string])[];
}

/** Takes attributes, modules and methods away that no kept method needs (PyTorch: cleanupFrozenModule). */
export function cleanUpFrozenModule(module: ScriptObject, unit: CompilationUnit, contents: FrozenContents): void {
  const { methods, preserved } = contents;
  for (const { graph } of methods) keepReadAttributes([...graph.allNodes()], module, preserved);
  for (const [owner, name] of contents.onTheWay) preserved.add(owner, name);
  const kept = new Map<ClassType, KeptClass>();
  collectKept(module, contents, kept);
  for (const [type, keptClass] of kept) if (!keptClass.isWhole) removeTheRest(type, keptClass, methods, unit);
}

interface KeptClass {
  isWhole: boolean;
  readonly objects: Set<ScriptObject>;
  readonly attributes: Set<string>;
}

/** Which of the modules of a class a graph means is not asked: the attribute stays in all. */
function keepReadAttributes(nodes: readonly Node[], self: ScriptObject, preserved: PreservedAttributes): void {
  const modules = new Set([self]);
  for (const node of nodes) {
    if (node.kind === 'prim::fork') keepReadAttributes([...node.g('Subgraph').allNodes()], self, preserved);
    if (node.kind !== 'prim::GetAttr' && node.kind !== 'prim::SetAttr') continue;
    const name = node.s('name');
    for (const module of modules) {
      if (!module.type.equals(node.input(0).type)) continue;
      preserved.add(module, name);
      const value = module.getAttribute(name);
      if (value instanceof ScriptObject && value.type.isModule()) modules.add(value);
    }
  }
}

function collectKept(module: ScriptObject, contents: FrozenContents, kept: Map<ClassType, KeptClass>): void {
  const { type } = module;
  let known = kept.get(type);
  if (!known) kept.set(type, (known = { isWhole: false, objects: new Set(), attributes: new Set() }));
  if (known.objects.has(module)) return;
  known.objects.add(module);
  if (contents.wholeModules.has(module) || escapes(module, contents.methods)) {
    known.isWhole = true;
    return;
  }
  for (const { name } of type.attributes) {
    if (!contents.preserved.has(module, name)) continue;
    known.attributes.add(name);
    const value = module.getAttribute(name);
    if (value instanceof ScriptObject && value.type.isModule()) collectKept(value, contents, kept);
  }
}

const escapes = ({ type }: ScriptObject, methods: ReadonlySet<GraphFunction>): boolean =>
  [...methods].some(({ graph }) => graph.outputs.some((output) => type.isSubtypeOf(output.type)));

function removeTheRest(
  type: ClassType,
  { objects, attributes }: KeptClass,
  methods: ReadonlySet<GraphFunction>,
  unit: CompilationUnit,
): void {
  for (const { name } of type.attributes.filter((each) => !attributes.has(each.name))) {
    const slot = type.getAttributeSlot(name);
    for (const object of objects) object.slots.splice(slot, 1);
    type.removeAttribute(name);
  }
  for (const method of type.methods.filter((each) => !methods.has(each as GraphFunction))) {
    type.removeMethod(method.name);
    unit.removeFunction(method.qualifiedName);
  }
}
