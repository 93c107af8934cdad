import {
  type ClassAttributeKind,
  ClassType,
  CompilationUnit,
  CressetError,
  EnumType,
  findCustomClass,
  FloatType,
  type GraphFunction,
  IntType,
  isCustomClass,
  type NamedType,
  type Source,
  type SourceRange,
  StringType,
  TupleType,
  type Type,
  unshapedType,
} from '@cresset/ir';
import {
  type Assign,
  type ClassDef,
  ClassValue,
  compileError,
  declareFunctions,
  declareHooks,
  type Def,
  type DefineOptions,
  defineInterface,
  type Expr,
  FunctionValue,
  makeTypeParser,
  NamedTupleConstructor,
  Parser,
  resolvePrintedName,
  type Resolver,
  type ScriptTypeParser,
  SimpleSelf,
  SimpleValue,
  SugaredEnumClass,
  SugaredValue,
} from '@cresset/frontend';
import type { IValue } from '@cresset/tensor';

/** Where an importer gets what it compiles. */
export interface ImportedArchive {
  /** A file of code by its place below `code/`: `__torch__/net.py`; undefined where there is none. */
  sourceOf(file: string): Source | undefined;
  /** What `CONSTANTS.c0`, `CONSTANTS.c1`, … are. */
  readonly constants: readonly IValue[];
  /** Decides what `torch.div` and others mean in this file. */
  readonly formatVersion: number;
}

const ROOT = '__torch__';

/** The error for an object of a class that is written in C++. */
export function customClassError(qualifiedName: string): CressetError {
  const name = qualifiedName.slice('__torch__.'.length);
  return new CressetError('UNSUPPORTED_CUSTOM_CLASS', `the file uses the C++ class '${name}', which is not here`);
}

/**
 * Compiles the code of an archive into one CompilationUnit, each class and function when its qualified name is first asked for
 * (torch::jit::SourceImporter). A file may name what stands further down or in another file: the text is parsed whole, and the
 * definitions wait.
 */
export class SourceImporter implements Resolver {
  readonly unit = new CompilationUnit();
  readonly #archive: ImportedArchive;
  readonly #typeParser: ScriptTypeParser;
  readonly #parsedFiles = new Set<string>();
  /** Definitions that have been parsed and not yet compiled, by qualified name. */
  readonly #waiting = new Map<string, ClassDef | Def>();
  readonly #constantTable: ConstantTable;

  constructor(archive: ImportedArchive) {
    this.#archive = archive;
    this.#typeParser = makeTypeParser(this);
    this.#constantTable = new ConstantTable(archive.constants);
  }

  /** The class, interface, enum or named tuple of that name; undefined where the archive has none. */
  findType(qualifiedName: string): NamedType | undefined {
    const definition = this.#take(qualifiedName, 'class');
    if (definition) this.#importNamedType(qualifiedName, definition);
    return this.unit.getType(qualifiedName);
  }

  /** The function of that name; undefined where the archive has none. */
  findFunction(qualifiedName: string): GraphFunction | undefined {
    const definition = this.#take(qualifiedName, 'def');
    if (definition) declareFunctions(this.unit, [definition], this.#optionsFor(prefixOf(qualifiedName)));
    return this.unit.findFunction(qualifiedName);
  }

  /** The type that a text names, as in a `restore_type_tag`. */
  parseType(text: string): Type {
    return this.#typeParser.parseType(text);
  }

  // ---- Resolver

  resolveType(name: string): Type | undefined {
    if (!isCustomClass(name)) return this.findType(name);
    const known = findCustomClass(name);
    if (!known) throw customClassError(name);
    return known;
  }

  resolveValue(name: string, fn: GraphFunction, range: SourceRange): SugaredValue | undefined {
    if (name === ROOT) return new Namespace(this, ROOT);
    return name === 'CONSTANTS' ? this.#constantTable : resolvePrintedName(name, fn, range);
  }

  // ---- definitions

  /** Takes a definition from those that wait, having parsed the file it should be in. */
  #take<Kind extends 'class' | 'def'>(
    qualifiedName: string,
    kind: Kind,
  ): Extract<ClassDef | Def, { kind: Kind }> | undefined {
    this.#parseFileOf(prefixOf(qualifiedName));
    const definition = this.#waiting.get(qualifiedName);
    if (definition?.kind !== kind) return undefined;
    this.#waiting.delete(qualifiedName);
    return definition as Extract<ClassDef | Def, { kind: Kind }>;
  }

  #parseFileOf(qualifier: string): void {
    if (this.#parsedFiles.has(qualifier)) return;
    this.#parsedFiles.add(qualifier);
    const source = this.#archive.sourceOf(`${qualifier.replaceAll('.', '/')}.py`);
    if (!source) return;
    for (const definition of new Parser(source, 'serialized').parseDefinitions()) {
      this.#waiting.set(`${qualifier}.${definition.name.name}`, definition);
    }
  }

