import type { AttributeEntry, TensorAttribute } from '../graph/attributes.ts';
import type { Block } from '../graph/block.ts';
import { Complex } from '../complex.ts';
import { type ConstantFactory, plainConstants } from '../graph/constant-value.ts';
import { DictType, ListType, TupleType } from '../types/container-types.ts';
import { Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import { ComplexType, FloatType, IntType, StringType } from '../types/primitive-types.ts';
import { printScalarTensor } from './printer.ts';
import { type ClassResolver, SchemaTypeParser } from '../schema/schema-type-parser.ts';
import { TensorType } from '../types/tensor-type.ts';
import { TextLexer, type Token, unquoteString } from './text-lexer.ts';
import type { Type } from '../types/type.ts';
import { Value } from '../graph/value.ts';

export interface ParseIrOptions {
  /** Makes the types of dotted class names; without it they are refused. */
  readonly resolveClass?: ClassResolver;
  /** Makes lists, dicts and the like; plain objects without it. */
  readonly constants?: ConstantFactory;
  /**
   * Makes tensors: of one element for `{3}`; for `<Tensor>`, whose elements are not in the text, of the node's type.
   * Without it, tensors are objects that know dtype and sizes and print as they were.
   */
  readonly makeTensor?: (type: TensorType, value: bigint | number | undefined) => TensorAttribute;
}

export interface ParsedIr {
  readonly graph: Graph;
  /** The values by the names they have in the text, where a later value of a name hides an earlier one. */
  readonly values: ReadonlyMap<string, Value>;
}

/**
 * Reads a graph's text (PyTorch: parseIR), and beyond PyTorch's parser subgraphs, tuples and dicts. Names of node outputs
 * are not kept (as in PyTorch), those of inputs are. A complex attribute with a real part is refused, as PyTorch does.
 * Throws an ErrorReport with code `IR_PARSE`.
 */
export function parseIr(text: string, options: ParseIrOptions = {}): Graph {
  return parseIrWithNames(text, options).graph;
}

/** As {@link parseIr}, and tells which value had which name in the text. */
export function parseIrWithNames(text: string, options: ParseIrOptions = {}): ParsedIr {
  const lexer = new TextLexer(text);
  const parsed = new IrParser(lexer, options).parse();
  lexer.expect('eof');
  return parsed;
}

interface TypedName {
  readonly name: string;
  readonly type: Type | undefined;
}

class IrParser {
  readonly #lexer: TextLexer;
  readonly #options: ParseIrOptions;
  readonly #constants: ConstantFactory;
  readonly #types: SchemaTypeParser;
  readonly #graph = new Graph();
  readonly #values = new Map<string, Value>();
  /** Nodes over subgraphs that stand further down, by the name they have there: `prim::FusionGroup_0`. */
  readonly #groups = new Map<string, Node>();

  constructor(lexer: TextLexer, options: ParseIrOptions) {
    this.#lexer = lexer;
    this.#options = options;
    this.#constants = options.constants ?? plainConstants;
    this.#types = new SchemaTypeParser(lexer, {
      completeTensorTypes: true,
      allowTypeVariables: true,
      resolveClass: options.resolveClass,
    });
  }

  /** A graph with its subgraphs: the `with` after it that its nodes wait for, and no further. */
  parse(): ParsedIr {
    const lexer = this.#lexer;
    lexer.expect('ident');
    lexer.list('(', ',', ')', () => this.#addInput(this.#graph.block));
    lexer.expect(':');
    this.#parseNodes(this.#graph.block);
    lexer.expect('return');
    this.#parseOutputs(this.#graph.block);
    while (this.#groups.size > 0) {
      this.#parseSubgraph();
    }
    return { graph: this.#graph, values: this.#values };
  }

  /** `with prim::FusionGroup_0 = graph(…)` */
  #parseSubgraph(): void {
    const lexer = this.#lexer;
    lexer.expect('with');
    const token = lexer.current;
    const name = this.#parseKind();
    const node = this.#groups.get(name) ?? lexer.fail(`no node has a subgraph called ${name}`, token);
    this.#groups.delete(name);
    lexer.expect('=');
    const others = node.attributeNames.map((attribute) => [attribute, node.attribute(attribute)] as const);
    others.forEach(([attribute]) => node.removeAttribute(attribute));
    node.setG(
      'Subgraph',
      lexer.nested(() => new IrParser(lexer, this.#options).parse().graph),
    );
    others.forEach(([attribute, entry]) => node.setAttribute(attribute, entry));
  }

  #addInput(block: Block): void {
    const { name, type } = this.#parseTypedName();
    const input = block.addInput(Value.isValidName(name) ? name : '').setType(type ?? TensorType.get());
    this.#values.set(name, input);
  }

  #parseTypedName(): TypedName {
    const name = this.#parseName();
    const type = this.#lexer.nextIf(':') ? this.#types.parseType().type : undefined;
    return { name, type };
  }

  #parseName(): string {
    if (this.#lexer.current.kind !== 'value') {
      this.#lexer.expect('%');
    }
    return this.#lexer.next().text.slice(1);
  }

  #parseValue(): Value {
    const token = this.#lexer.current;
    const name = this.#parseName();
    return this.#values.get(name) ?? this.#lexer.fail(`Cannot find a variable with name '${name}'`, token);
  }

  #parseOutputs(block: Block): void {
    this.#lexer.list('(', ',', ')', () => block.registerOutput(this.#parseValue()));
  }

  #parseNodes(block: Block): void {
    while (this.#lexer.current.kind !== 'arrow' && this.#lexer.current.kind !== 'return') {
      this.#parseNode(block);
    }
  }

  #parseNode(block: Block): void {
    const lexer = this.#lexer;
    const outputs: TypedName[] = [];
    if (lexer.current.kind === 'value') {
      lexer.list(undefined, ',', undefined, () => outputs.push(this.#parseTypedName()));
      lexer.expect('=');
    } else {
      // A node without outputs is printed with nothing before the equals sign.
      lexer.nextIf('=');
    }
    const token = lexer.current;
    const kind = this.#parseKind();
    const nodeKind = this.#isSubgraphKind(kind) ? kind.replace(/_\d+$/, '') : kind;
    const node = this.#graph.create(nodeKind, [], outputs.length).setSourceRange(lexer.rangeOf(token));
    if (nodeKind !== kind) {
      this.#groups.set(kind, node);
    }
    if (outputs.length === 1) {
      // Attributes are read by the type of the output: an empty list has it from there.
      node.output().setType(outputs[0].type ?? TensorType.get());
    }
    if (lexer.current.kind === '[') {
      lexer.list('[', ',', ']', () => this.#parseAttribute(node));
    }
    lexer.list('(', ',', ')', () => node.addInput(this.#parseValue()));
    this.#setOutputTypes(node, outputs, token);
    block.appendNode(node);
    while (lexer.current.kind === 'ident' && /^block\d+$/.test(lexer.current.text)) {
      lexer.nested(() => this.#parseBlock(node.addBlock()));
    }
    outputs.forEach(({ name }, index) => this.#values.set(name, node.output(index)));
  }

  #parseKind(): string {
    const lexer = this.#lexer;
    const namespace = lexer.expect('ident').text;
    lexer.expect(':');
    lexer.expect(':');
    // Operators may be called `and`, `is` and the like, which are no identifiers.
    const name =
      lexer.current.kind === 'ident' || /^\w+$/.test(lexer.current.text) ? lexer.next() : lexer.expect('ident');
    return `${namespace}::${name.text}`;
  }

  /** Whether a kind ends in the number of a subgraph, whose text then comes after the graph. */
  #isSubgraphKind(kind: string): boolean {
    return /_\d+$/.test(kind) && this.#lexer.source.text.includes(`with ${kind} = `);
  }

  #setOutputTypes(node: Node, outputs: readonly TypedName[], token: Token): void {
    const schema = node.maybeSchema();
    outputs.forEach(({ type }, index) => {
      const declared = schema === undefined || schema.isVarret ? undefined : schema.returns[index]?.type;
      if (type !== undefined && declared !== undefined && !declared.hasFreeVariables() && !type.isSubtypeOf(declared)) {
        this.#lexer.fail(
          `Annotated type ${type.reprStr()} does not match schema type ${declared.reprStr()} for operator ${schema}`,
          token,
        );
      }
      node.output(index).setType(type ?? declared ?? TensorType.get());
    });
  }

  #parseBlock(block: Block): void {
    const lexer = this.#lexer;
    lexer.next();
    lexer.list('(', ',', ')', () => this.#addInput(block));
    lexer.expect(':');
    this.#parseNodes(block);
    lexer.expect('arrow');
    this.#parseOutputs(block);
  }

  // ---- attributes

  #parseAttribute(node: Node): void {
    const lexer = this.#lexer;
    const name = lexer.expect('ident').text;
    lexer.expect('=');
    const type = node.outputs.length === 1 ? node.output().type : undefined;
    node.setAttribute(name, this.#parseAttributeValue(type));
  }

  #parseAttributeValue(type: Type | undefined): AttributeEntry {
    const lexer = this.#lexer;
    switch (lexer.current.kind) {
      case '[':
        return this.#parseListAttribute(type);
      case '(':
        return { kind: 'ival', value: this.#parseConstant(type) };
      case '{':
        return type instanceof TensorType
          ? { kind: 't', value: this.#parseScalarTensor(type) }
          : { kind: 'ival', value: this.#parseConstant(type) };
      case '<':
        return { kind: 't', value: this.#parseOpaqueTensor(type) };
      default:
        break;
    }
    if (lexer.isIdent('annotate')) {
      return { kind: 'ival', value: this.#parseConstant(type) };
    }
    return asFloatWherePrintedSo(this.#parseScalarAttribute(), type);
  }

  #parseScalarAttribute(): AttributeEntry {
    const lexer = this.#lexer;
    if (lexer.current.kind === 'string_literal') {
      return { kind: 's', value: unquoteString(lexer.next().text) };
    }
    if (lexer.nextIf('True')) {
      return { kind: 'i', value: 1n };
    }
    if (lexer.nextIf('False')) {
      return { kind: 'i', value: 0n };
    }
    const isNumber =
      lexer.current.kind === '-' || lexer.current.kind === 'number' || lexer.isIdent('inf') || lexer.isIdent('nan');
    if (isNumber) {
      const value = this.#parseNumber();
      switch (typeof value) {
        case 'bigint':
          return { kind: 'i', value };
        case 'number':
          return { kind: 'f', value };
        default:
          return { kind: 'c', value };
      }
    }
    if (lexer.current.kind === 'ident') {
      return { kind: 'ty', value: this.#types.parseType().type };
    }
    return lexer.fail(`Could not parse literal${lexer.current.text}`);
  }

  /** An int is a bigint; a float has a point or an exponent; an imaginary number ends in j. */
  #parseNumber(): bigint | number | Complex {
    const lexer = this.#lexer;
    const first = lexer.current;
    const sign = lexer.nextIf('-') ? '-' : '';
    if (lexer.isIdent('inf') || lexer.isIdent('nan')) {
      const size = lexer.next().text === 'inf' ? Number.POSITIVE_INFINITY : Number.NaN;
      return sign === '' ? size : -size;
    }
    if (lexer.current.kind !== 'number') {
      lexer.fail(`Expected a number after '-' but got:${first.text}`, first);
    }
    const { text } = lexer.next();
    if (text.endsWith('j')) {
      return new Complex(0, Number(sign + text.slice(0, -1)));
    }
    if (/[.eE]/.test(text)) {
      return Number(sign + text);
    }
    const integer = BigInt(sign + text);
    return BigInt.asIntN(64, integer) === integer ? integer : lexer.fail('Number is too big', first);
  }

  #parseListAttribute(type: Type | undefined): AttributeEntry {
    const lexer = this.#lexer;
    if (lexer.lookahead.kind === '<') {
      return { kind: 'ts', value: this.#parseOpaqueTensors() };
    }
    const isNested = lexer.lookahead.kind === '[' || lexer.lookahead.kind === '(' || lexer.lookahead.kind === '{';
    if (isNested || lexer.lookahead.kind === ']') {
      return { kind: 'ival', value: this.#parseConstant(type) };
    }
    const entries: AttributeEntry[] = [];
    const start = lexer.current;
    lexer.list('[', ',', ']', () => entries.push(this.#parseScalarAttribute()));
    const { kind } = entries[0];
    if (entries.some((entry) => entry.kind !== kind)) {
      lexer.fail('the elements of a list attribute are of several kinds', start);
    }
    const values = entries.map((entry) => entry.value);
    switch (kind) {
      case 'i':
        // PyTorch reads bools as ints, and prints them so from there on.
        return elementTypeOf(type)?.kind === 'BoolType'
          ? { kind: 'is', value: values as bigint[] }
          : { kind: 'ival', value: this.#constants.list(elementTypeOf(type) ?? IntType.get(), values) };
      case 'f':
        return { kind: 'ival', value: this.#constants.list(elementTypeOf(type) ?? FloatType.get(), values) };
      case 's':
        return { kind: 'ival', value: this.#constants.list(elementTypeOf(type) ?? StringType.get(), values) };
      case 'c':
        return { kind: 'ival', value: this.#constants.list(elementTypeOf(type) ?? ComplexType.get(), values) };
      default:
        return { kind: 'tys', value: values as Type[] };
    }
  }

  /** A constant as the printer writes it within an ival attribute. */
  #parseConstant(type: Type | undefined): unknown {
    return this.#lexer.nested(() => this.#parseNestedConstant(type));
  }

  #parseNestedConstant(type: Type | undefined): unknown {
    const lexer = this.#lexer;
    if (lexer.isIdent('annotate')) {
      lexer.next();
      lexer.expect('(');
      const annotated = this.#types.parseType().type;
      lexer.expect(',');
      const value = this.#parseConstant(annotated);
      lexer.expect(')');
      return value;
    }
    switch (lexer.current.kind) {
      case '[': {
        const items: unknown[] = [];
        const elementType = elementTypeOf(type);
        lexer.list('[', ',', ']', () => items.push(this.#parseConstant(elementType)));
        return this.#constants.list(elementType ?? TensorType.get(), items);
      }
      case '(':
        return this.#parseTuple(type instanceof TupleType ? type : undefined);
      case '{':
        return this.#parseDict(type);
      case 'None':
        lexer.next();
        return null;
      case 'True':
      case 'False':
        return lexer.next().text === 'True';
      default:
        return this.#parseScalarConstant(type);
    }
  }

  #parseScalarConstant(type: Type | undefined): unknown {
    const lexer = this.#lexer;
    if (lexer.isIdent('torch') && lexer.lookahead.kind === '.') {
      lexer.next();
      lexer.next();
      lexer.expect('ident');
      lexer.expect('(');
      const device = this.#constants.device(unquoteString(lexer.expect('string_literal').text));
      lexer.expect(')');
      return device;
    }
    const entry = this.#parseScalarAttribute();
    if (entry.kind === 'f' && (lexer.nextIf('+') || lexer.current.kind === '-')) {
      const imaginary = this.#parseNumber();
      return imaginary instanceof Complex
        ? this.#constants.complex(entry.value, imaginary.im)
        : lexer.fail('expected an imaginary number');
    }
    return entry.kind === 'i' && type?.kind === 'BoolType' ? entry.value !== 0n : entry.value;
  }

  #parseTuple(type: TupleType | undefined): unknown {
    const items: unknown[] = [];
    const lexer = this.#lexer;
    lexer.expect('(');
    while (lexer.current.kind !== ')') {
      items.push(this.#parseConstant(type?.elements[items.length]));
      if (lexer.current.kind !== ')') {
        lexer.expect(',');
      }
    }
    lexer.expect(')');
    return this.#constants.tuple(items, type?.named === undefined ? null : type);
  }

  #parseDict(type: Type | undefined): unknown {
    const lexer = this.#lexer;
    const start = lexer.current;
    const dict = type instanceof DictType ? type : lexer.fail('a dict stands where the type is none', start);
    const entries: [unknown, unknown][] = [];
    lexer.list('{', ',', '}', () => {
      const key = this.#parseConstant(dict.keyType);
      lexer.expect(':');
      entries.push([key, this.#parseConstant(dict.valueType)]);
    });
    return this.#constants.dict(dict.keyType, dict.valueType, entries);
  }

  // ---- tensors

  #parseScalarTensor(type: TensorType): TensorAttribute {
    const lexer = this.#lexer;
    lexer.expect('{');
    const value = this.#parseNumber();
    lexer.expect('}');
    if (typeof value === 'object') {
      return lexer.fail('tensors of complex numbers cannot be read');
    }
    if (this.#options.makeTensor !== undefined) {
      return this.#options.makeTensor(type, value);
    }
    const text = printScalarTensor(value);
    const dtype = type.scalarType ?? (typeof value === 'bigint' ? 'int64' : 'float32');
    return { dtype, sizes: type.concreteSizes ?? [], graphText: () => text };
  }

  #parseOpaqueTensor(type: Type | undefined): TensorAttribute {
    const lexer = this.#lexer;
    lexer.expect('<');
    const token = lexer.expect('ident');
    lexer.expect('>');
    if (token.text !== 'Tensor') {
      lexer.fail(`Could not parse literal<${token.text}`, token);
    }
    const tensorType = type instanceof TensorType ? type : TensorType.get();
    return (
      this.#options.makeTensor?.(tensorType, undefined) ?? {
        dtype: tensorType.scalarType ?? 'float32',
        sizes: tensorType.concreteSizes ?? [],
      }
    );
  }

  /** `[<Tensors>]`: how many there were, the text does not tell. */
  #parseOpaqueTensors(): TensorAttribute[] {
    const lexer = this.#lexer;
    lexer.expect('[');
    lexer.expect('<');
    lexer.expect('ident');
    lexer.expect('>');
    lexer.expect(']');
    return [];
  }
}

/** Large floats are printed without a point: the type of the constant tells that they are no ints. */
function asFloatWherePrintedSo(entry: AttributeEntry, type: Type | undefined): AttributeEntry {
  const isFloat =
    entry.kind === 'i' && type?.kind === 'FloatType' && (entry.value >= 10n ** 10n || entry.value <= -(10n ** 10n));
  return isFloat ? { kind: 'f', value: Number(entry.value) } : entry;
}

function elementTypeOf(type: Type | undefined): Type | undefined {
  return type instanceof ListType ? type.elementType : undefined;
}
