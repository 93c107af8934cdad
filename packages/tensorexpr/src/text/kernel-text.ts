import type { OpenNumber, Storage } from '@cresset/tensor';
import { childrenOf } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import type { Kernel } from '../kernels/kernel.ts';

const signs: Readonly<Record<string, string>> = { add: '+', sub: '-', mul: '*', div: '/', lt: '<', gt: '>', eq: '==' };

/** What is longer is not told: what is used again and again would be written as often. */
const LONGEST = 999;

/**
 * A kernel as text, a line for each thing that it stores below its axes: `mul(i: 8)`, `@2[i] = @0[i] * 2`. Inner axes come behind a semicolon, as the axis
 * of a product's sum does, and the steps of a recurrence behind the others.
 *
 * @param nameOf what lies outside the kernel
 */
export function kernelText(kernel: Kernel, nameOf: (of: Storage | OpenNumber) => string): string {
  const axes: AxisExpr[] = [];
  const known = new Map<Expr, string>();
  const loops = (of: readonly AxisExpr[]): string =>
    of.map((axis) => `${textOf(axis)}: ${textOf(axis.extent)}`).join(', ');
  const element = (storage: Storage, offset: Expr): string => `${nameOf(storage)}[${textOf(offset)}]`;

  const bareText = (expr: Expr): string => {
    switch (expr.kind) {
      case 'axis':
        if (!axes.includes(expr)) axes.push(expr);
        return 'ijklmnpqrstuvwxyz'[axes.indexOf(expr)] ?? '…';
      case 'const':
        return `${expr.value}`;
      case 'param':
        return expr.open ? nameOf(expr.open) : `${expr.sym ?? expr.value}`;
      case 'load':
        return element(expr.operand.tensor.storage, expr.offset);
      case 'accumulator':
        return 'sum';
      case 'reduce':
        return `${expr.fn}[${loops(expr.axes)}](${textOf(expr.body)})`;
      default: {
        const fn = expr.kind === 'cast' ? expr.type : expr.kind === 'select' ? 'select' : expr.fn;
        const sign = signs[fn];
        const parts = childrenOf(expr).map((child) => textOf(child, sign));
        return sign ? parts.join(` ${sign} `) : `${fn}(${parts.join(', ')})`;
      }
    }
  };

  /** @param sign what stands beside it: another one's parts are in brackets, but for the products of a sum */
  const textOf = (expr: Expr, sign?: string): string => {
    let text = known.get(expr) ?? bareText(expr);
    if (text.length > LONGEST) text = '…';
    known.set(expr, text);
    const own = expr.kind === 'binary' ? signs[expr.fn] : expr.kind === 'param' && text.includes(' + ') && '+';
    return sign && own && sign + own !== '+*' ? `(${text})` : text;
  };

  const isProduct = kernel.kind === 'contraction';
  const heads = isProduct
    ? [[...kernel.batch, kernel.m, kernel.n], [kernel.k]]
    : [kernel.axes, kernel.innerAxes, kernel.kind === 'recurrence' ? [kernel.time] : []];
  const lines = [
    `${kernel.label}(${heads
      .map(loops)
      .join('; ')
      .replace(/[; ]+$/, '')})`,
  ];
  if (isProduct) lines.push(`sum += ${textOf(kernel.left, '*')} * ${textOf(kernel.right, '*')}`);
  for (const { operand, offset, value, guard, combine = '' } of kernel.stores) {
    const condition = guard ? `if ${textOf(guard)}: ` : '';
    lines.push(`${condition}${element(operand.tensor.storage, offset)} ${combine}= ${textOf(value)}`);
  }
  return lines.join('\n  ');
}
