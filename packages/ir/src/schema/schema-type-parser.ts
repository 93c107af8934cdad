import { AliasInfo, WILDCARD_SET } from '../alias/alias-info.ts';
import { AwaitType, DictType, FutureType, ListType, RRefType, TupleType } from '../types/container-types.ts';
import { ClassType } from '../types/named-types.ts';
import {
  AnyClassType,
  AnyEnumType,
  AnyListType,
  AnyTupleType,
  AnyType,
  BoolType,
  CapsuleType,
  ComplexType,
  DeviceObjType,
  FloatType,
  GeneratorType,
  IntType,
  LayoutType,
  MemoryFormatType,
  NoneType,
  NumberType,
  QSchemeType,
  QuantizerType,
  ScalarTypeType,
  StorageType,
  StreamObjType,
  StringType,
  SymBoolType,
  SymIntType,
} from '../types/primitive-types.ts';
import { type ScalarTypeName, scalarTypeFromIrName } from '../types/scalar-type.ts';
import { TensorType } from '../types/tensor-type.ts';
import type { TextLexer } from '../text/text-lexer.ts';
import { type Type, VarType } from '../types/type.ts';
import { OptionalType, UnionType } from '../types/union-type.ts';

/** Makes the type for the name of a class, or undefined for a name it does not know. */
export type ClassResolver = (qualifiedName: string) => Type | undefined;

/** A type as schemas have it: what programs see, what was written, and the alias annotation. */
export interface ParsedType {
  readonly type: Type;
  readonly realType: Type;
  readonly aliasInfo: AliasInfo | undefined;
}

const UNKNOWN_TYPE =
  'unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a full list, ' +
  'please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func ';

/** Type names, what programs see of them, and the type as written where that is another one. */
const BASE_TYPES: Readonly<Record<string, readonly [type: () => Type, realType?: () => Type]>> = {
  Generator: [GeneratorType.get],
  ScalarType: [IntType.get, ScalarTypeType.get],
  Layout: [IntType.get, LayoutType.get],
  MemoryFormat: [IntType.get, MemoryFormatType.get],
  Storage: [StorageType.get],
  QScheme: [QSchemeType.get],
  Quantizer: [QuantizerType.get],
  ConstQuantizerPtr: [IntType.get],
  Device: [DeviceObjType.get],
  DeviceIndex: [IntType.get],
  Stream: [StreamObjType.get],
  Scalar: [NumberType.get],
  str: [StringType.get],
  float: [FloatType.get],
  complex: [ComplexType.get],
  int: [IntType.get],
  SymInt: [IntType.get, SymIntType.get],
  SymBool: [SymBoolType.get],
  bool: [BoolType.get],
  None: [NoneType.get],
  NoneType: [NoneType.get],
  Capsule: [CapsuleType.get],
  Any: [AnyType.get],
  AnyClassType: [AnyClassType.get],
  AnyEnumType: [AnyEnumType.get],
  list: [AnyListType.get],
  tuple: [AnyTupleType.get],
};

/** Reads types as schemas and graphs spell them (PyTorch: SchemaTypeParser). */
export class SchemaTypeParser {
  readonly #lexer: TextLexer;
  readonly #completeTensorTypes: boolean;
  readonly #resolveClass: ClassResolver | undefined;
  readonly #allowTypeVariables: boolean;
  #freshSets = 0;

  /**
   * @param options.completeTensorTypes read `Float(2, 3)` as a refined tensor, as graphs have it
   * @param options.allowTypeVariables take unknown lower-case names for type variables
   * @param options.resolveClass makes the types of dotted names
   */
  constructor(
    lexer: TextLexer,
    options: { completeTensorTypes: boolean; allowTypeVariables: boolean; resolveClass?: ClassResolver | undefined },
  ) {
    this.#lexer = lexer;
    this.#completeTensorTypes = options.completeTensorTypes;
    this.#allowTypeVariables = options.allowTypeVariables;
    this.#resolveClass = options.resolveClass;
  }

