import {
  type ClassType,
  constantValue,
  type DictType,
  ErrorReport,
  formatQuotedString,
  FunctionType,
  ignoredFunctionName,
  InterfaceType,
  type ListType,
  type Node,
  OptionalType,
  symbolNamespace,
  type TupleType,
  type Type,
  unqualifiedName,
  type Value,
} from '@cresset/ir';
import type { DependencyTable } from './dependency-table.ts';
import { isValidIdentifier } from './identifiers.ts';
import { isInferredFromMembers, type LiteralPrinter } from './literal.ts';
import { necessaryArguments } from './necessary-arguments.ts';
import type { TaggedText } from './tagged-text.ts';
import type { ValueTexts } from './value-texts.ts';

/** Operators that are printed as Python's own functions. */
const PYTHON_FUNCTIONS: Readonly<Record<string, string>> = {
  'aten::Int': 'int',
  'aten::Float': 'float',
  'aten::Bool': 'bool',
  'aten::str': 'str',
  'aten::sorted': 'sorted',
  'prim::Print': 'print',
};

/** Operators whose name in code is not that of their symbol. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'aten::backward': 'torch.autograd.backward',
  'aten::grad': 'torch.autograd.grad',
};

/** A piece of printed code. */
type Piece = string | TaggedText;

type Form = (printer: ExpressionPrinter, node: Node) => readonly Piece[];

/** Prints what a node computes as an expression (PyTorch: PythonPrintImpl::printRHS). */
export class ExpressionPrinter {
  constructor(
    readonly values: ValueTexts,
    readonly literals: LiteralPrinter,
    readonly dependencies: DependencyTable,
    readonly typeText: (type: Type) => string,
    /** Whether what could not be read back is refused. */
    readonly enforceImportable: boolean,
  ) {}

  print(text: TaggedText, node: Node): void {
    const form = FORMS[node.kind] ?? (ignoredFunctionName(node.kind) === undefined ? operatorCall : ignoredCall);
    text.write(...form(this, node));
  }

  of(value: Value): Piece {
    return this.values.of(value);
  }

  /** Values with commas between them. */
  list(values: readonly Value[]): readonly Piece[] {
    return values.flatMap((value, index) => (index === 0 ? [this.of(value)] : [', ', this.of(value)]));
  }

  /** Arguments of a call: a comma after each. */
  callArguments(values: readonly Value[]): readonly Piece[] {
    return values.flatMap((value) => [this.of(value), ', ']);
  }

  /** The type of a node's output. */
  outputType(node: Node): string {
    return this.typeText(node.output().type);
  }
}

const annotated: Form = (printer, node) => ['annotate(', printer.outputType(node), ', ', printer.of(node.input()), ')'];

const uncheckedCast: Form = (printer, node) => [
  'unchecked_cast(',
  printer.outputType(node),
  ', ',
  printer.of(node.input()),
  ')',
];

const pythonCall: Form = (printer, node) => [PYTHON_FUNCTIONS[node.kind], '(', ...printer.list(node.inputs), ')'];

