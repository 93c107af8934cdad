import { CressetError } from '../error.ts';
import type { ArgumentBinder } from '../schema/argument-binder.ts';
import type { FunctionSchema } from '../schema/function-schema.ts';
import { Type, type WhyNot } from './type.ts';

/** The last part of a dotted name. */
export function baseName(qualifiedName: string): string {
  return qualifiedName.slice(qualifiedName.lastIndexOf('.') + 1);
}

/** A function of a program, as types see it (PyTorch: torch::jit::Function). */
export interface ScriptFunction {
  /** Dotted name: `__torch__.Net.forward`. */
  readonly qualifiedName: string;
  /** The last part of {@link qualifiedName}. */
  readonly name: string;
  /** Its schema; compiles the function first where that is still to be done. */
  readonly schema: FunctionSchema;
  /** Binds the arguments of a call from outside, where the schema alone does not say how. */
  readonly binder?: ArgumentBinder | null;
}

/** A function as a value (PyTorch: FunctionType). */
export class FunctionType extends Type {
  readonly kind = 'FunctionType';
  readonly function: ScriptFunction;

  constructor(fn: ScriptFunction) {
    super();
    this.function = fn;
  }

  override str(): string {
    return 'Function';
  }

  protected override annotationStrImpl(): string {
    return this.function.qualifiedName;
  }

  override equalsImpl(other: Type): boolean {
    return other instanceof FunctionType && other.function === this.function;
  }
}

/** What an attribute of a class is for. */
export type ClassAttributeKind = 'attribute' | 'parameter' | 'buffer';

export interface ClassAttribute {
  readonly name: string;
  readonly type: Type;
  readonly kind: ClassAttributeKind;
}

export interface ClassProperty {
  readonly name: string;
  readonly getter: ScriptFunction;
  readonly setter: ScriptFunction | undefined;
}

export interface ClassTypeOptions {
  /** Whether it is the class of an `nn.Module`. */
  readonly isModule?: boolean;
  readonly docString?: string;
  /** The names in `__unresolved__` class attributes: those that could not be made attributes. */
  readonly unresolvedClassAttributes?: readonly string[];
  /** What the class belongs to: classes of different owners differ although their names agree. */
  readonly compilationUnit?: object | undefined;
}

/**
 * A TorchScript class or module (PyTorch: ClassType). It is given attributes, constants and methods while it is compiled.
 */
export class ClassType extends Type {
  readonly kind = 'ClassType';
  /** Dotted name: `__torch__.torch.nn.modules.linear.Linear`. */
  readonly qualifiedName: string;
  readonly compilationUnit: object | undefined;
  readonly docString: string;
  readonly unresolvedClassAttributes: readonly string[];
  readonly #isModule: boolean;
  readonly #attributes: ClassAttribute[] = [];
  readonly #slots = new Map<string, number>();
  readonly #constants = new Map<string, unknown>();
  readonly #methods: ScriptFunction[] = [];
  readonly #staticMethods: ScriptFunction[] = [];
  readonly #properties: ClassProperty[] = [];
  readonly #forwardHooks: ScriptFunction[] = [];
  readonly #forwardPreHooks: ScriptFunction[] = [];

  constructor(qualifiedName: string, options: ClassTypeOptions = {}) {
    super();
    this.qualifiedName = qualifiedName;
    this.compilationUnit = options.compilationUnit;
    this.docString = options.docString ?? '';
    this.unresolvedClassAttributes = options.unresolvedClassAttributes ?? [];
    this.#isModule = options.isModule ?? false;
  }

  get name(): string {
    return baseName(this.qualifiedName);
  }

  override str(): string {
    return this.qualifiedName;
  }

  override equalsImpl(other: Type): boolean {
    return (
      other instanceof ClassType &&
      other.qualifiedName === this.qualifiedName &&
      other.compilationUnit === this.compilationUnit
    );
  }

  override isModule(): boolean {
    return this.#isModule;
  }

  override containedTypes(): readonly Type[] {
    return this.#attributes.map((attribute) => attribute.type);
  }

  override hasFreeVariables(): boolean {
    return false;
  }

  override requiresGradMaybe(): boolean {
    return false;
  }

  override withContained(): Type {
    return this;
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    if (other.kind === 'AnyClassType') {
      return true;
    }
    if (other instanceof InterfaceType) {
      return this.#implements(other, whyNot);
    }
    return this.isSubtypeOfBase(other, whyNot);
  }

