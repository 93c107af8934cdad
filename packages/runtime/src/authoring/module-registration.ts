import { newContainerClass } from '@cresset/frontend';
import { CressetError, TensorType, type Type } from '@cresset/ir';
import { Tensor, type IValue, type ScriptObject, typeOfValue } from '@cresset/tensor';
import { collectModules } from '../worker/hosted-model.ts';
import type { Registration, WireModule, WireValue } from '../worker/wire/protocol.ts';
import type { WireReader } from '../worker/wire/wire-value.ts';
import type { WorkerHost } from '../worker/worker-host.ts';
import { moduleOfClass, type AuthoredModule } from './source-program.ts';

/**
 * Gives a module a parameter, buffer, attribute, constant or submodule (`register_parameter`, `register_buffer`, `register_attribute`,
 * `register_module` of torch.jit.ScriptModule). Throws where the name is taken, where the
 * type means none, or where the value is of another.
 */
export function registerInModule(
  program: AuthoredModule,
  name: string,
  registration: Registration,
  host: WorkerHost,
): void {
  if (!/^[^.]+$/.test(name)) throw new CressetError('NAME', `'${name}' cannot be the name of something in a module`);
  const { module } = program;
  const reader = program.reader();
  switch (registration.kind) {
    case 'parameter':
    case 'buffer': {
      const tensor = readAs(reader, registration.value, TensorType.get(), name) as Tensor;
      tensor.requiresGrad = registration.kind === 'parameter' && registration.requiresGrad;
      add(module, name, TensorType.get(), tensor, registration.kind);
      break;
    }
    case 'attribute': {
      const type = program.parseType(registration.type);
      add(module, name, type, readAs(reader, registration.value, type, name));
      break;
    }
    case 'constant': {
      const { type } = registration;
      const constantType = type === null ? null : program.parseType(type);
      const value = constantType
        ? readAs(reader, registration.value, constantType, name)
        : reader.inferred(registration.value);
      if (typeOfValue(value) === null) throw new CressetError('ARGUMENT_TYPE', `constant '${name}' has no type`);
      module.type.addConstant(name, value);
      break;
    }
    case 'module': {
      const child = moduleOf(registration.module, program, host);
      add(module, name, child.type, child);
      for (const [path, below] of collectModules(module)) program.modules.set(path, below);
      break;
    }
  }
}

/** Gives an attribute of a module another value. Throws where there is none of that name, or the value is of another type. */
export function setAttribute(module: ScriptObject, name: string, value: WireValue, reader: WireReader): void {
  const slot = attributeSlot(module, name);
  const { type, kind } = module.type.attributes[slot]!;
  const given = readAs(reader, value, type, name);
  if (given instanceof Tensor) given.requiresGrad = kind === 'parameter';
  module.slots[slot] = given;
}

/** Where an attribute is. Throws `NO_ATTRIBUTE` where there is none of that name. */
export function attributeSlot({ type }: ScriptObject, name: string): number {
  const slot = type.findAttributeSlot(name);
  if (slot === undefined) {
    throw new CressetError('NO_ATTRIBUTE', `${type.reprStr()} does not have an attribute with name '${name}'`);
  }
  return slot;
}

function readAs(reader: WireReader, value: WireValue, type: Type, name: string): IValue {
  return reader.value(value, type, 'register', name);
}

function add(
  object: ScriptObject,
  name: string,
  type: Type,
  value: IValue,
  kind?: 'attribute' | 'parameter' | 'buffer',
): void {
  const slot = object.type.addAttribute(name, type, kind);
  object.slots[slot] = value;
}

function moduleOf(wire: WireModule, program: AuthoredModule, host: WorkerHost): ScriptObject {
  if (wire.kind === 'module') {
    const module = host.model(wire.model).receiver(wire.path);
    if (!module.type.isModule()) throw new CressetError('NO_MODULE', `${module.type.reprStr()} is no module`);
    program.shared.push(module);
    return module;
  }
  const modules = wire.modules.map(([name, module]) => [name, moduleOf(module, program, host)] as const);
  const type = newContainerClass(
    program.unit,
    wire.kind,
    modules.map(([name, module]) => [name, module.type] as const),
  );
  const container = moduleOfClass(type);
  for (const [name, module] of modules) container.setAttribute(name, module);
  return container;
}