/** Nodes that are not printed as a call of their operator. */
const FORMS: Readonly<Record<string, Form>> = {
  'prim::Constant': constant,
  'prim::Uninitialized': (printer, node) => ['uninitialized(', printer.outputType(node), ')'],
  'aten::ScalarImplicit': annotated,
  'aten::FloatImplicit': annotated,
  'aten::IntImplicit': annotated,
  ...Object.fromEntries(Object.keys(PYTHON_FUNCTIONS).map((kind) => [kind, pythonCall])),
  'aten::__getitem__': (printer, node) => {
    const container = printer.of(node.inputs[0]).toString();
    return [isValidIdentifier(container) ? container : `(${container})`, '[', printer.of(node.inputs[1]), ']'];
  },
  'prim::TupleConstruct': (printer, node) => [
    (node.output().type as TupleType).name === undefined ? '' : printer.outputType(node),
    '(',
    ...printer.list(node.inputs),
    node.inputs.length === 1 ? ',)' : ')',
  ],
  'prim::TupleIndex': (printer, node) => ['(', printer.of(node.inputs[0]), ')[', printer.of(node.inputs[1]), ']'],
  'prim::TupleSlice': (printer, node) => ['(', printer.of(node.input()), `)[${node.i('beg')}:${node.i('end')}]`],
  'prim::ListConstruct': (printer, node) => {
    const { elementType } = node.output().type as ListType;
    const text = ['[', ...printer.list(node.inputs), ']'];
    const isClear = node.inputs.length > 0 && isInferredFromMembers(elementType);
    return isClear ? text : ['annotate(', printer.outputType(node), ', ', ...text, ')'];
  },
  'prim::DictConstruct': (printer, node) => {
    const { keyType, valueType } = node.output().type as DictType;
    const { inputs } = node;
    const text: Piece[] = ['{'];
    for (let index = 0; index < inputs.length; index += 2) {
      text.push(index === 0 ? '' : ', ', printer.of(inputs[index]), ': ', printer.of(inputs[index + 1]));
    }
    text.push('}');
    const isClear = inputs.length > 0 && isInferredFromMembers(keyType) && isInferredFromMembers(valueType);
    return isClear ? text : ['annotate(', printer.outputType(node), ', ', ...text, ')'];
  },
  'prim::CreateObject': (printer, node) => {
    const type = printer.outputType(node);
    return [`${type}.__new__(${type})`];
  },
  'prim::GetAttr': (printer, node) => {
    const object = printer.of(node.input());
    const field = node.s('name');
    return isValidIdentifier(field) ? [object, `.${field}`] : ['getattr(', object, `, ${formatQuotedString(field)})`];
  },
  'prim::CallFunction': (printer, node) => [
    printer.of(node.inputs[0]),
    '(',
    ...printer.callArguments(node.inputs.slice(1)),
    ')',
  ],
  'prim::CallMethod': (printer, node) => {
    const [self, ...rest] = node.inputs;
    printer.dependencies.add(self.type instanceof InterfaceType ? self.type : (self.type as ClassType));
    return ['(', printer.of(self), `).${node.s('name')}(`, ...printer.callArguments(rest), ')'];
  },
  'aten::_unwrap_optional': (printer, node) => {
    const input = node.input();
    // The type that None is unwrapped to cannot be told from None.
    if (!input.mustBeNone()) return ['torch._unwrap_optional(', printer.of(input), ')'];
    const type = printer.typeText(OptionalType.create(node.output().type));
    return [`torch._unwrap_optional(annotate(${type}, `, printer.of(input), '))'];
  },
  'prim::unchecked_cast': uncheckedCast,
  'prim::unchecked_unwrap_optional': uncheckedCast,
  'prim::isinstance': (printer, node) => {
    const types = node.tys('types').map(printer.typeText);
    return [
      'isinstance(',
      printer.of(node.input()),
      ', ',
      types.length === 1 ? types[0] : `(${types.join(', ')})`,
      ')',
    ];
  },
  'prim::tolist': (printer, node) => [
    'annotate(',
    printer.outputType(node),
    ', ',
    printer.of(node.inputs[0]),
    '.tolist())',
  ],
  // As operators these would lose the enum's type.
  'prim::EnumValue': (printer, node) => ['(', printer.of(node.input()), ').value'],
  'prim::EnumName': (printer, node) => ['(', printer.of(node.input()), ').name'],
};

function constant(printer: ExpressionPrinter, node: Node): readonly Piece[] {
  const { type } = node.output();
  if (type instanceof FunctionType) {
    printer.dependencies.add(type);
    return [printer.typeText(type)];
  }
  return [node.mustBeNone() ? 'None' : printer.literals.print(constantValue(node.output()))];
}

/** A function that is no part of the program. Throws an ErrorReport where the text is to be read back. */
function ignoredCall(printer: ExpressionPrinter, node: Node): readonly Piece[] {
  const name = ignoredFunctionName(node.kind)!;
  if (printer.enforceImportable) {
    throw new ErrorReport(
      node.sourceRange,
      `Could not export Python function call '${name}'. Remove calls to Python functions before export. Did you forget to add @script or ` +
        '@script_method annotation? If this is a nn.ModuleList, add it to __constants__',
    );
  }
  return [`^${name}()(`, ...printer.list(node.inputs), ')'];
}

function operatorCall(printer: ExpressionPrinter, node: Node): readonly Piece[] {
  const formals = node.schema().arguments;
  const { inputs } = node;
  const pieces: Piece[] = [operatorName(node.kind), '('];
  if (formals.length > 0) {
    const { necessary, out } = necessaryArguments(formals, inputs);
    for (let index = 0; index < necessary; index++) {
      if (index > 0) pieces.push(', ');
      // A function like `format` takes more arguments than its schema names.
      if (formals[index]?.kwargOnly) pieces.push(`${formals[index].name}=`);
      pieces.push(printer.of(inputs[index]));
    }
    for (let index = formals.length - out; index < formals.length; index++) {
      pieces.push(', ', `${formals[index].name}=`, printer.of(inputs[index]));
    }
  }
  pieces.push(')');
  return pieces;
}

function operatorName(kind: string): string {
  const namespace = symbolNamespace(kind);
  const name = unqualifiedName(kind);
  return OTHER_NAMES[kind] ?? (namespace === 'aten' ? `torch.${name}` : `ops.${namespace}.${name}`);
}
