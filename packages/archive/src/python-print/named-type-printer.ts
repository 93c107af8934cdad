import {
  ClassType,
  CressetError,
  EnumType,
  formatFloat,
  formatQuotedString,
  FunctionType,
  GraphFunction,
  InterfaceType,
  isCustomClass,
  type ScriptFunction,
  type TupleType,
  baseName,
  typeOfConstant,
} from '@cresset/ir';
import { fromByteString } from '@cresset/tensor';
import type { Dependency } from './dependency-table.ts';
import { isValidIdentifier } from './identifiers.ts';
import type { PrintContext, StatementPrinter } from './statement-printer.ts';

/** Prints definitions of classes, interfaces, enums and named tuples (PyTorch: PythonPrintImpl::printNamedType). */
export class NamedTypePrinter {
  readonly #context: PrintContext;
  readonly #statements: StatementPrinter;

  constructor(context: PrintContext, statements: StatementPrinter) {
    this.#context = context;
    this.#statements = statements;
  }

  print(type: Dependency): void {
    if (type instanceof FunctionType) this.#statements.printFunction(type.function as GraphFunction, true);
    else if (type instanceof ClassType) this.#printClass(type);
    else if (type instanceof InterfaceType) this.#printInterface(type);
    else if (type instanceof EnumType) this.#printEnum(type);
    else this.#printNamedTuple(type);
  }

  #printClass(type: ClassType): void {
    // The classes of C++ have to be there where the code is read.
    if (isCustomClass(type.qualifiedName) || type.methods.some((method) => !(method instanceof GraphFunction))) return;
    const statements = this.#statements;
    statements.line(`class ${type.name}${type.isModule() ? '(Module)' : ''}:`);
    statements.indented(() => {
      if (type.isModule()) this.#printNameLists(type);
      this.#printAttributes(type);
      this.#printConstants(type);
      // A hook may be registered more than once.
      const hooks = new Map<string, ScriptFunction>();
      for (const hook of [...type.forwardHooks, ...type.forwardPreHooks]) {
        if (!hooks.has(hook.name)) hooks.set(hook.name, hook);
      }
      for (const method of [...type.methods, ...hooks.values()]) {
        statements.printFunction(method as GraphFunction, true);
      }
    });
  }

  /** Which attributes are parameters and buffers, which methods hooks. */
  #printNameLists({ attributes, forwardHooks, forwardPreHooks }: ClassType): void {
    const print = (list: string, members: readonly { readonly name: string }[]): void =>
      this.#statements.line(`${list} = [`, members.map(({ name }) => `"${name}", `).join(''), ']');
    print(
      '__parameters__',
      attributes.filter(({ kind }) => kind === 'parameter'),
    );
    print(
      '__buffers__',
      attributes.filter(({ kind }) => kind === 'buffer'),
    );
    if (forwardPreHooks.length > 0) print('__forward_pre_hooks__', forwardPreHooks);
    if (forwardHooks.length > 0) print('__forward_hooks__', forwardHooks);
  }

  #printAttributes({ attributes }: ClassType): void {
    const { dependencies, typeText } = this.#context;
    attributes.forEach(({ name, type }, index) => {
      dependencies.addTypesIn(type);
      if (isValidIdentifier(name)) {
        this.#statements.line(`${name} : ${typeText(type)}`);
        return;
      }
      if (index === 0) this.#statements.line('__annotations__ = []');
      this.#statements.line(`__annotations__["${name}"] = ${typeText(type)}`);
    });
  }

  #printConstants({ constants }: ClassType): void {
    const { expressions, typeText } = this.#context;
    for (const [name, value] of constants) {
      const type = typeOfConstant(value);
      if (!type) throw new CressetError('NOT_PRINTABLE', `the constant '${name}' has no form in Python`);
      this.#statements.line(`${name} : Final[${typeText(type)}] = ${expressions.literals.print(value)}`);
    }
  }

  #printNamedTuple(type: TupleType): void {
    const { typeText } = this.#context;
    this.#statements.line(`class ${baseName(type.name!)}(NamedTuple):`);
    this.#statements.indented(() => {
      type.fieldNames!.forEach((name, index) => {
        this.#statements.line(`${name} : ${typeText(type.elements[index])}`);
      });
    });
  }

  #printInterface(type: InterfaceType): void {
    const { dependencies, typeText } = this.#context;
    this.#statements.line(`class ${type.name}${type.isModule() ? '(ModuleInterface)' : '(Interface)'}:`);
    this.#statements.indented(() => {
      for (const { name, arguments: formals, returns } of type.methods) {
        const parameters = formals.slice(1).map((formal) => {
          dependencies.addTypesIn(formal.type);
          return `, ${formal.name}: ${typeText(formal.type)}`;
        });
        dependencies.addTypesIn(returns[0].type);
        this.#statements.line(`def ${name}(self${parameters.join('')}) -> ${typeText(returns[0].type)}:`);
        this.#statements.indented(() => this.#statements.line('pass'));
      }
    });
  }

  #printEnum(type: EnumType): void {
    this.#statements.line(`class ${type.name}(Enum):`);
    this.#statements.indented(() => {
      for (const [name, value] of type.members) this.#statements.line(`${name} = ${enumValueText(value)}`);
    });
  }
}

function enumValueText(value: unknown): string {
  if (typeof value === 'number') return formatFloat(value);
  if (typeof value !== 'string') return String(value);
  // PyTorch escapes nothing, which leaves most strings as they are; others would be read back as something else.
  return /["\\\n\r]/.test(value) ? formatQuotedString(value) : `"${fromByteString(value)}"`;
}