  #implements(other: InterfaceType, whyNot?: WhyNot): boolean {
    if (!this.isModule() && other.isModule()) {
      whyNot?.push(
        `Class '${this.reprStr()}' is not a subtype of the module interface '${other.reprStr()}' , only ScriptModule class can be subtype of module interface.\n`,
      );
      return false;
    }
    for (const schema of other.methods) {
      const own = this.findMethod(schema.name);
      if (own === undefined) {
        whyNot?.push(
          `Class '${this.reprStr()}' does not have method '${schema.name}' but '${other.reprStr()}' does.\n`,
        );
        return false;
      }
      if (!own.schema.isSubtypeOf(schema, true, whyNot)) {
        whyNot?.push(
          `Method on class '${this.reprStr()}' (1) is not compatible with interface '${other.reprStr()}' (2)\n` +
            `  (1) ${own.schema}\n  (2) ${schema}\n`,
        );
        return false;
      }
    }
    return true;
  }

  // ---- attributes

  get attributes(): readonly ClassAttribute[] {
    return this.#attributes;
  }

  get numAttributes(): number {
    return this.#attributes.length;
  }

  /** Adds an attribute and returns its slot; throws `IR_TYPE` where the name is taken. */
  addAttribute(name: string, type: Type, kind: ClassAttributeKind = 'attribute'): number {
    if (this.#slots.has(name) || this.#constants.has(name)) {
      throw new CressetError(
        'IR_TYPE',
        `attempting to add an attribute '${name}' to ${this.reprStr()} but a field of the same name already exists`,
      );
    }
    const slot = this.#attributes.length;
    this.#attributes.push({ name, type, kind });
    this.#slots.set(name, slot);
    return slot;
  }

  hasAttribute(name: string): boolean {
    return this.#slots.has(name);
  }

  findAttribute(name: string): Type | undefined {
    const slot = this.#slots.get(name);
    return slot === undefined ? undefined : this.#attributes[slot]!.type;
  }

  /** The type of an attribute; throws `IR_TYPE` where there is none. */
  getAttribute(name: string): Type {
    return this.#attributes[this.getAttributeSlot(name)]!.type;
  }

  findAttributeSlot(name: string): number | undefined {
    return this.#slots.get(name);
  }

  /** The slot of an attribute; throws `IR_TYPE` where there is none. */
  getAttributeSlot(name: string): number {
    const slot = this.#slots.get(name);
    if (slot === undefined) {
      throw new CressetError('IR_TYPE', `${this.reprStr()} does not have a field with name '${name}'`);
    }
    return slot;
  }

  /** Gives an attribute another type (PyTorch: unsafeChangeAttributeType): for passes that refine or freeze. */
  changeAttributeType(name: string, type: Type): void {
    const slot = this.getAttributeSlot(name);
    this.#attributes[slot] = { ...this.#attributes[slot]!, type };
  }

  /** Takes an attribute away; slots after it move down (PyTorch: unsafeRemoveAttribute). */
  removeAttribute(name: string): void {
    this.#attributes.splice(this.getAttributeSlot(name), 1);
    this.#slots.clear();
    this.#attributes.forEach((attribute, slot) => this.#slots.set(attribute.name, slot));
  }

  // ---- constants

  /** Constants by name, in the order they were added. Values are IValues. */
  get constants(): ReadonlyMap<string, unknown> {
    return this.#constants;
  }

  addConstant(name: string, value: unknown): void {
    if (this.#slots.has(name) || this.#constants.has(name)) {
      throw new CressetError(
        'IR_TYPE',
        `attempting to add a constant '${name}' to ${this.reprStr()} but a field of the same name already exists`,
      );
    }
    this.#constants.set(name, value);
  }

  hasConstant(name: string): boolean {
    return this.#constants.has(name);
  }

  // ---- methods

  get methods(): readonly ScriptFunction[] {
    return this.#methods;
  }

  /** Throws `IR_TYPE` where a method of that name is there. */
  addMethod(method: ScriptFunction): void {
    if (this.findMethod(method.name) !== undefined) {
      throw new CressetError('IR_TYPE', `Can't redefine method: ${method.name} on class: ${this.reprStr()}`);
    }
    this.#methods.push(method);
  }

  findMethod(name: string): ScriptFunction | undefined {
    return this.#methods.find((method) => method.name === name);
  }

  /** Throws `IR_TYPE` where there is none of that name. */
  getMethod(name: string): ScriptFunction {
    const method = this.findMethod(name);
    if (method === undefined) {
      throw new CressetError('IR_TYPE', `Couldn't find method: '${name}' on class: '${this.reprStr()}'`);
    }
    return method;
  }

  /** Takes a method away (PyTorch: unsafeRemoveMethod). */
  removeMethod(name: string): void {
    this.#methods.splice(this.#methods.indexOf(this.getMethod(name)), 1);
  }

  get staticMethods(): readonly ScriptFunction[] {
    return this.#staticMethods;
  }

  addStaticMethod(method: ScriptFunction): void {
    if (this.findStaticMethod(method.name) !== undefined || this.findMethod(method.name) !== undefined) {
      throw new CressetError('IR_TYPE', `Can't redefine method: ${method.name} on class: ${this.reprStr()}`);
    }
    this.#staticMethods.push(method);
  }

  findStaticMethod(name: string): ScriptFunction | undefined {
    return this.#staticMethods.find((method) => method.name === name);
  }

  get properties(): readonly ClassProperty[] {
    return this.#properties;
  }

  addProperty(name: string, getter: ScriptFunction, setter?: ScriptFunction): void {
    if (this.findProperty(name) !== undefined) {
      throw new CressetError('IR_TYPE', `Property named ${name} already exists!`);
    }
    this.#properties.push({ name, getter, setter });
  }

  findProperty(name: string): ClassProperty | undefined {
    return this.#properties.find((property) => property.name === name);
  }

  get forwardHooks(): readonly ScriptFunction[] {
    return this.#forwardHooks;
  }

  get forwardPreHooks(): readonly ScriptFunction[] {
    return this.#forwardPreHooks;
  }

  addForwardHook(hook: ScriptFunction): void {
    this.#forwardHooks.push(hook);
  }

  addForwardPreHook(hook: ScriptFunction): void {
    this.#forwardPreHooks.push(hook);
  }
}

