import { type ClassAttributeKind, ClassType, type CompilationUnit, Graph, GraphFunction, type Type } from '@cresset/ir';
import { ScriptObject, type IValue } from '@cresset/tensor';

/**
 * A module like another one, with modules below it and classes of its own, which can be changed without the other's knowing
 * (PyTorch: Module::clone). Attributes that are no modules are those of the other. Methods are copied when they are first needed.
 */
export function cloneModule(module: ScriptObject, unit: CompilationUnit): ScriptObject {
  return new ModuleCloner(unit).clone(module);
}

class ModuleCloner {
  readonly #types = new Map<ClassType, ClassType>();
  readonly #objects = new Map<ScriptObject, ScriptObject>();

  constructor(private readonly unit: CompilationUnit) {}

  clone(module: ScriptObject): ScriptObject {
    const known = this.#objects.get(module);
    if (known) return known;
    const isNewType = !this.#types.has(module.type);
    const type = this.#typeOf(module.type);
    const clone = new ScriptObject(type, []);
    this.#objects.set(module, clone);
    module.type.attributes.forEach(({ name, type: declared, kind }, slot) => {
      const value = this.#cloneOf(module.slots[slot]);
      clone.slots.push(value);
      if (isNewType) this.#addAttribute(type, name, declared, kind, value);
    });
    return clone;
  }

  /** Behind an interface may stand a module of another class in each object. */
  #addAttribute(type: ClassType, name: string, declared: Type, kind: ClassAttributeKind, value: IValue): void {
    const isModule = declared instanceof ClassType && declared.isModule() && value instanceof ScriptObject;
    type.addAttribute(name, isModule ? value.type : declared, kind);
  }

  #cloneOf(value: IValue): IValue {
    return value instanceof ScriptObject && value.type.isModule() ? this.clone(value) : value;
  }

  #typeOf(original: ClassType): ClassType {
    const known = this.#types.get(original);
    if (known) return known;
    const { unit } = this;
    const type = new ClassType(unit.mangle(original.qualifiedName), { isModule: true, compilationUnit: unit });
    unit.registerType(type);
    this.#types.set(original, type);
    for (const [name, value] of original.constants) type.addConstant(name, value);
    for (const method of original.methods) {
      if (method instanceof GraphFunction) type.addMethod(this.#cloneMethod(method, type));
    }
    return type;
  }

  #cloneMethod(method: GraphFunction, type: ClassType): GraphFunction {
    const map = (each: Type): Type => this.#mapped(each);
    const fill = (clone: GraphFunction): void => {
      const { graphBeingDefined: graph } = clone;
      graph.opVersion = method.graph.opVersion;
      graph.block.cloneFrom(method.graph.block, (value) => value);
      graph.remapTypes(map);
      clone.setSchema(method.schema.cloneWithRemappedTypes(map));
    };
    const name = `${type.qualifiedName}.${method.name}`;
    return this.unit.registerFunction(new GraphFunction(name, new Graph(), fill));
  }

  #mapped(type: Type): Type {
    if (type instanceof ClassType) return this.#types.get(type) ?? type;
    const contained = type.containedTypes();
    return contained.length === 0 ? type : type.withContained(contained.map((each) => this.#mapped(each)));
  }
}
