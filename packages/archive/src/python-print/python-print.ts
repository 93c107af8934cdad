import type { GraphFunction, Type, TypePrinter } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import { ConstantTable } from './constant-table.ts';
import type { Dependency, DependencyTable } from './dependency-table.ts';
import { ExpressionPrinter } from './expression-printer.ts';
import { NameTable } from './identifiers.ts';
import { LiteralPrinter } from './literal.ts';
import { NamedTypePrinter } from './named-type-printer.ts';
import { type PrintContext, StatementPrinter } from './statement-printer.ts';
import { RangeStack, type SourceRangeRecord, TaggedText } from './tagged-text.ts';
import { ValueTexts } from './value-texts.ts';

export interface PythonPrintOptions {
  /** Spells named types, where they are not to be called by their qualified names. */
  readonly typePrinter?: TypePrinter;
  /** Whether to refuse what could not be read back, with an ErrorReport; false by default. */
  readonly enforceImportable?: boolean;
}

/**
 * Prints programs as Python that gives them again when it is imported: the code of saved files, and what `.code` shows
 * (torch::jit::PythonPrint). What is printed is appended to one text, a file.
 */
export class PythonPrint {
  readonly #body: TaggedText;
  readonly #statements: StatementPrinter;
  readonly #namedTypes: NamedTypePrinter;

  /**
   * @param constants what the code calls `CONSTANTS.c0`, `CONSTANTS.c1`, …; appended to
   * @param dependencies the named types and functions that the code names; appended to
   */
  constructor(constants: IValue[], dependencies: DependencyTable, options: PythonPrintOptions = {}) {
    const { typePrinter, enforceImportable = false } = options;
    const typeText = (type: Type): string => type.annotationStr(typePrinter);
    const ranges = new RangeStack();
    const names = new NameTable();
    const values = new ValueTexts(names);
    const literals = new LiteralPrinter(new ConstantTable(constants), typeText);
    const expressions = new ExpressionPrinter(values, literals, dependencies, typeText, enforceImportable);
    this.#body = new TaggedText(ranges);
    const body = this.#body;
    const context: PrintContext = {
      body,
      ranges,
      names,
      values,
      expressions,
      dependencies,
      typeText,
      enforceImportable,
    };
    this.#statements = new StatementPrinter(context);
    this.#namedTypes = new NamedTypePrinter(context, this.#statements);
  }

  /** Appends a function with the types of all its arguments. Throws an ErrorReport for what Python cannot say. */
  printFunction(fn: GraphFunction): void {
    this.#statements.printFunction(fn, true);
  }

  /** Appends a method as it stands in its class: without the type of `self`. Throws as {@link printFunction}. */
  printMethod(fn: GraphFunction): void {
    this.#statements.printFunction(fn, false);
  }

  /** Appends the definition of a class, an interface, an enum, a named tuple or a function. Throws as {@link printFunction}. */
  printNamedType(type: Dependency): void {
    this.#namedTypes.print(type);
  }

  /** What has been printed. */
  toString(): string {
    return this.#body.toString();
  }

  /** Where the parts of the text came from, in order. */
  get ranges(): readonly SourceRangeRecord[] {
    return this.#body.ranges;
  }

  /** The lowest version of the file format that the text can stand in: the highest of those its operators ask for. */
  get minVersion(): number {
    return this.#statements.minVersion;
  }
}