/** A TorchScript interface: the methods a class must have (PyTorch: InterfaceType). */
export class InterfaceType extends Type {
  readonly kind = 'InterfaceType';
  readonly qualifiedName: string;
  readonly #isModule: boolean;
  readonly #methods: FunctionSchema[] = [];

  constructor(qualifiedName: string, isModule = false) {
    super();
    this.qualifiedName = qualifiedName;
    this.#isModule = isModule;
  }

  get name(): string {
    return baseName(this.qualifiedName);
  }

  get methods(): readonly FunctionSchema[] {
    return this.#methods;
  }

  addMethod(schema: FunctionSchema): void {
    this.#methods.push(schema);
  }

  getMethod(name: string): FunctionSchema | undefined {
    return this.#methods.find((schema) => schema.name === name);
  }

  override str(): string {
    return `InterfaceType<${this.name}>`;
  }

  protected override annotationStrImpl(): string {
    return this.qualifiedName;
  }

  override isModule(): boolean {
    return this.#isModule;
  }

  override equalsImpl(other: Type): boolean {
    return other instanceof InterfaceType && this.isSubtypeOfInterface(other) && other.isSubtypeOfInterface(this);
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    if (other instanceof InterfaceType) {
      return this === other || this.isSubtypeOfInterface(other, whyNot);
    }
    return this.isSubtypeOfBase(other, whyNot);
  }

  /** Structural: every method of `other` is here, with a schema that may stand in its place. */
  isSubtypeOfInterface(other: InterfaceType, whyNot?: WhyNot): boolean {
    if (!this.isModule() && other.isModule()) {
      whyNot?.push(`Interface '${this.reprStr()}' is not a subtype of the module interface '${other.reprStr()}'.\n`);
      return false;
    }
    for (const schema of other.methods) {
      const own = this.getMethod(schema.name);
      if (own === undefined) {
        whyNot?.push(
          `Interface '${this.reprStr()}' does not have method '${schema.name}' but interface '${other.reprStr()}' does.\n`,
        );
        return false;
      }
      if (!own.isSubtypeOf(schema, true, whyNot)) {
        whyNot?.push(
          `Method on interface '${this.reprStr()}' (1) is not compatible with interface '${other.reprStr()}' (2)\n` +
            `  (1) ${own}\n  (2) ${schema}\n`,
        );
        return false;
      }
    }
    return true;
  }
}

/** An enum class (PyTorch: EnumType). Member values are IValues. */
export class EnumType extends Type {
  readonly kind = 'EnumType';
  readonly qualifiedName: string;
  readonly valueType: Type;
  /** Name and value of each member, in the order of the class. */
  readonly members: readonly (readonly [name: string, value: unknown])[];
  readonly compilationUnit: object | undefined;

  /** Throws `IR_TYPE` unless the members are ints, floats or strings. */
  constructor(
    qualifiedName: string,
    valueType: Type,
    members: readonly (readonly [name: string, value: unknown])[],
    compilationUnit?: object,
  ) {
    super();
    if (valueType.kind !== 'IntType' && valueType.kind !== 'FloatType' && valueType.kind !== 'StringType') {
      throw new CressetError(
        'IR_TYPE',
        `Cannot create Enum with value type '${valueType.str()}', only int, float and string are supported`,
      );
    }
    this.qualifiedName = qualifiedName;
    this.valueType = valueType;
    this.members = members;
    this.compilationUnit = compilationUnit;
  }

  get name(): string {
    return baseName(this.qualifiedName);
  }

  override str(): string {
    return `Enum<${this.annotationStr()}>`;
  }

  override reprStr(): string {
    return this.str();
  }

  protected override annotationStrImpl(): string {
    return this.qualifiedName;
  }

  override containedTypes(): readonly Type[] {
    return [this.valueType];
  }

  override withContained(): Type {
    return this;
  }

  override equalsImpl(other: Type): boolean {
    return (
      other instanceof EnumType &&
      other.qualifiedName === this.qualifiedName &&
      other.valueType.equals(this.valueType) &&
      other.compilationUnit === this.compilationUnit
    );
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return other.kind === 'AnyEnumType' || this.isSubtypeOfBase(other, whyNot);
  }
}
