import { Complex } from '../complex.ts';
import { ListType } from '../types/container-types.ts';
import { CressetError } from '../error.ts';
import { Argument, type Constant, FunctionSchema } from './function-schema.ts';
import { piecesOf, resultsOf } from './schema-pieces.ts';
import { type ClassResolver, type ParsedType, SchemaTypeParser } from './schema-type-parser.ts';
import { TextLexer, unquoteString } from '../text/text-lexer.ts';
import type { Type, TypeKind } from '../types/type.ts';
import { OptionalType } from '../types/union-type.ts';

/** Defaults that stand as names in schemas, with their numeric codes. */
const NAMED_CONSTANTS: Readonly<Record<string, bigint>> = {
  float: 6n,
  complex: 9n,
  long: 4n,
  strided: 0n,
  Mean: 1n,
  contiguous_format: 0n,
};

/**
 * Parses a schema's text, `aten::add.Tensor(Tensor self, …) -> Tensor` (PyTorch: parseSchema). Throws `IR_PARSE`.
 *
 * @param resolveClass makes the types of dotted class names; without it they are refused
 */
export function parseSchema(text: string, resolveClass?: ClassResolver): FunctionSchema {
  const parser = new SchemaParser(text, resolveClass);
  const { name, overloadName } = parser.parseName();
  if (parser.lexer.current.kind !== '(') {
    parser.lexer.expect('eof');
    throw new CressetError('IR_PARSE', 'Tried to parse a function schema but only the operator name was given');
  }
  const schema = parser.parseSignature(name, overloadName);
  parser.lexer.expect('eof');
  return schema;
}

/** Name, overload name, arguments and results of a schema. */
const WHOLE_SCHEMA = /^(\w+::\w+)(?:\.(\w+))?\(([^]*)\) -> (\S[^]*)$/;
/** An annotation without a name means another set in each place; and `...` is no argument. */
const NEEDS_WHOLE_TEXT = /!(?!\))|\.\.\./;

/** Arguments by their texts: operators have thousands, of a few hundred texts, and some hundred are asked for before a program's first answer. */
const knownArguments = new Map<string, Argument>();

/**
 * As `parseSchema`, for an operator that is registered, whose name is right: the schema is put together of arguments that were parsed before. Throws
 * `IR_PARSE`.
 */
export function parseRegisteredSchema(text: string): FunctionSchema {
  const match = NEEDS_WHOLE_TEXT.test(text) ? null : WHOLE_SCHEMA.exec(text);
  if (!match) return parseSchema(text);
  const [, name, overloadName = '', inBrackets, result] = match;
  const args: Argument[] = [];
  let kwargOnly = false;
  try {
    for (const piece of piecesOf(inBrackets)) {
      if (piece === '*') kwargOnly = true;
      else args.push(knownArgument(piece, false, kwargOnly));
    }
    const returns = resultsOf(result).map((piece) => knownArgument(piece, true, false));
    return new FunctionSchema(name, overloadName, args, returns, false, false);
  } catch {
    // What was cut within brackets in brackets is no argument; and the whole text tells where it is wrong.
    return parseSchema(text);
  }
}

function knownArgument(text: string, isReturn: boolean, kwargOnly: boolean): Argument {
  const key = `${isReturn} ${kwargOnly} ${text}`;
  let argument = knownArguments.get(key);
  if (!argument) {
    const parser = new SchemaParser(text);
    argument = parser.parseArgument(isReturn, kwargOnly);
    parser.lexer.expect('eof');
    knownArguments.set(key, argument);
  }
  return argument;
}

/** Parses `aten::add.Tensor` (PyTorch: parseName). Throws `IR_PARSE`. */
export function parseOperatorName(text: string): { readonly name: string; readonly overloadName: string } {
  const parser = new SchemaParser(text);
  const name = parser.parseName();
  parser.lexer.expect('eof');
  return name;
}

class SchemaParser {
  readonly lexer: TextLexer;
  readonly #types: SchemaTypeParser;