  #importNamedType(qualifiedName: string, definition: ClassDef): void {
    const { superclass } = definition;
    const base = superclass?.kind === 'var' ? superclass.name.name : '';
    switch (superclass ? base : 'class') {
      case 'class':
        return this.#importClass(qualifiedName, definition, false);
      case 'Module':
        return this.#importClass(qualifiedName, definition, true);
      case 'NamedTuple':
        return this.#importNamedTuple(qualifiedName, definition);
      case 'Enum':
        return this.#importEnum(qualifiedName, definition);
      case 'Interface':
      case 'ModuleInterface':
        defineInterface(this.unit, qualifiedName, definition, this, base === 'ModuleInterface');
        return;
      default:
        throw compileError(definition.range, 'Torchscript does not support class inheritance.');
    }
  }

  #importClass(qualifiedName: string, definition: ClassDef, isModule: boolean): void {
    const type = new ClassType(qualifiedName, { isModule, compilationUnit: this.unit });
    // Registered first: an attribute or method may be of the class itself.
    this.unit.registerType(type);
    const body = new ClassBody(definition, isModule);
    for (const { name, annotation } of body.attributes) {
      type.addAttribute(name, this.#typeParser.parseTypeFromExpr(annotation), body.kindOf(name));
    }
    for (const { name, assign } of body.constants) {
      type.addConstant(name, this.#typeParser.parseClassConstant(assign));
    }
    const self = new SimpleSelf(type);
    const options = { ...this.#optionsFor(qualifiedName), self };
    declareHooks(this.unit, body.hooks, 'forward', options);
    declareHooks(this.unit, body.preHooks, 'pre-forward', options);
    declareFunctions(this.unit, body.methods, options);
  }

  #optionsFor(prefix: string): DefineOptions {
    return { prefix, resolver: this, opVersion: this.#archive.formatVersion };
  }

  #importNamedTuple(qualifiedName: string, definition: ClassDef): void {
    const fieldNames: string[] = [];
    const fieldTypes: Type[] = [];
    const defaults = new Map<string, unknown>();
    for (const statement of definition.body) {
      const name = statement.kind === 'assign' ? nameOf(statement.lhsList[0]) : undefined;
      if (statement.kind !== 'assign' || name === undefined || !statement.type) {
        throw compileError(
          statement.range,
          'Unexpected statement in NamedTuple body: only attribute annotations are currently supported.',
        );
      }
      fieldNames.push(name);
      fieldTypes.push(this.#typeParser.parseTypeFromExpr(statement.type));
      if (statement.rhs) {
        defaults.set(name, this.#typeParser.evaluateDefault(statement.range, statement.rhs, statement.type));
      }
    }
    this.unit.registerType(TupleType.createNamed(qualifiedName, fieldNames, fieldTypes, defaults));
  }

  #importEnum(qualifiedName: string, definition: ClassDef): void {
    const members: [string, string | bigint | number][] = [];
    for (const statement of definition.body) {
      const name = statement.kind === 'assign' ? nameOf(statement.lhsList[0]) : undefined;
      const value = statement.kind === 'assign' && statement.rhs ? literalOf(statement.rhs) : undefined;
      if (name === undefined || value === undefined) {
        throw compileError(
          statement.range,
          'Unexpected statement in Enum class body: only enum attribute definitions are currently supported.',
        );
      }
      members.push([name, value]);
    }
    const [, first] = members[0] ?? ['', 0n];
    const valueType =
      typeof first === 'string' ? StringType.get() : typeof first === 'bigint' ? IntType.get() : FloatType.get();
    this.unit.registerType(new EnumType(qualifiedName, valueType, members, this.unit));
  }
}

/** The statements of a printed class, sorted by what they are for. */
class ClassBody {
  readonly attributes: { name: string; annotation: Expr }[] = [];
  readonly constants: { name: string; assign: Assign }[] = [];
  readonly methods: Def[] = [];
  readonly hooks: Def[] = [];
  readonly preHooks: Def[] = [];
  readonly #names: Record<string, readonly string[]> = {};
  readonly #parameters: ReadonlySet<string>;
  readonly #buffers: ReadonlySet<string>;

  constructor(definition: ClassDef, isModule: boolean) {
    const defs: Def[] = [];
    for (const statement of definition.body) {
      if (statement.kind === 'def') defs.push(statement);
      else if (statement.kind === 'assign') this.#sort(statement, isModule);
      else throw compileError(statement.range, 'Unexpected statement kind in class body');
    }
    const byName = new Map(defs.map((def) => [def.name.name, def]));
    const isHook = new Set<string>();
    // In the order of the lists, in which a hook may occur more than once.
    for (const [list, hooks] of [
      ['__forward_hooks__', this.hooks],
      ['__forward_pre_hooks__', this.preHooks],
    ] as const) {
      for (const name of this.#names[list] ?? []) {
        isHook.add(name);
        const hook = byName.get(name);
        if (hook) hooks.push(hook);
      }
    }
    this.methods.push(...defs.filter((def) => !isHook.has(def.name.name)));
    this.#parameters = new Set(this.#names['__parameters__']);
    this.#buffers = new Set(this.#names['__buffers__']);
  }

  kindOf(attribute: string): ClassAttributeKind {
    if (this.#parameters.has(attribute)) return 'parameter';
    return this.#buffers.has(attribute) ? 'buffer' : 'attribute';
  }

  #sort(assign: Assign, isModule: boolean): void {
    const [target] = assign.lhsList;
    const name = nameOf(target);
    if (name !== undefined) {
      if (isModule && NAME_LISTS.has(name)) this.#names[name] = namesIn(assign);
      else if (name === '__annotations__') return;
      else if (assign.rhs) this.constants.push({ name, assign });
      else if (assign.type) this.attributes.push({ name, annotation: assign.type });
      return;
    }
    // `__annotations__["0"] = T`: an attribute whose name is no identifier.
    const subscript =
      target.kind === 'subscript' && nameOf(target.value) === '__annotations__' ? target.subscripts[0] : undefined;
    if (subscript?.kind !== 'string' || !assign.rhs)
      throw compileError(assign.range, 'Unexpected statement kind in class body');
    this.attributes.push({ name: subscript.text, annotation: assign.rhs });
  }
}

const NAME_LISTS: ReadonlySet<string> = new Set([
  '__parameters__',
  '__buffers__',
  '__forward_hooks__',
  '__forward_pre_hooks__',
]);

function namesIn({ rhs, range }: Assign): readonly string[] {
  if (rhs?.kind !== 'list') throw compileError(range, 'expected a list of names');
  return rhs.inputs.map((item) => (item.kind === 'string' ? item.text : ''));
}

function nameOf(expr: Expr): string | undefined {
  return expr.kind === 'var' ? expr.name.name : undefined;
}

function literalOf(expr: Expr): string | bigint | number | undefined {
  if (expr.kind === 'string') return expr.text;
  if (expr.kind === 'const' && typeof expr.value !== 'object') return expr.value;
  if (expr.kind !== 'unary' || expr.op !== '-') return undefined;
  const value = literalOf(expr.operand);
  return typeof value === 'string' || value === undefined ? undefined : -value;
}

function prefixOf(qualifiedName: string): string {
  return qualifiedName.slice(0, Math.max(0, qualifiedName.lastIndexOf('.')));
}

/** `__torch__.a.b`: a class or function, or the way to one. */
class Namespace extends SugaredValue {
  readonly #importer: SourceImporter;
  readonly #name: string;

  constructor(importer: SourceImporter, name: string) {
    super();
    this.#importer = importer;
    this.#name = name;
  }

  override kind(): string {
    return `namespace '${this.#name}'`;
  }

  override attr(_range: SourceRange, _fn: GraphFunction, field: string): SugaredValue {
    const name = `${this.#name}.${field}`;
    const type = this.#importer.findType(name);
    if (type instanceof ClassType) return new ClassValue(type);
    if (type instanceof TupleType) return new NamedTupleConstructor(type);
    if (type instanceof EnumType) return new SugaredEnumClass(type);
    const fn = this.#importer.findFunction(name);
    return fn ? new FunctionValue(fn) : new Namespace(this.#importer, name);
  }
}

/** `CONSTANTS`: `CONSTANTS.c0`. */
class ConstantTable extends SugaredValue {
  readonly #constants: readonly IValue[];

  constructor(constants: readonly IValue[]) {
    super();
    this.#constants = constants;
  }

  override kind(): string {
    return 'CONSTANTS';
  }

  override attr(range: SourceRange, fn: GraphFunction, field: string): SugaredValue {
    const index = /^c\d{1,9}$/.test(field) ? Number(field.slice(1)) : NaN;
    if (!(index < this.#constants.length)) {
      throw new CressetError(
        'ARCHIVE_NO_CONSTANT',
        `the file's code uses constant '${field}', of which the file has ${this.#constants.length}`,
      );
    }
    // What is known of a constant's sizes must not become part of the types of what it is put into.
    const value = fn.graphBeingDefined.insertConstant(this.#constants[index], range);
    return new SimpleValue(value.setType(unshapedType(value.type)));
  }
}
