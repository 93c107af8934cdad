import {
  AnyType,
  ClassType,
  EnumType,
  Source,
  TensorType,
  TupleType,
  isTensorConstant,
  typeOfPrimitive,
  type Constant,
  type CompilationUnit,
  type GraphFunction,
  type NamedType,
  type Type,
} from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import { dataclassMethods } from './dataclass.ts';
import { declareFunctions, declareProperties, defineInterface, makeTypeParser, type PropertyDef } from '../define.ts';
import { parseProgram } from '../parser/parser.ts';
import type { Resolver } from '../resolver.ts';
import { dottedName, type ScriptTypeParser } from '../script-type-parser.ts';
import { SimpleSelf } from './simple-self.ts';
import type { Assign, ClassDef, Def, Expr } from '../parser/tree.ts';
import { decoratorName, hasDecorator, replaceUnusedBody } from './unused-definition.ts';

/** Makes types of the classes that people write: TorchScript classes, named tuples, enums, interfaces, dataclasses. */
export class ClassDefiner {
  readonly #unit: CompilationUnit;
  readonly #resolver: Resolver;
  readonly #typeParser: ScriptTypeParser;

  constructor(unit: CompilationUnit, resolver: Resolver) {
    this.#unit = unit;
    this.#resolver = resolver;
    this.#typeParser = makeTypeParser(resolver);
  }