  constructor(text: string, resolveClass?: ClassResolver) {
    this.lexer = new TextLexer(text);
    this.#types = new SchemaTypeParser(this.lexer, {
      completeTensorTypes: false,
      allowTypeVariables: true,
      resolveClass,
    });
  }

  parseName(): { name: string; overloadName: string } {
    let name = this.lexer.expect('ident').text;
    if (this.lexer.nextIf(':')) {
      this.lexer.expect(':');
      name += `::${this.lexer.expect('ident').text}`;
    }
    const overloadName = this.lexer.nextIf('.') ? this.lexer.expect('ident').text : '';
    // torch.ops has attributes of these names, beside one for each overload.
    if (overloadName === 'default' || overloadName.startsWith('__')) {
      throw new CressetError('IR_PARSE', `${overloadName} is not a legal overload name for aten operators`);
    }
    return { name, overloadName };
  }

  parseSignature(name: string, overloadName: string): FunctionSchema {
    const { lexer } = this;
    const args: Argument[] = [];
    const returns: Argument[] = [];
    let kwargOnly = false;
    let isVararg = false;
    let isVarret = false;
    lexer.list('(', ',', ')', () => {
      if (isVararg) {
        lexer.fail('... must be the last element of the argument list');
      }
      if (lexer.nextIf('*')) {
        kwargOnly = true;
      } else if (lexer.nextIf('dots')) {
        isVararg = true;
      } else {
        args.push(this.parseArgument(false, kwargOnly));
      }
    });
    lexer.expect('arrow');
    if (lexer.nextIf('dots')) {
      isVarret = true;
    } else if (lexer.current.kind === '(') {
      lexer.list('(', ',', ')', () => {
        if (isVarret) {
          lexer.fail('... must be the last element of the return list');
        }
        if (lexer.nextIf('dots')) {
          isVarret = true;
        } else {
          returns.push(this.parseArgument(true, false));
        }
      });
    } else {
      returns.push(this.parseArgument(true, false));
    }
    return new FunctionSchema(name, overloadName, args, returns, isVararg, isVarret);
  }

  parseArgument(isReturn: boolean, kwargOnly: boolean): Argument {
    const { lexer } = this;
    const parsed = this.#types.parseType();
    const { type, realType, aliasInfo, N } =
      lexer.current.kind === '[' ? this.#parseSizedList(parsed) : { ...parsed, N: undefined };
    if (isReturn) {
      const name = lexer.current.kind === 'ident' ? lexer.next().text : '';
      return new Argument(name, type, { realType, N, aliasInfo });
    }
    const name = lexer.expect('ident').text;
    const defaultValue = lexer.nextIf('=') ? this.#parseDefault(type, N) : undefined;
    return new Argument(name, type, { realType, N, defaultValue, kwargOnly, aliasInfo });
  }

  /** `int[2]`: a list of a size stands only here, never within another type. */
  #parseSizedList(element: ParsedType): ParsedType & { N: number } {
    const { lexer } = this;
    lexer.expect('[');
    const N = Math.trunc(Number(lexer.expect('number').text));
    lexer.expect(']');
    const list = new ListType(element.type);
    const realList = element.type === element.realType ? list : new ListType(element.realType);
    const aliasInfo = this.#types.parseContainerAnnotation(element.aliasInfo);
    return lexer.nextIf('?')
      ? { type: OptionalType.create(list), realType: OptionalType.create(realList), aliasInfo, N }
      : { type: list, realType: realList, aliasInfo, N };
  }

  #parseDefault(type: Type, N: number | undefined): Constant {
    const { lexer } = this;
    switch (type.kind) {
      case 'TensorType':
      case 'GeneratorType':
      case 'QuantizerType':
        lexer.expect('None');
        return null;
      case 'ListType':
        return this.#parseListDefault(type as ListType, N);
      case 'DeviceObjType':
        return unquoteString(lexer.expect('string_literal').text);
      case 'OptionalType':
      case 'StringType':
      case 'NumberType':
      case 'IntType':
      case 'BoolType':
      case 'FloatType':
      case 'ComplexType':
        return this.#parseSingle(type.kind);
      default:
        return lexer.fail('unexpected type, file a bug report');
    }
  }

  #parseListDefault({ elementType: { kind } }: ListType, N: number | undefined): Constant {
    const { lexer } = this;
    const start = lexer.current;
    if (start.kind === 'ident') {
      lexer.expect('None');
    }
    const values: Constant[] = [];
    if (N !== undefined && start.kind !== '[') {
      values.push(...new Array<Constant>(N).fill(this.#parseSingle(kind)));
    } else {
      lexer.list('[', ',', ']', () => values.push(this.#parseSingle(kind)));
    }
    return /^(Int|Float|Complex|Bool)Type$/.test(kind)
      ? values
      : lexer.fail('lists are only supported for float, int and complex types', start);
  }

  #parseSingle(kind: TypeKind): Constant {
    const { lexer } = this;
    if (lexer.nextIf('True')) {
      return true;
    }
    if (lexer.nextIf('False')) {
      return false;
    }
    if (lexer.nextIf('None')) {
      return null;
    }
    if (lexer.current.kind === 'string_literal') {
      return unquoteString(lexer.next().text);
    }
    if (lexer.current.kind === 'ident') {
      const { text } = lexer.next();
      return Object.hasOwn(NAMED_CONSTANTS, text) ? NAMED_CONSTANTS[text] : lexer.fail('invalid numeric default value');
    }
    const sign = lexer.nextIf('-') ? '-' : '';
    const text = sign + lexer.expect('number').text;
    // PyTorch takes the last character for the j, whatever it is.
    if (kind === 'ComplexType' || text.endsWith('j')) {
      return new Complex(0, Number(text.slice(0, -1)));
    }
    return kind === 'FloatType' || /[.e]/.test(text) ? Number(text) : BigInt(text.replace(/E.*/, ''));
  }
}
