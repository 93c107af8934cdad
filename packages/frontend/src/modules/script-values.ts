import { ClassType, DictType, ListType, TupleType, type Type } from '@cresset/ir';
import { Dict, List, ScriptObject, Tuple, type DictKey, type IValue } from '@cresset/tensor';
import { decoratorName } from './unused-definition.ts';
import { entriesOf, itemsIn } from '../python/interpreter/containers.ts';
import { PythonObject } from '../python/interpreter/entities.ts';
import { castToType, InferenceError, PythonEntity, TorchCode, type PythonValue } from '../python/python-value.ts';
import type { ScriptProgram } from './script-program.ts';

/**
 * A value of Python's as the program holds it: objects of TorchScript classes become objects of their compiled classes (PyTorch:
 * create_script_class). Throws a CastError for what the program has no value for.
 *
 * @param expected the type it is to be of, where that is known
 */
export function valueForScript(program: ScriptProgram, value: PythonValue, expected?: Type): IValue {
  if (value instanceof TorchCode) return value.code;
  if (value instanceof PythonObject) return objectForScript(program, value, expected);
  if (value instanceof PythonEntity) throw new InferenceError(`Tracer cannot infer type of ${value.pythonType}\n:`);
  if (value instanceof List) {
    const element = expected instanceof ListType ? expected.elementType : undefined;
    const items = itemsIn(value).map((item) => valueForScript(program, item, element));
    return items.every((item, at) => item === value.items[at]) ? value : new List(value.elementType, items);
  }
  if (value instanceof Tuple) {
    const elements = expected instanceof TupleType ? expected.elements : [];
    const items = itemsIn(value).map((item, at) => valueForScript(program, item, elements[at]));
    return items.every((item, at) => item === value.items[at]) ? value : new Tuple(items, value.type);
  }
  if (value instanceof Dict) {
    const element = expected instanceof DictType ? expected.valueType : undefined;
    const entries = entriesOf(value).map(
      ([key, item]) => [key as DictKey, valueForScript(program, item, element)] as const,
    );
    return new Dict(value.keyType, value.valueType, new Map(entries));
  }
  return value;
}

function objectForScript(program: ScriptProgram, object: PythonObject, expected: Type | undefined): IValue {
  const isExpected = ['ClassType', 'OptionalType', 'InterfaceType', 'AnyType'].includes(expected?.kind ?? '');
  const type = isExpected || isScripted(object) ? program.typeOf(object.type) : undefined;
  if (!(type instanceof ClassType)) throw new InferenceError(`Tracer cannot infer type of ${object.pythonType}\n:`);
  const made = new ScriptObject(type);
  for (const { name, type: attributeType } of type.attributes) {
    const value = object.attributes.get(name);
    if (value === undefined) continue;
    made.setAttribute(name, castToType(valueForScript(program, value, attributeType), attributeType));
  }
  return made;
}

/** `@torch.jit.script` */
function isScripted({ type }: PythonObject): boolean {
  const decorators = type.definition?.def.decorators ?? [];
  return decorators.some((decorator) => /(^|\.)script$/.test(decoratorName(decorator)));
}
