import type { AliasInfo } from '../alias/alias-info.ts';
import type { Complex } from '../complex.ts';
import { ListType } from '../types/container-types.ts';
import { CressetError } from '../error.ts';
import { formatConstant, formatQuotedString } from '../text/literal-format.ts';
import { TensorType } from '../types/tensor-type.ts';
import type { Type, WhyNot } from '../types/type.ts';
import { OptionalType } from '../types/union-type.ts';

/**
 * A value that schemas have as a default and graphs as a constant. An int is a bigint and a float a number, so that the
 * two stay distinguishable; a string is a byte string (its code units are UTF-8 bytes).
 */
export type Constant = null | boolean | bigint | number | string | Complex | readonly Constant[];

export interface ArgumentOptions {
  /** The type as written, where programs see another one (`ScalarType` is an int to them). */
  readonly realType?: Type | undefined;
  /** Length of a fixed-size list, `int[2]`. */
  readonly N?: number | undefined;
  readonly defaultValue?: Constant | undefined;
  readonly kwargOnly?: boolean | undefined;
  readonly aliasInfo?: AliasInfo | undefined;
}

/** An argument or a return of a schema (PyTorch: c10::Argument). Immutable. */
export class Argument {
  readonly name: string;
  readonly type: Type;
  readonly realType: Type;
  readonly N: number | undefined;
  /** Undefined where there is none; null is the default None. Defaults that are not literals are opaque objects. */
  readonly defaultValue: Constant | undefined;
  readonly kwargOnly: boolean;
  readonly aliasInfo: AliasInfo | undefined;

  constructor(name: string, type: Type = TensorType.get(), options: ArgumentOptions = {}) {
    this.name = name;
    this.type = type;
    this.realType = options.realType ?? type;
    this.N = options.N;
    this.defaultValue = options.defaultValue;
    this.kwargOnly = options.kwargOnly ?? false;
    this.aliasInfo = options.aliasInfo;
  }

  /** Whether this argument is written to (PyTorch: alias_info()->isWrite()). */
  get isWrite(): boolean {
    return this.aliasInfo?.isWrite ?? false;
  }

  /** Whether it is written to, or what it holds is. */
  get isWrittenInto(): boolean {
    const { aliasInfo } = this;
    return aliasInfo !== undefined && (aliasInfo.isWrite || aliasInfo.containedTypes.some(({ isWrite }) => isWrite));
  }

  /** Whether it is an `out=` argument: keyword-only and written to (PyTorch: is_out). */
  get isOut(): boolean {
    return this.kwargOnly && this.isWrite;
  }

  get isInferredType(): boolean {
    return this.type instanceof TensorType && this.type.isInferred;
  }

  cloneWithType(type: Type): Argument {
    const { N, defaultValue, kwargOnly, aliasInfo } = this;
    return new Argument(this.name, type, { N, defaultValue, kwargOnly, aliasInfo });
  }

  /** As schemas spell it: `Tensor(a!)? self`, `int[2] stride=1`. */
  toString(): string {
    const isOptional = this.realType instanceof OptionalType;
    const inner = this.realType instanceof OptionalType ? this.realType.elementType : this.realType;
    let out: string;
    if (inner instanceof ListType) {
      const contained = this.aliasInfo?.containedTypes[0];
      out = `${inner.elementType.str()}${contained ?? ''}[${this.N ?? ''}]`;
    } else {
      out = inner.str();
    }
    if (this.aliasInfo !== undefined && this.aliasInfo.beforeSets.size > 0) {
      out += this.aliasInfo.toString();
    }
    if (isOptional) {
      out += '?';
    }
    if (this.name !== '') {
      out += ` ${this.name}`;
    }
    return this.defaultValue === undefined ? out : `${out}=${this.#defaultText(inner)}`;
  }

  #defaultText(inner: Type): string {
    const value = this.defaultValue!;
    if (inner.kind === 'StringType' && typeof value === 'string') {
      return formatQuotedString(value);
    }
    // Lists of one repeated int stand as that int, as in native_functions.yaml: `int[2] stride=1`.
    const isIntList = this.realType instanceof ListType && this.realType.elementType.kind === 'IntType';
    if (isIntList && Array.isArray(value) && value.length > 1 && value.every((item) => item === value[0])) {
      return formatConstant(value[0]!);
    }
    return formatConstant(value);
  }
}

