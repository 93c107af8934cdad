import { DependencyTable, PythonPrint } from '@cresset/archive';
import { type ClassType, CressetError, GraphFunction } from '@cresset/ir';
import type { HostedModel } from '../worker/hosted-model.ts';

/** The Python text of a method or function (`.code` of torch.jit.ScriptModule and ScriptFunction), of a class where there is no `method`. */
export function pythonText(model: HostedModel, module: string, method: string | null): string {
  const printer = new PythonPrint([], new DependencyTable());
  if (method === null) {
    printer.printNamedType(model.receiver(module).type satisfies ClassType);
    return printer.toString();
  }
  const { fn, receiver } = model.callee(module, method);
  if (!(fn instanceof GraphFunction)) throw new CressetError('NO_CODE', `${fn.qualifiedName} has no code`);
  if (receiver) printer.printMethod(fn);
  else printer.printFunction(fn);
  return printer.toString();
}
