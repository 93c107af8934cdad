import { Complex, constantValue, StringType, TupleType, type Symbol, type Value } from '@cresset/ir';
import { emitBuiltinCall } from './builtin-call.ts';
import { MagicMethod } from '../values/callable-value.ts';
import type { Emitter } from './emitter.ts';
import { tupleElements } from './implicit-conversion.ts';
import { NamedValue } from '../values/named-value.ts';
import { BuiltinFunction } from '../values/simple-value.ts';
import type { BinaryOperator, BinOp, UnaryOp } from '../parser/tree.ts';

/** Operators, and the methods of classes that stand for them. Those without a method are never a class's business. */
const BINARY_OPERATORS: Readonly<Partial<Record<BinaryOperator, readonly [symbol: Symbol, method?: string]>>> = {
  '+': ['aten::add', '__add__'],
  '-': ['aten::sub', '__sub__'],
  '*': ['aten::mul', '__mul__'],
  '**': ['aten::pow', '__pow__'],
  '/': ['aten::div', '__truediv__'],
  '%': ['aten::remainder', '__mod__'],
  '!=': ['aten::ne', '__ne__'],
  '==': ['aten::eq', '__eq__'],
  '<': ['aten::lt', '__lt__'],
  '>': ['aten::gt', '__gt__'],
  '<=': ['aten::le', '__le__'],
  '>=': ['aten::ge', '__ge__'],
  '&': ['aten::__and__', '__and__'],
  '|': ['aten::__or__', '__or__'],
  '^': ['aten::__xor__', '__xor__'],
  '<<': ['aten::__lshift__', '__lshift__'],
  '>>': ['aten::__rshift__', '__rshift__'],
  in: ['aten::__contains__', '__contains__'],
  '@': ['aten::matmul'],
  '//': ['aten::floordiv'],
};

/** An operator of two operands; `and`, `or`, `is` and `is not` are conditions and emitted elsewhere. */
export function emitBinaryOp(e: Emitter, expr: BinOp): Value {
  const { graph } = e;
  const [symbol, method] = BINARY_OPERATORS[expr.op]!;
  const operands = [NamedValue.of(e.emitExpr(expr.lhs), expr.lhs.range)];
  if (expr.op === '%' && operands[0]!.type === StringType.get()) {
    const inputs = [operands[0]!.value(graph), e.emitExpr(expr.rhs)];
    const node = graph.create('aten::percentFormat', inputs, 1).setSourceRange(expr.range);
    return graph.insertNode(node).output().setType(StringType.get());
  }
  operands.push(NamedValue.of(e.emitExpr(expr.rhs), expr.rhs.range));
  if (expr.op === 'in') {
    operands.reverse();
  }
  // No schema can tell how long the sum of two tuples is.
  if (expr.op === '+' && operands.every((operand) => operand.type instanceof TupleType)) {
    const elements = operands.flatMap((operand) => tupleElements(graph, operand.value(graph)));
    return graph.insertNode(graph.createTuple(elements).setSourceRange(expr.range)).output();
  }
  if (method === undefined) {
    return emitBuiltinCall(expr.range, graph, symbol, operands);
  }
  const callee = new MagicMethod(method, new BuiltinFunction(symbol));
  return callee.call({ range: expr.range, fn: e.fn, args: operands, kwargs: [] }).asValue(expr.range, e.fn);
}

/** `-x`, `~x` and `+x`; of a constant number, the constant that comes out of `-`. */
export function emitUnaryOp(e: Emitter, expr: UnaryOp): Value {
  const operand = e.emitExpr(expr.operand);
  const [symbol, method] = {
    '-': ['aten::neg', '__neg__'],
    '~': ['aten::bitwise_not', '__invert__'],
    '+': ['aten::pos', '__pos__'],
  }[expr.op as '-' | '~' | '+'] as [Symbol, string];
  const constant = evaluateUnary(expr.op, constantValue(operand));
  if (constant !== undefined) {
    return e.graph.insertConstant(constant, expr.range);
  }
  const callee = new MagicMethod(method, new BuiltinFunction(symbol));
  return callee
    .call({ range: expr.range, fn: e.fn, args: [NamedValue.of(operand, expr.operand.range)], kwargs: [] })
    .asValue(expr.range, e.fn);
}

function evaluateUnary(op: UnaryOp['op'], value: unknown): bigint | number | Complex | undefined {
  if (op !== '-') {
    return undefined;
  }
  if (typeof value === 'bigint') {
    return BigInt.asIntN(64, -value);
  }
  if (typeof value === 'number') {
    return -value;
  }
  return value instanceof Complex ? new Complex(-value.re, -value.im) : undefined;
}