/** Signature of an operator or a function (PyTorch: c10::FunctionSchema). Immutable. */
export class FunctionSchema {
  /** `aten::add`; for functions their name. */
  readonly name: string;
  readonly overloadName: string;
  readonly arguments: readonly Argument[];
  readonly returns: readonly Argument[];
  readonly isVararg: boolean;
  readonly isVarret: boolean;
  /** Whether any argument is written to (PyTorch: is_mutable). */
  readonly isMutable: boolean;
  /** Whether it says of any argument or result what it may alias. */
  readonly tellsAliases: boolean;

  /** Throws `IR_TYPE` where an argument without default follows one with a default. */
  constructor(
    name: string,
    overloadName: string,
    args: readonly Argument[],
    returns: readonly Argument[],
    isVararg = false,
    isVarret = false,
  ) {
    this.name = name;
    this.overloadName = overloadName;
    this.arguments = args;
    this.returns = returns;
    this.isVararg = isVararg;
    this.isVarret = isVarret;
    // Asked of each node by one pass after the other.
    this.isMutable = args.some(({ isWrite }) => isWrite);
    this.tellsAliases = [...args, ...returns].some(({ aliasInfo }) => aliasInfo !== undefined);
    this.#checkDefaults();
  }

  /** Name with overload: `aten::add.Tensor`. */
  get operatorName(): string {
    return this.overloadName === '' ? this.name : `${this.name}.${this.overloadName}`;
  }

  argumentIndexWithName(name: string): number | undefined {
    const index = this.arguments.findIndex((argument) => argument.name === name);
    return index === -1 ? undefined : index;
  }

  cloneWithArguments(args: readonly Argument[]): FunctionSchema {
    return new FunctionSchema(this.name, this.overloadName, args, this.returns, this.isVararg, this.isVarret);
  }

  cloneWithReturns(returns: readonly Argument[]): FunctionSchema {
    return new FunctionSchema(this.name, this.overloadName, this.arguments, returns, this.isVararg, this.isVarret);
  }

  /** The schema with its types mapped (PyTorch: cloneWithRemappedTypes). */
  cloneWithRemappedTypes(map: (type: Type) => Type): FunctionSchema {
    const remap = (argument: Argument): Argument => argument.cloneWithType(map(argument.type));
    return this.cloneWithArguments(this.arguments.map(remap)).cloneWithReturns(this.returns.map(remap));
  }

  /**
   * Whether a function of this schema may stand where `other` is asked for (PyTorch: FunctionSchema::isSubtypeOf).
   *
   * @param asMethod leave out the first argument, self
   */
  isSubtypeOf(other: FunctionSchema, asMethod: boolean, whyNot?: WhyNot): boolean {
    const start = asMethod ? 1 : 0;
    // Functions are contravariant in what they take and covariant in what they give.
    return (
      areSubtypes(other.arguments.slice(start), this.arguments.slice(start), whyNot) &&
      areSubtypes(this.returns, other.returns, whyNot)
    );
  }

  /** The schema's text, which {@link parseSchema} reads back. */
  toString(): string {
    const parts: string[] = [];
    let sawKwargOnly = false;
    for (const argument of this.arguments) {
      if (argument.kwargOnly && !sawKwargOnly) {
        parts.push('*');
        sawKwargOnly = true;
      }
      parts.push(argument.toString());
    }
    if (this.isVararg) {
      parts.push('...');
    }
    return `${this.operatorName}(${parts.join(', ')}) -> ${this.#returnsText()}`;
  }

  #returnsText(): string {
    const parts = this.returns.map((result) => result.toString());
    if (this.isVarret) {
      parts.push('...');
    }
    if (this.returns.length === 1 && !this.isVarret) {
      // A single return needs brackets where its text begins with one: `((int, int))` is no pair of returns.
      return parts[0]!.startsWith('(') ? `(${parts[0]})` : parts[0]!;
    }
    return this.isVarret && parts.length === 1 ? '...' : `(${parts.join(', ')})`;
  }

  #checkDefaults(): void {
    let sawDefault = false;
    for (const argument of this.arguments) {
      if (argument.kwargOnly) {
        continue;
      }
      if (argument.defaultValue !== undefined) {
        sawDefault = true;
      } else if (sawDefault && argument.type.kind !== 'ListType') {
        throw new CressetError(
          'IR_TYPE',
          `Non-default positional argument follows default argument. Parameter ${argument.name} in ${this}`,
        );
      }
    }
  }
}

function areSubtypes(children: readonly Argument[], parents: readonly Argument[], whyNot?: WhyNot): boolean {
  return (
    children.length === parents.length &&
    children.every((child, index) => {
      const parent = parents[index];
      return child.name === parent.name && child.type.isSubtypeOf(parent.type, whyNot);
    })
  );
}
