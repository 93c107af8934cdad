import { PythonError } from '../python-arithmetic.ts';
import type { PythonValue } from '../python-value.ts';
import { dictOf, entriesOf, tupleOf } from './containers.ts';
import { BoundMethod, NativeFunction, PythonClass, PythonObject, type Keywords, type NativeCall } from './entities.ts';
import type { Interpreter } from './interpreter.ts';

/** What `field(…)` says. */
const fieldClass = new PythonClass('Field', []);

/** What the module `dataclasses` has. */
export function dataclassMembers(python: Interpreter): Readonly<Record<string, PythonValue | NativeCall>> {
  return {
    dataclass: ([type], kwargs) => {
      const decorate = (each: PythonValue): PythonValue => {
        const made = addMethods(python, each as PythonClass);
        if (kwargs.get('frozen') === true) freeze(python, made);
        return made;
      };
      return type === undefined ? new NativeFunction('dataclass', ([each]) => decorate(each!)) : decorate(type);
    },
    field: (_args, kwargs) => {
      const made = new PythonObject(fieldClass);
      for (const [name, value] of kwargs) made.attributes.set(name, value);
      return made;
    },
    asdict: ([object]) => dictOf((object as PythonObject).attributes),
    astuple: ([object]) => tupleOf((object as PythonObject).attributes.values()),
    fields: ([object]) => tupleOf(fieldsOf(typeOf(object!)).map((name) => fieldNamed(name))),
    is_dataclass: ([value]) => fieldsOf(typeOf(value!)).length > 0,
    replace: ([object], kwargs) => {
      const given = object as PythonObject;
      return python.call(given.type, [], new Map([...given.attributes, ...kwargs]));
    },
  };
}

function typeOf(value: PythonValue): PythonClass {
  return value instanceof PythonObject ? value.type : (value as PythonClass);
}

function fieldNamed(name: string): PythonObject {
  const made = new PythonObject(fieldClass);
  made.attributes.set('name', name);
  return made;
}

/** Names of the fields, those of base classes first. */
function fieldsOf(type: PythonClass): readonly string[] {
  const names = new Set<string>();
  for (const each of type.mro.toReversed()) {
    if (!isDataclass.has(each)) continue;
    for (const [name, annotation] of each.annotations) {
      if (!/^(typing\.)?ClassVar\b/.test(annotation.range.text())) names.add(name);
    }
  }
  return [...names];
}

const isDataclass = new WeakSet<PythonClass>();

function addMethods(python: Interpreter, type: PythonClass): PythonClass {
  isDataclass.add(type);
  const fields = fieldsOf(type);
  const defaults = new Map(fields.map((name) => [name, type.find(name)] as const));
  const method = (name: string, call: NativeCall): void => {
    if (!type.members.has(name)) type.members.set(name, new NativeFunction(name, call));
  };
  method('__init__', ([self, ...args], kwargs) => {
    initialize(python, self as PythonObject, { fields, defaults, args, kwargs });
    return null;
  });
  method('__eq__', ([self, other]) => {
    if (!(other instanceof PythonObject) || other.type !== type) return false;
    const own = (self as PythonObject).attributes;
    return fields.every((name) => python.isTruthy(python.binary('==', own.get(name)!, other.attributes.get(name)!)));
  });
  method('__repr__', ([self]) => {
    const texts = entriesOf(dictOf((self as PythonObject).attributes)).map(
      ([name, value]) => `${name as string}=${python.repr(value)}`,
    );
    return `${type.name}(${texts.join(', ')})`;
  });
  return type;
}

/** Takes from objects of a class that their fields are changed: only `__init__` gives them values. */
function freeze(python: Interpreter, type: PythonClass): void {
  const set = python.object.members.get('__setattr__')!;
  const init = type.members.get('__init__') as NativeFunction;
  const made = new WeakSet<PythonObject>();
  type.members.set(
    '__setattr__',
    new NativeFunction('__setattr__', ([self, name, value]) => {
      if (!made.has(self as PythonObject)) return python.call(set, [self!, name!, value!]);
      throw new PythonError(`cannot assign to field '${name as string}'`, 'AttributeError');
    }),
  );
  type.members.set(
    '__init__',
    new NativeFunction('__init__', (args, kwargs) => {
      const result = init.call(args, kwargs);
      made.add(args[0] as PythonObject);
      return result;
    }),
  );
}

function initialize(
  python: Interpreter,
  self: PythonObject,
  given: {
    readonly fields: readonly string[];
    readonly defaults: ReadonlyMap<string, PythonValue | undefined>;
    readonly args: readonly PythonValue[];
    readonly kwargs: Keywords;
  },
): void {
  const { fields, defaults, args, kwargs } = given;
  for (const name of kwargs.keys()) {
    if (!fields.includes(name)) {
      throw new PythonError(`${self.type.name}.__init__() got an unexpected keyword argument '${name}'`);
    }
  }
  fields.forEach((name, at) => {
    const given = at < args.length ? args[at] : kwargs.get(name);
    const value = given === undefined ? defaultOf(python, defaults.get(name)) : given;
    if (value === undefined) {
      throw new PythonError(`${self.type.name}.__init__() missing 1 required positional argument: '${name}'`);
    }
    python.setAttribute(self, name, value);
  });
  const after = self.type.find('__post_init__');
  if (after !== undefined) python.call(new BoundMethod(self, after), []);
}

function defaultOf(python: Interpreter, value: PythonValue | undefined): PythonValue | undefined {
  if (!(value instanceof PythonObject) || value.type !== fieldClass) return value;
  const factory = value.attributes.get('default_factory');
  return factory === undefined ? value.attributes.get('default') : python.call(factory, []);
}
