import { repeat } from '../../kernels/loops/pieces.ts';
import { isFloatingPoint, symEq, textOf, type Tensor } from '@cresset/tensor';
import { axis, binary, reduce, TensorView, unary, type Expr } from '@cresset/tensorexpr';
import { byLowering } from '../../kernels/nests/by-lowering.ts';
import { broadcastSizes, expand } from '../../kernels/broadcast.ts';
import { decomposed, kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { float, floatParam, mul, sub } from '../../kernels/expressions.ts';
import { fillInPieces, numbersInPieces } from '../../kernels/numbers/numbers.ts';

/** Distances of vectors (ATen/native/Distance.cpp). */

interface CdistArgs {
  readonly x1: Tensor;
  readonly x2: Tensor;
  readonly p: number;
}

/** The p-norm of differences, term by term: 0 counts, infinity takes the largest. */
function distanceOf(p: number, length: number, difference: (k: number) => number): number {
  let sum = 0;
  for (let k = 0; k < length; k++) {
    const value = Math.abs(difference(k));
    if (p === 0) sum += value === 0 ? 0 : 1;
    else if (p === Infinity) sum = Math.max(sum, value);
    else sum += p === 1 ? value : p === 2 ? value * value : value ** p;
  }
  if (p === 0 || p === 1 || p === Infinity) return sum;
  return p === 2 ? Math.sqrt(sum) : sum ** (1 / p);
}

function cdistShape({ x1, x2, p }: CdistArgs): TensorMeta {
  check(x1.dim >= 2, () => `cdist only supports at least 2D tensors, X1 got: ${x1.dim}D`);
  check(x2.dim >= 2, () => `cdist only supports at least 2D tensors, X2 got: ${x2.dim}D`);
  const [columns1, columns2] = [x1.symSizes[x1.dim - 1], x2.symSizes[x2.dim - 1]];
  check(
    symEq(columns1, columns2),
    () => `X1 and X2 must have the same number of columns. X1: ${textOf(columns1)} X2: ${textOf(columns2)}`,
  );
  check(p >= 0, 'cdist only supports non-negative p values');
  for (const [name, tensor] of [
    ['X1', x1],
    ['X2', x2],
  ] as const) {
    check(
      isFloatingPoint(tensor.dtype),
      () => `cdist only supports floating-point dtypes, ${name} got: ${dtypeName(tensor.dtype)}`,
    );
  }
  const batch = broadcastSizes(x1.symSizes.slice(0, -2), x2.symSizes.slice(0, -2));
  return { sizes: [...batch, x1.symSizes[x1.dim - 2], x2.symSizes[x2.dim - 2]], dtype: x1.dtype };
}

function lowerCdist({ x1, x2, p }: CdistArgs, [out]: readonly Tensor[], context: LoweringContext): void {
  if (symEq(out.symNumel, 0)) return;
  const batch = out.symSizes.slice(0, -2);
  const target = new TensorView(out);
  const a = new TensorView(expand(x1, [...batch, ...x1.symSizes.slice(-2)]));
  const b = new TensorView(expand(x2, [...batch, ...x2.symSizes.slice(-2)]));
  const axes = target.axes();
  const outer = axes.slice(0, -2);
  const [i, j] = axes.slice(-2);
  const k = axis('k', a.sizes[a.sizes.length - 1]);
  const distance = unary('abs', sub(a.at([...outer, i, k]), b.at([...outer, j, k])));
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value: normExpr(p, distance, [k]) }];
  context.launch({ kind: 'nest', label: 'aten::cdist', axes, innerAxes: [], stores });
}

function normExpr(p: number, term: Expr, axes: Parameters<typeof reduce>[1]): Expr {
  if (p === Infinity) return binary('max', reduce('max', axes, term), float(0));
  if (p === 0) return reduce('sum', axes, unary('sign', term));
  if (p === 1) return reduce('sum', axes, term);
  if (p === 2) return unary('sqrt', reduce('sum', axes, mul(term, term)));
  return binary('pow', reduce('sum', axes, binary('pow', term, floatParam(p))), floatParam(1 / p));
}

const cdist = (schema: string, out: boolean): OperatorRow =>
  kernel<CdistArgs>(schema, {
    out,
    shape: cdistShape,
    host: byLowering(lowerCdist),
    lower: lowerCdist,
  });

const pdist = (schema: string, out: boolean): OperatorRow =>
  kernel<{ self: Tensor; p: number }>(schema, {
    out,
    shape({ self, p }) {
      check(self.dim === 2, () => `pdist only supports 2D tensors, got: ${self.dim}D`);
      check(p >= 0, 'pdist only supports non-negative p values');
      const [rows] = self.sizes;
      return { sizes: [(rows * Math.max(rows - 1, 0)) / 2], dtype: self.dtype };
    },
    *host({ self, p }, [out]) {
      const [rows, length] = self.sizes;
      const x = yield* numbersInPieces(self);
      yield* fillInPieces(out, (values) => {
        let at = 0;
        return repeat(rows, rows * (2 * length + 4), (i) => {
          for (let j = i + 1; j < rows; j++) {
            values[at++] = distanceOf(p, length, (k) => x[i * length + k] - x[j * length + k]);
          }
        });
      });
    },
  });

export const distanceRows: readonly OperatorRow[] = [
  cdist('aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor', false),
  cdist('aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor', true),
  pdist('aten::pdist(Tensor self, float p=2.) -> Tensor', false),
  pdist('aten::_pdist_forward(Tensor self, float p=2.) -> Tensor', true),
  decomposed(
    'aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor',
    `
def pairwise_distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    return torch.norm(x1 - x2 + eps, p, [max(x1.dim(), x2.dim()) - 1], keepdim)
`,
  ),
  decomposed(
    'aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor',
    `
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    pair = torch.broadcast_tensors([x1, x2])
    product = pair[0] * pair[1]
    assert product.is_floating_point(), "expected common dtype to be floating point, yet common dtype is Long"
    length1 = torch.clamp_min(torch.norm(pair[0], 2, [dim], True), eps)
    length2 = torch.clamp_min(torch.norm(pair[1], 2, [dim], True), eps)
    return ((pair[0] / length1) * (pair[1] / length2)).sum([dim])
`,
  ),
];
