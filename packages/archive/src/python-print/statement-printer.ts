import {
  type Argument,
  type Block,
  ErrorReport,
  type Graph,
  type GraphFunction,
  isListConstant,
  ListType,
  type Node,
  type Type,
  type Value,
} from '@cresset/ir';
import type { DependencyTable } from './dependency-table.ts';
import type { ExpressionPrinter } from './expression-printer.ts';
import type { NameTable } from './identifiers.ts';
import { InlineScan } from './inline-scan.ts';
import { loopKind } from './loop-kind.ts';
import { versionOf } from './operator-versions.ts';
import { type RangeStack, TaggedText } from './tagged-text.ts';
import type { ValueTexts } from './value-texts.ts';

/** An expression from so many characters on, indentation included, is not put into another one. */
const LONG_LINE = 40;

/** What the parts of a PythonPrint work on together. */
export interface PrintContext {
  readonly body: TaggedText;
  readonly ranges: RangeStack;
  readonly names: NameTable;
  readonly values: ValueTexts;
  readonly expressions: ExpressionPrinter;
  readonly dependencies: DependencyTable;
  readonly typeText: (type: Type) => string;
  /** Whether what could not be read back is refused. */
  readonly enforceImportable: boolean;
}

/** Prints functions: statements, and the expressions in them (PyTorch: PythonPrintImpl). */
export class StatementPrinter {
  /** The lowest version of the file format that what was printed can stand in. */
  minVersion = 1;
  readonly #context: PrintContext;
  readonly #inlined = new InlineScan();
  /** Up to which input the operands of a node have been searched for expressions to take out. */
  readonly #split = new Map<Node, number>();
  /** Variables of an Optional or Union type whose type has been written: it is said once, where they begin. */
  readonly #declared = new Set<Value>();
  readonly #seenConstants = new Set<Node>();
  #level = 0;

  constructor(context: PrintContext) {
    this.#context = context;
  }

  /** Prints what `print` prints one level deeper. */
  indented(print: () => void): void {
    this.#level++;
    print();
    this.#level--;
  }

  /** Prints one line at the present level. */
  line(...pieces: readonly (string | TaggedText)[]): void {
    this.#begin().write(...pieces, '\n');
  }

