import { ClassType, DictType, ErrorReport, ListType, TupleType, type NamedType, type Type } from '@cresset/ir';
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
    // PyTorch infers of a named tuple that it is a tuple.
    const type = expected === undefined ? null : value.type;
    const isSame = type === value.type && items.every((item, at) => item === value.items[at]);
    return isSame ? value : new Tuple(items, type);
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
  const type = compiledClassOf(program, object, expected);
  if (!(type instanceof ClassType)) throw new InferenceError(`Tracer cannot infer type of ${object.pythonType}\n:`);
  const made = new ScriptObject(type);
  for (const { name, type: attributeType } of type.attributes) {
    const value = object.attributes.get(name);
    if (value === undefined) continue;
    made.setAttribute(name, castToType(valueForScript(program, value, attributeType), attributeType));
  }
  return made;
}

/** The class that an object's is compiled to; undefined where it does not compile, as configurations mostly do not. */
function compiledClassOf(
  program: ScriptProgram,
  { type }: PythonObject,
  expected: Type | undefined,
): NamedType | undefined {
  const isExpected = ['ClassType', 'OptionalType', 'InterfaceType', 'AnyType'].includes(expected?.kind ?? '');
  const decorators = type.definition?.def.decorators.map(decoratorName) ?? [];
  if (program.python.isModuleClass(type) || (!isExpected && decorators.some((name) => /(^|\.)dataclass$/.test(name)))) {
    return undefined;
  }
  try {
    return program.typeOf(type);
  } catch (error) {
    if (error instanceof ErrorReport && !isExpected) return undefined;
    throw error;
  }
}