  /** Registers the type in the unit and compiles its methods, `__init__` first (PyTorch: _jit_script_class_compile). */
  define(qualifiedName: string, classDef: ClassDef): NamedType {
    const bases = classDef.bases.map((each) => (dottedName(each) ?? '').split('.').at(-1)!);
    const [base = ''] = bases;
    const decorators = classDef.decorators.map(decoratorName);
    if (base === 'NamedTuple') {
      return this.#defineNamedTuple(qualifiedName, classDef);
    }
    // `(int, Enum)` is an enum: what its values are besides makes no difference.
    if (bases.includes('Enum') || bases.includes('IntEnum')) {
      return this.#defineEnum(qualifiedName, classDef);
    }
    if (decorators.some((name) => name.endsWith('interface'))) {
      defineInterface(this.#unit, qualifiedName, classDef, this.#resolver, base === 'Module');
      return this.#unit.getType(qualifiedName)!;
    }
    if (base !== '' && base !== 'object' && decorators.some((name) => /(^|\.)script$/.test(name))) {
      throw compileError(
        classDef.range,
        'TorchScript classes does not support inheritance yet. Please directly inherit from object.',
      );
    }
    return this.#defineClass(qualifiedName, classDef, decorators.includes('dataclass'));
  }

  #defineClass(qualifiedName: string, classDef: ClassDef, isDataclass: boolean): ClassType {
    const members = new ClassMembers(classDef);
    const unresolved = members.assignments
      .filter((assign) => assign.rhs !== undefined && !isFinal(assign))
      .flatMap((assign) => assign.lhsList.flatMap(namesIn));
    const type = new ClassType(qualifiedName, {
      compilationUnit: this.#unit,
      unresolvedClassAttributes: isDataclass ? [] : unresolved,
    });
    this.#unit.registerType(type);
    for (const assign of members.assignments.filter(isFinal)) {
      type.addConstant(dottedName(assign.lhsList[0]!)!, this.#typeParser.parseClassConstant(assign));
    }
    const self = new SimpleSelf(type);
    const options = { prefix: qualifiedName, resolver: this.#resolver, self };
    const synthesized = isDataclass ? this.#dataclassMethods(classDef, members) : [];
    const methods = declareFunctions(this.#unit, [...synthesized, ...members.methods], options);
    declareProperties(this.#unit, members.properties, options);
    this.#declareStaticMethods(type, members.staticMethods);
    methods.find((fn) => fn.name === '__init__')?.ensureDefined();
    for (const fn of [...type.methods, ...type.staticMethods]) {
      (fn as GraphFunction).ensureDefined();
    }
    return type;
  }

  /**
   * Static methods are functions beside their class: a saved class cannot hold them. Functions that are not in a module may still
   * be given the same name, so beside those they get another one.
   */
  #declareStaticMethods(type: ClassType, defs: readonly Def[]): void {
    if (defs.length === 0) return;
    const isInModule = type.qualifiedName.split('.').length > 2;
    const sibling = isInModule ? type.qualifiedName : this.#unit.mangle(type.qualifiedName);
    const prefix = sibling.slice(0, sibling.lastIndexOf('.'));
    const options = { prefix, resolver: this.#resolver, mangle: true };
    for (const fn of declareFunctions(this.#unit, defs, options)) type.addStaticMethod(fn);
  }

  #dataclassMethods(classDef: ClassDef, members: ClassMembers): readonly Def[] {
    const text = dataclassMethods(classDef, members.assignments, new Set(members.methods.map((def) => def.name.name)));
    return parseProgram(new Source(text, '<dataclass>'), 'python') as readonly Def[];
  }

  #defineNamedTuple(qualifiedName: string, classDef: ClassDef): TupleType {
    const names: string[] = [];
    const types: Type[] = [];
    const defaults = new Map<string, unknown>();
    for (const stmt of classDef.body) {
      if (stmt.kind === 'pass' || stmt.kind === 'def') {
        continue;
      }
      const name = stmt.kind === 'assign' ? dottedName(stmt.lhsList[0]!) : undefined;
      if (stmt.kind !== 'assign' || stmt.type === undefined || name === undefined) {
        throw compileError(
          stmt.range,
          'Unexpected statement in NamedTuple body: only attribute annotations are currently supported.',
        );
      }
      names.push(name);
      types.push(this.#typeParser.parseTypeFromExpr(stmt.type));
      if (stmt.rhs !== undefined) {
        const value = this.#typeParser.evaluateDefault(stmt.range, stmt.rhs, stmt.type);
        if (isTensorConstant(value)) throw compileError(stmt.rhs.range, TENSOR_DEFAULT_MESSAGE);
        defaults.set(name, value);
      }
    }
    const type = TupleType.createNamed(qualifiedName, names, types, defaults);
    this.#unit.registerType(type);
    return type;
  }

  #defineEnum(qualifiedName: string, classDef: ClassDef): EnumType {
    const members = this.#enumMembers(classDef);
    const types = new Set(members.map(([, value]) => enumValueType(value)));
    const [valueType] = types;
    if (valueType === undefined) throw compileError(undefined, "No enum values defined for: '<class 'enum.EnumType'>'");
    if (types.size > 1) {
      const [first, second] = [...types].map((type) => type.reprStr());
      throw compileError(
        undefined,
        `Could not unify type list since element 1 of type ${first} did not match the types before it (${second})`,
      );
    }
    const type = new EnumType(qualifiedName, valueType, members, this.#unit);
    this.#unit.registerType(type);
    return type;
  }

  /** Names with their values, which see those before them. A second name of a value is none to PyTorch. */
  #enumMembers(classDef: ClassDef): readonly (readonly [string, Constant])[] {
    const known = new Map<string, Constant>();
    const members: [string, Constant][] = [];
    for (const stmt of classDef.body) {
      if (stmt.kind !== 'assign' || stmt.rhs === undefined) continue;
      const { range, rhs } = stmt;
      const isAuto = rhs.kind === 'apply' && /^(enum\.)?auto$/.test(dottedName(rhs.callee) ?? '');
      const value = isAuto ? nextEnumValue(known) : this.#typeParser.evaluateDefault(range, rhs, undefined, known);
      const name = dottedName(stmt.lhsList[0]!)!;
      if (![...known.values()].includes(value)) members.push([name, value]);
      known.set(name, value);
    }
    return members;
  }
}

/** The names that an assignment gives values, of patterns too. */
function namesIn(pattern: Expr): readonly string[] {
  if (pattern.kind === 'tuple' || pattern.kind === 'list') return pattern.inputs.flatMap(namesIn);
  return [dottedName(pattern) ?? ''];
}

/** `auto()` */
function nextEnumValue(known: ReadonlyMap<string, Constant>): bigint {
  const numbers = [...known.values()].filter((value) => typeof value === 'bigint');
  return numbers.reduce((highest, value) => (value > highest ? value : highest), 0n) + 1n;
}

const TENSOR_DEFAULT_MESSAGE =
  'Tensors are not supported as default NamedTuple fields. Their mutability could lead to potential memory aliasing problems';

/** The type that the class of a member's value has as an annotation. */
function enumValueType(value: unknown): Type {
  return typeOfPrimitive(value) ?? (isTensorConstant(value) ? TensorType.get() : AnyType.get());
}

function isFinal(assign: Assign): boolean {
  return (
    assign.type?.kind === 'subscript' &&
    /(^|\.)Final$/.test(dottedName(assign.type.value) ?? '') &&
    assign.rhs !== undefined
  );
}

/** The statements of a class's body, sorted by what they define. */
class ClassMembers {
  readonly methods: Def[] = [];
  readonly staticMethods: Def[] = [];
  readonly properties: PropertyDef[] = [];
  readonly assignments: Assign[] = [];

  constructor(classDef: ClassDef) {
    const setters = new Map<string, Def>();
    const getters: Def[] = [];
    for (const stmt of classDef.body) {
      if (stmt.kind === 'assign') {
        this.assignments.push(stmt);
      } else if (stmt.kind === 'def') {
        this.#sort(stmt, getters, setters);
      } else if (stmt.kind !== 'pass') {
        throw compileError(stmt.range, `Unexpected statement kind in class body: ${stmt.kind}`);
      }
    }
    for (const getter of getters) {
      const name = getter.name.name;
      const setter = setters.get(name);
      this.properties.push({
        name,
        getter: renamed(getter, `__${name}_getter`),
        setter: setter === undefined ? undefined : renamed(setter, `__${name}_setter`),
      });
    }
  }

  #sort(def: Def, getters: Def[], setters: Map<string, Def>): void {
    const decorators = def.decorators.map(decoratorName);
    // It exists in Python only.
    if (hasDecorator(def, 'ignore')) {
      return;
    }
    if (decorators.includes('staticmethod')) {
      this.staticMethods.push(def);
    } else if (decorators.includes('property')) {
      getters.push(def);
    } else if (decorators.some((name) => name.endsWith('.setter'))) {
      setters.set(def.name.name, def);
    } else {
      this.methods.push(replaceUnusedBody(def));
    }
  }
}

function renamed(def: Def, name: string): Def {
  return { ...def, name: { ...def.name, name } };
}