  /** Reads a type with its alias annotation. */
  parseType(): ParsedType {
    return this.#lexer.nested(() => this.#parseSuffixes(this.#parseUnsuffixed()));
  }

  /** `[]` and `?` after a type. */
  #parseSuffixes(parsed: ParsedType): ParsedType {
    const { type, realType, aliasInfo } = parsed;
    if (this.#lexer.current.kind === '[' && this.#lexer.lookahead.kind === ']') {
      this.#lexer.next();
      this.#lexer.next();
      const [list, realList] = wrap(type, realType, (inner) => new ListType(inner));
      const annotated = { type: list, realType: realList, aliasInfo: this.parseContainerAnnotation(aliasInfo) };
      return this.#lexer.nested(() => this.#parseSuffixes(annotated));
    }
    if (this.#lexer.nextIf('?')) {
      const [optional, realOptional] = wrap(type, realType, (inner) => OptionalType.create(inner));
      return this.#lexer.nested(() => this.#parseSuffixes({ type: optional, realType: realOptional, aliasInfo }));
    }
    return parsed;
  }

  /** Reads the annotation of a list, which keeps that of its elements within it. */
  parseContainerAnnotation(elements: AliasInfo | undefined): AliasInfo | undefined {
    const container = this.parseAliasAnnotation();
    if (elements !== undefined) {
      // To write to the elements is to write to the list.
      return (container ?? new AliasInfo(elements.isWrite, [], [])).withContainedType(elements);
    }
    return container;
  }

  /** Reads `(a)`, `(a!)`, `(a -> *)`, `(a|b)`, `!` or nothing. */
  parseAliasAnnotation(): AliasInfo | undefined {
    const lexer = this.#lexer;
    if (lexer.nextIf('(')) {
      const before = this.#parseAliasSets();
      const isWrite = lexer.nextIf('!');
      const after = lexer.nextIf('arrow') ? this.#parseAliasSets() : before;
      lexer.expect(')');
      return new AliasInfo(isWrite, before, after);
    }
    if (lexer.nextIf('!')) {
      const set = `$${this.#freshSets++}`;
      return new AliasInfo(true, [set], []);
    }
    return undefined;
  }

  #parseAliasSets(): Set<string> {
    const sets = new Set<string>();
    this.#lexer.list(undefined, '|', undefined, () => {
      if (this.#lexer.nextIf('*')) {
        sets.add(WILDCARD_SET);
      } else if (!sets.has(WILDCARD_SET)) {
        // Nothing is read after the wildcard, which takes in every set.
        sets.add(this.#lexer.expect('ident').text);
      }
    });
    return sets;
  }

  #parseUnsuffixed(): ParsedType {
    const lexer = this.#lexer;
    const token = lexer.current;
    if (token.kind === '(') {
      return this.#parseTuple();
    }
    if (token.kind === 'ident') {
      switch (token.text) {
        case 'Tensor':
          lexer.next();
          return this.#completeTensorTypes && lexer.current.kind === '('
            ? this.#annotated(this.#parseRefinedTensor(undefined, false))
            : this.#annotated(TensorType.get());
        case 'Future':
          return plain(this.#parseSingleElement((inner) => new FutureType(inner)));
        case 'Await':
          return plain(this.#parseSingleElement((inner) => new AwaitType(inner)));
        case 'RRef':
          return plain(this.#parseSingleElement((inner) => new RRefType(inner)));
        case 'Dict':
          return this.#annotated(this.#parseDict());
        case 'Union':
          return this.#annotated(this.#parseUnion());
        case 'Optional':
        case 'List':
          if (this.#completeTensorTypes) {
            const make = token.text === 'List' ? (inner: Type) => new ListType(inner) : OptionalType.create;
            return this.#annotated(this.#parseSingleElement(make));
          }
          break;
        case '__torch__':
          if (this.#resolveClass === undefined) {
            return this.#annotated(this.#parseCustomClass());
          }
          break;
        default:
          break;
      }
      if (this.#completeTensorTypes) {
        const refined = this.#tryParseRefinedTensor(token.text);
        if (refined !== undefined) {
          return this.#annotated(refined);
        }
      }
    }
    const [type, realType] = this.#parseBaseType();
    return { type, realType, aliasInfo: this.parseAliasAnnotation() };
  }

  #annotated(type: Type): ParsedType {
    return { type, realType: type, aliasInfo: this.parseAliasAnnotation() };
  }

  #parseBaseType(): readonly [Type, Type] {
    const lexer = this.#lexer;
    const token = lexer.current;
    if (!lexer.nextIf('None') && !lexer.nextIf('NoneType')) {
      lexer.expect('ident');
    }
    let name = token.text;
    while (lexer.current.kind === '.' && lexer.lookahead.kind === 'ident') {
      lexer.next();
      name += `.${lexer.next().text}`;
    }
    const base = Object.hasOwn(BASE_TYPES, name) ? BASE_TYPES[name] : undefined;
    if (base !== undefined) {
      const type = base[0]();
      return [type, base[1]?.() ?? type];
    }
    const other =
      this.#resolveClass?.(name) ?? (this.#allowTypeVariables && /^[a-z]/.test(name) ? new VarType(name) : undefined);
    return other ? [other, other] : lexer.fail(UNKNOWN_TYPE, token);
  }

  #parseTuple(): ParsedType {
    const types: ParsedType[] = [];
    this.#lexer.list('(', ',', ')', () => types.push(this.parseType()));
    const type = new TupleType(types.map((parsed) => parsed.type));
    const realType = types.every((parsed) => parsed.type === parsed.realType)
      ? type
      : new TupleType(types.map((parsed) => parsed.realType));
    return { type, realType, aliasInfo: undefined };
  }

  #parseSingleElement(make: (inner: Type) => Type): Type {
    const close = this.#open();
    const inner = this.parseType().type;
    this.#lexer.expect(close);
    return make(inner);
  }

  #parseDict(): Type {
    const close = this.#open();
    const key = this.parseType().type;
    this.#lexer.expect(',');
    const value = this.parseType().type;
    this.#lexer.expect(close);
    return new DictType(key, value);
  }

  #parseUnion(): Type {
    const types: Type[] = [];
    const close = this.#open();
    this.#lexer.list(undefined, ',', close, () => types.push(this.parseType().type));
    return UnionType.create(types);
  }

  /** Goes past the name of a container and the bracket after it, a square one in the annotations of constants; gives its end. */
  #open(): string {
    this.#lexer.next();
    if (this.#completeTensorTypes && this.#lexer.nextIf('[')) {
      return ']';
    }
    this.#lexer.expect('(');
    return ')';
  }

  /** `__torch__.torch.classes.quantized.LinearPackedParamsBase`: of dotted names only classes of C++ are types by themselves. */
  #parseCustomClass(): Type {
    const lexer = this.#lexer;
    let name = lexer.next().text;
    for (const namespace of ['torch', 'classes', '', '']) {
      lexer.expect('.');
      const part = lexer.expect('ident');
      if (namespace !== '' && part.text !== namespace) {
        lexer.fail(`Expected classes namespace but got ${part.text}`, part);
      }
      name += `.${part.text}`;
    }
    return new ClassType(name);
  }

  // ---- refined tensors

  #tryParseRefinedTensor(name: string): TensorType | undefined {
    const lexer = this.#lexer;
    const dtype = scalarTypeFromIrName(name);
    if (dtype !== undefined && lexer.lookahead.kind === '(') {
      lexer.next();
      return this.#parseRefinedTensor(dtype, true);
    }
    // `FloatTensor`: known dtype, unknown rank.
    const unranked = name.endsWith('Tensor') ? scalarTypeFromIrName(name.slice(0, -'Tensor'.length)) : undefined;
    if (unranked !== undefined) {
      lexer.next();
      return lexer.current.kind === '('
        ? this.#parseRefinedTensor(unranked, false)
        : TensorType.create({ scalarType: unranked });
    }
    return undefined;
  }

  /**
   * `(2, 3, strides=[3, 1], requires_grad=0, device=cpu)`, `(*, 3)`, `(2:3, 3:1)`; for a tensor of unknown rank only the
   * named fields stand in the brackets.
   */
  #parseRefinedTensor(scalarType: ScalarTypeName | undefined, isRanked: boolean): TensorType {
    const lexer = this.#lexer;
    const sizes: (number | undefined)[] = [];
    let strides: number[] | undefined;
    const inlineStrides: number[] = [];
    let device: string | undefined;
    let requiresGrad: boolean | undefined;
    let sawField = false;
    lexer.list('(', ',', ')', () => {
      if (lexer.current.kind === 'ident' && lexer.current.text !== 'SS') {
        sawField = true;
        const field = lexer.next();
        if (field.text === 'device' && device === undefined) {
          device = this.#parseDevice();
        } else if (field.text === 'requires_grad' && requiresGrad === undefined) {
          lexer.expect('=');
          requiresGrad = lexer.expect('number').text !== '0';
        } else if (field.text === 'strides' && strides === undefined) {
          lexer.expect('=');
          const list: number[] = [];
          lexer.list('[', ',', ']', () => list.push(this.#parseInteger()));
          strides = list;
        } else if (field.text === 'device' || field.text === 'requires_grad' || field.text === 'strides') {
          lexer.fail(`'${field.text}' is specified twice`, field);
        } else {
          lexer.fail(`Unexpected specifier '${field.text}'`, field);
        }
        return;
      }
      if (sawField) {
        lexer.fail("'device' and 'requires_grad' should come after dimensions in the type specification");
      }
      sizes.push(this.#parseSize());
      if (lexer.nextIf(':')) {
        inlineStrides.push(this.#parseInteger());
      }
    });
    if (inlineStrides.length > 0 && inlineStrides.length !== sizes.length) {
      lexer.fail('Strides info is specified for some but not for all dimensions');
    }
    // Without dimensions and dtype in front, as in `Tensor(requires_grad=0, device=cpu)`, the rank is unknown.
    const isUnranked = sizes.length === 0 && !isRanked;
    const base = TensorType.create({ scalarType, device, requiresGrad });
    if (isUnranked && sawField) {
      return base;
    }
    const known = inlineStrides.length > 0 ? inlineStrides : strides;
    return base
      .withDim(sizes.length)
      .withPartialSizes(sizes)
      .with(known === undefined ? {} : { strides: known });
  }

  #parseSize(): number | undefined {
    const lexer = this.#lexer;
    if (lexer.nextIf('*')) {
      return undefined;
    }
    if (lexer.nextIf('ident')) {
      lexer.expect('(');
      const symbol = this.#parseInteger();
      lexer.expect(')');
      return symbol;
    }
    return this.#parseInteger();
  }

  #parseInteger(): number {
    const sign = this.#lexer.nextIf('-') ? -1 : 1;
    return sign * Number(this.#lexer.expect('number').text);
  }

  #parseDevice(): string {
    const lexer = this.#lexer;
    lexer.expect('=');
    const name = lexer.expect('ident').text;
    return lexer.nextIf(':') ? `${name}:${lexer.expect('number').text}` : name;
  }
}

function plain(type: Type): ParsedType {
  return { type, realType: type, aliasInfo: undefined };
}

function wrap(type: Type, realType: Type, make: (inner: Type) => Type): [Type, Type] {
  const made = make(type);
  return [made, type === realType ? made : make(realType)];
}