  #begin(): TaggedText {
    return this.#context.body.write('  '.repeat(this.#level));
  }

  /**
   * Prints a function or method with its body.
   *
   * @param withSelfType whether the type of the first argument is written; within a class it can be left out
   */
  printFunction(fn: GraphFunction, withSelfType: boolean): void {
    const { names, ranges } = this.#context;
    const { graph } = fn;
    // Each function has its own local names.
    names.clear();
    ranges.within(graph.paramNode, () => {
      this.#printSignature(fn, withSelfType);
      this.#printBody(graph.block);
    });
  }

  #printSignature({ name, schema, graph }: GraphFunction, withSelfType: boolean): void {
    const { body, dependencies, names, typeText, values } = this.#context;
    this.#begin().write(`def ${name}(`);
    schema.arguments.forEach((argument, index) => {
      dependencies.addTypesIn(argument.type);
      const variable = names.unique(argument.name);
      body.write(index === 0 ? '' : ',\n    ', variable);
      if (index > 0 || withSelfType) {
        body.write(`: ${typeText(argument.type)}`);
        this.#declared.add(graph.inputs[index]);
      }
      if (argument.defaultValue !== undefined) body.write(`=${this.#defaultText(argument)}`);
      values.setVariable(graph.inputs[index], variable);
    });
    const returned = schema.returns[0].type;
    body.write(`) -> ${typeText(returned)}:\n`);
    dependencies.addTypesIn(returned);
  }

  #defaultText({ defaultValue, N, type }: Argument): string {
    const { literals } = this.#context.expressions;
    // `int[2] stride=1`
    const isRepeated = type instanceof ListType && N !== undefined && !isListConstant(defaultValue);
    return isRepeated && typeof defaultValue !== 'object'
      ? literals.print({ elementType: type.elementType, items: new Array(N).fill(defaultValue) })
      : literals.print(defaultValue);
  }

  /** Prints a function's body: first constants that are too long for where they are used, then the statements. */
  #printBody(block: Block): void {
    const constants: Node[] = [];
    this.#collectConstants(block, constants);
    this.#inlined.block(block);
    this.indented(() => {
      for (const node of constants) this.#printConstant(node);
      this.#printBlock(block, block.outputs.length > 0);
      this.#printNode(block.returnNode);
    });
  }

  #collectConstants(block: Block, into: Node[]): void {
    for (const node of [...block.nodes(), block.returnNode]) {
      for (const { node: input } of node.inputs) {
        if (input.kind === 'prim::Constant' && !this.#seenConstants.has(input)) {
          this.#seenConstants.add(input);
          into.push(input);
        }
      }
      for (const inner of node.blocks) this.#collectConstants(inner, into);
    }
  }

  /** @param isFollowed whether statements come after the block's nodes, so that it need not say `pass`. */
  #printBlock(block: Block, isFollowed: boolean): void {
    if (!isFollowed && block.paramNode.next === block.returnNode) this.line('pass');
    for (const node of block.nodes()) if (node.kind !== 'prim::Constant') this.#printNode(node);
  }

  #printConstant(node: Node): void {
    this.#visit(node, () => this.#printComputation(node));
  }

  #printNode(node: Node): void {
    const print = STATEMENTS[node.kind];
    this.#visit(node, () => (print ? print(this, node) : this.#printComputation(node)));
  }

  #visit(node: Node, print: () => void): void {
    this.#context.ranges.within(node, () => {
      this.#addDependencies(node);
      this.minVersion = Math.max(this.minVersion, versionOf(node));
      print();
    });
  }

  #addDependencies(node: Node): void {
    const { dependencies } = this.#context;
    for (const { type } of node.inputs) dependencies.addTypesIn(type);
    for (const { type } of node.outputs) dependencies.addTypesIn(type);
    for (const name of node.attributeNames) {
      const attribute = node.attribute(name);
      if (attribute.kind === 'ty') dependencies.addTypesIn(attribute.value);
      if (attribute.kind === 'tys') attribute.value.forEach((type) => dependencies.addTypesIn(type));
    }
  }

  // ---- nodes that compute something

  #printComputation(node: Node): void {
    const { expressions, ranges, values } = this.#context;
    const text = new TaggedText(ranges);
    expressions.print(text, node);
    // Only constants may be taken out for their length alone: the order of evaluation does not matter to them.
    if (!this.#inlined.has(node) || (node.kind === 'prim::Constant' && this.#isLong(text))) {
      this.#printDefinition(node, text);
      return;
    }
    values.setExpression(node.output(), text);
    if (this.#isLong(text)) this.#takeOut(node.output());
  }

  #isLong(text: TaggedText): boolean {
    return text.byteLength + this.#level * 2 >= LONG_LINE;
  }

  /** `_0, _1 = text` */
  #printDefinition(node: Node, text: string | TaggedText): void {
    const { expressions, values } = this.#context;
    values.nameAll(node.outputs);
    const targets = node.outputs.length > 0 ? [...expressions.list(node.outputs), ' = '] : [];
    this.line(...targets, text);
  }

  /**
   * Gives a long expression, which was going to be part of another one, a statement of its own. So must have all expressions that
   * are evaluated before it, or they would come after it.
   */
  #takeOut(value: Value): void {
    const reversed: Value[] = [];
    const [{ user, offset }] = value.uses;
    this.#collectOperands(user, offset, reversed);
    for (const each of reversed.toReversed()) this.#printDefinition(each.node, this.#context.values.of(each));
  }

  /** Collects the inlined operands of `user` from the one at `offset` back to the first, then those that its own user has before it. */
  #collectOperands(user: Node, offset: number, into: Value[]): void {
    for (let [node, last] = [user, offset]; ;) {
      const searched = this.#split.get(node);
      for (let index = last; index > (searched ?? -1); index--) {
        const operand = node.inputs[index];
        if (operand.node.kind !== 'prim::Constant' && this.#inlined.has(operand.node)) into.push(operand);
      }
      this.#split.set(node, last);
      if (searched !== undefined || !this.#inlined.has(node)) return;
      const [use] = node.output().uses;
      [node, last] = [use.user, use.offset - 1];
    }
  }

  // ---- statements

  printReturn(node: Node): void {
    if (this.#context.enforceImportable && node.inputs.length !== 1) {
      throw new ErrorReport(
        node.sourceRange,
        'Exportable methods must have a single return value. Normal use of ScriptMethods should enforce this',
      );
    }
    if (node.inputs.length > 0) this.line('return ', ...this.#context.expressions.list(node.inputs));
  }

  printIf(node: Node): void {
    const { values } = this.#context;
    const { outputs } = node;
    const [thenBlock, elseBlock] = node.blocks;
    values.nameAll(outputs);
    this.line('if ', values.of(node.input()), ':');
    this.#printBranch(thenBlock, outputs);
    this.line('else:');
    this.#printBranch(elseBlock, outputs);
  }

  #printBranch(block: Block, outputs: readonly Value[]): void {
    this.indented(() => {
      this.#printBlock(block, outputs.length > 0);
      this.#printAssignment(outputs, block.outputs);
    });
  }

  /** Loop-carried values are variables assigned before the loop and at the end of each turn. */
  printLoop(node: Node): void {
    const { expressions, values } = this.#context;
    const kind = loopKind(node);
    if (kind === 'modified') {
      throw new ErrorReport(
        node.sourceRange,
        'loop cannot be printed as python because it has gone through an optimization that combined while and for loops. File a bug',
      );
    }
    const [maxTripCount, condition, ...carried] = node.inputs;
    const [block] = node.blocks;
    const [tripCount, ...carriedInputs] = block.inputs;
    values.nameAll(node.outputs);
    carriedInputs.forEach((input, index) => values.setExpression(input, values.of(node.outputs[index])));
    node.outputs.forEach((output, index) => this.#printInitialValue(output, carried[index]));

    values.nameAll([tripCount]);
    if (kind === 'for') {
      this.line('for ', values.of(tripCount), ' in range(', values.of(maxTripCount), '):');
    } else {
      // The count of a while loop is not used: its name stands for the condition.
      this.#printAssignment([tripCount], [condition]);
      this.line('while ', ...expressions.list([tripCount]), ':');
    }
    this.indented(() => {
      const assigned = kind === 'for' ? carriedInputs : block.inputs;
      this.#printBlock(block, assigned.length > 0);
      this.#printAssignment(assigned, block.outputs.slice(block.outputs.length - assigned.length));
    });
  }

  #printInitialValue(variable: Value, value: Value): void {
    const { typeText, values } = this.#context;
    const isAnnotated = isAlternative(variable.type) ? this.#declare(variable) : !variable.type.equals(value.type);
    const annotation = isAnnotated ? `: ${typeText(variable.type)}` : '';
    this.line(values.of(variable), annotation, ' = ', values.of(value));
  }

  #printAssignment(targets: readonly Value[], sources: readonly Value[]): void {
    const { expressions, typeText, values } = this.#context;
    if (targets.length === 0) return;
    const [first] = targets;
    // Python has no annotations where several variables are assigned at once.
    const isAnnotated =
      targets.length === 1 && isAlternative(first.type) && !values.hasExpression(first) && this.#declare(first);
    const annotation = isAnnotated ? ` : ${typeText(first.type)}` : '';
    this.line(...expressions.list(targets), annotation, ' = ', ...expressions.list(sources));
  }

  /** Whether it has not been declared before. */
  #declare(variable: Value): boolean {
    if (this.#declared.has(variable)) return false;
    this.#declared.add(variable);
    return true;
  }

  printUnpack(node: Node): void {
    const { expressions, values } = this.#context;
    values.nameAll(node.outputs);
    // The comma before the sign says that there is something to unpack, even if it is one value.
    const targets = node.outputs.length > 0 ? [...expressions.list(node.outputs), ', = '] : [];
    this.line(...targets, values.of(node.input()));
  }

  printSetAttr(node: Node): void {
    const { values } = this.#context;
    this.line(values.of(node.inputs[0]), `.${node.s('name')} = `, values.of(node.inputs[1]));
  }

  /** What is to run later is a function of no arguments; `start` makes a Future or an Await of it. */
  printDeferred(node: Node, functionName: string, start: string): void {
    const { names, values } = this.#context;
    const name = names.unique(functionName);
    const graph = node.g('Subgraph');
    this.line(`def ${name}():`);
    graph.inputs.forEach((input, index) => values.setExpression(input, values.of(node.inputs[index])));
    this.#printBody(graph.block);
    this.#printDefinition(node, `${start}(${name})`);
  }

  printClosure(node: Node): void {
    const { enforceImportable, typeText, values } = this.#context;
    if (enforceImportable) throw new ErrorReport(node.sourceRange, 'closures are not exportable');
    values.nameAll(node.outputs);
    const graph: Graph = node.g('Subgraph');
    values.nameAll(graph.inputs);
    const parameters = graph.inputs.map((input) => `${values.of(input).toString()}: ${typeText(input.type)}`);
    this.line('def ', values.of(node.output()), `(${parameters.join(', ')}):`);
    this.#printBody(graph.block);
  }

  printEnter(node: Node): void {
    const { values } = this.#context;
    const output = node.output();
    const head: (string | TaggedText)[] = ['with ', values.of(node.input())];
    if (output.hasUses()) {
      values.nameAll([output]);
      head.push(' as ', values.of(output));
    }
    this.line(...head, ':');
    this.#level++;
  }

  printExit(node: Node): void {
    if (node.previous.kind === 'prim::Enter') this.line('pass');
    this.#level--;
  }

  printContainerIndex(node: Node): void {
    const { typeText, values } = this.#context;
    const [container, key] = node.inputs;
    values.nameAll(node.outputs);
    const output = node.output();
    this.line(values.of(output), ` : ${typeText(output.type)} = `, values.of(container), '[', values.of(key), ']');
  }
}

/** Nodes that are statements by themselves. */
const STATEMENTS: Readonly<Record<string, (printer: StatementPrinter, node: Node) => void>> = {
  'prim::Return': (printer, node) => printer.printReturn(node),
  'prim::If': (printer, node) => printer.printIf(node),
  'prim::Loop': (printer, node) => printer.printLoop(node),
  'prim::TupleUnpack': (printer, node) => printer.printUnpack(node),
  'prim::ListUnpack': (printer, node) => printer.printUnpack(node),
  'prim::SetAttr': (printer, node) => printer.printSetAttr(node),
  'prim::fork': (printer, node) => printer.printDeferred(node, '__forked_function', 'fork'),
  'prim::awaitable': (printer, node) => printer.printDeferred(node, '__awaitable_function', 'awaitable'),
  'prim::Enter': (printer, node) => printer.printEnter(node),
  'prim::Exit': (printer, node) => printer.printExit(node),
  'prim::Closure': (printer, node) => printer.printClosure(node),
  'prim::ModuleContainerIndex': (printer, node) => printer.printContainerIndex(node),
};

function isAlternative(type: Type): boolean {
  return type.kind === 'UnionType' || type.kind === 'OptionalType';
}
