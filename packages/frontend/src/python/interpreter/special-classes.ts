import { EnumType, TupleType } from '@cresset/ir';
import { Dict, EnumValue, Tuple, type IValue } from '@cresset/tensor';
import type { ClassDef } from '../../parser/tree.ts';
import { PythonError } from '../python-arithmetic.ts';
import type { PythonValue } from '../python-value.ts';
import { dictOf, tupleOf } from './containers.ts';
import { NativeFunction, PythonClass } from './entities.ts';
import type { Interpreter } from './interpreter.ts';
import type { Scope } from './scope.ts';

/** Classes whose bases make them something else: enums and named tuples, which are types of the program. */
export class SpecialClasses {
  readonly #python: Interpreter;
  readonly enumClass: PythonClass;
  readonly namedTupleClass: PythonClass;

  constructor(python: Interpreter) {
    this.#python = python;
    this.enumClass = new PythonClass('Enum', [python.object]);
    this.namedTupleClass = new PythonClass('NamedTuple', [python.object], {
      construct: ([name, fields]) => this.namedTuple(name as string, fields!),
    });
  }

  /** Such a class; undefined for others. */
  specialClass(def: ClassDef, bases: readonly PythonClass[], scope: Scope): PythonValue | undefined {
    if (bases.some((base) => base.isSubclassOf(this.enumClass))) return this.#enum(def, scope);
    if (bases.includes(this.namedTupleClass)) return this.#namedTupleClass(def, scope);
    return undefined;
  }

  #enum(def: ClassDef, scope: Scope): PythonClass {
    const { host } = this.#python;
    const memberOf = (name: string): PythonValue | undefined => {
      const compiled = host.typeOf(type);
      if (!(compiled instanceof EnumType)) return undefined;
      if (name !== '__members__') return EnumValue.of(compiled, name);
      return dictOf(compiled.members.map(([each]) => [each, EnumValue.of(compiled, each)!] as const));
    };
    const byValue = (value: PythonValue): PythonValue => {
      const members = memberOf('__members__') as Dict;
      const found = [...members.entries.values()].find(
        (member) => this.#python.binary('==', (member as EnumValue).value, value) === true,
      );
      if (found === undefined)
        throw new PythonError(`${this.#python.repr(value)} is not a valid ${def.name.name}`, 'ValueError');
      return found;
    };
    const type: PythonClass = new PythonClass(
      def.name.name,
      [this.enumClass],
      {
        getAttribute: memberOf,
        construct: ([value]) => byValue(value!),
        isInstance: (value) => value instanceof EnumValue && value.type === host.typeOf(type),
      },
      { def, scope },
    );
    return type;
  }

  #namedTupleClass(def: ClassDef, scope: Scope): PythonClass {
    const { host } = this.#python;
    const type: PythonClass = this.#tupleClass(def.name.name, () => host.typeOf(type) as TupleType, { def, scope });
    return type;
  }

  #tupleClass(name: string, typeOf: () => TupleType, definition?: PythonClass['definition']): PythonClass {
    const python = this.#python;
    return new PythonClass(
      name,
      [this.namedTupleClass],
      {
        construct: (args, kwargs) => {
          const type = typeOf();
          const { fieldNames = [], fieldDefaults } = type.named ?? {};
          const items = fieldNames.map((field, at) => {
            const own = at < args.length ? args[at] : kwargs.get(field);
            const given = own === undefined ? (fieldDefaults?.get(field) as PythonValue | undefined) : own;
            if (given !== undefined) return given;
            throw new PythonError(`${name}.__new__() missing 1 required positional argument: '${field}'`);
          });
          return new Tuple(items as readonly IValue[], type);
        },
        isInstance: (value) => value instanceof Tuple && value.type === typeOf(),
        typeOf,
        getAttribute: (field) => {
          if (field === '_fields') return tupleOf(typeOf().fieldNames ?? []);
          return field === '_make'
            ? new NativeFunction(field, ([items]) => new Tuple([...python.iterate(items!)] as IValue[], typeOf()))
            : undefined;
        },
      },
      definition,
    );
  }

  /** `NamedTuple('P', [('x', int)])` and `namedtuple('P', 'x y')`. */

  namedTuple(name: string, fields: PythonValue, defaults: readonly PythonValue[] = []): PythonClass {
    const python = this.#python;
    const listed =
      typeof fields === 'string' ? fields.split(/[\s,]+/).filter((each) => each !== '') : [...python.iterate(fields)];
    const pairs = listed.map((field) =>
      typeof field === 'string' ? ([field, undefined] as const) : ([...python.iterate(field)] as [string, PythonValue]),
    );
    const names = pairs.map(([field]) => field);
    const withDefault = names.slice(names.length - defaults.length);
    let made: TupleType | undefined;
    const type = this.#tupleClass(name, () => (made ??= make()));
    // Types may be given afterwards, as `__annotations__`.
    const make = (): TupleType => {
      const given = type.members.get('__annotations__');
      const typed = given instanceof Dict ? given.entries : new Map<string, PythonValue>();
      const compiled = TupleType.createNamed(
        python.host.qualifiedName(name),
        names,
        pairs.map(([field, own]) => python.host.annotationType(typed.get(field) ?? own)),
        new Map(withDefault.map((field, at) => [field, defaults[at]])),
      );
      python.host.registerType(compiled);
      return compiled;
    };
    return type;
  }
}
