import { Argument, BoolType, ClassType, CompilationUnit, FunctionSchema, GraphFunction } from '@cresset/ir';
import { ScriptObject } from '@cresset/tensor';

/** A module whose `forward` is a function: a file holds nothing else (PyTorch: ScriptFunction.save). */
export function functionModule({ graph, schema }: GraphFunction): ScriptObject {
  const unit = new CompilationUnit();
  const type = new ClassType('__torch__.PlaceholderModule', { isModule: true, compilationUnit: unit });
  unit.registerType(type);
  type.addAttribute('training', BoolType.get());
  const forward = graph.copy();
  forward.insertInput(0, 'self').setType(type);
  const method = new GraphFunction(`${type.qualifiedName}.forward`, forward);
  const args = [new Argument('self', type), ...schema.arguments];
  type.addMethod(unit.registerFunction(method.setSchema(new FunctionSchema('forward', '', args, schema.returns))));
  const module = new ScriptObject(type);
  module.setAttribute('training', true);
  return module;
}
