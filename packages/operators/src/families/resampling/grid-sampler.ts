import { isFloatingPoint, type Tensor } from '@cresset/tensor';
import { binary, cast, TensorView, unary, type Expr } from '@cresset/tensorexpr';
import { decomposed, kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { Lowering, LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { add, div, float, floatParam, index, mul, sub, where, within } from '../../kernels/expressions.ts';
import { byLowering } from '../../kernels/nests/by-lowering.ts';
import { cubicExprs } from './resampling-weights.ts';

/** Samples of an image at given places (ATen/native/GridSampler.cpp). */

interface GridArgs {
  readonly input: Tensor;
  /** Places in [-1, 1], x first: `[N, …, 2]` or `[N, …, 3]`. */
  readonly grid: Tensor;
  /** 0 linear, 1 nearest, 2 cubic. */
  readonly interpolation_mode: number;
  /** What lies outside: 0 zeros, 1 the border, 2 a reflection. */
  readonly padding_mode: number;
  readonly align_corners: boolean;
}

function shape(rank: number, args: GridArgs): TensorMeta {
  const { input, grid } = args;
  checkGrid(args);
  check(
    input.dim === rank + 2 && input.dim === grid.dim,
    () =>
      `grid_sampler(): expected ${rank + 2}D input and grid with same number of dimensions, but got input with sizes ${sizesText(input.sizes)} and grid with sizes ${sizesText(grid.sizes)}`,
  );
  check(rank === 2 || args.interpolation_mode !== 2, 'grid_sampler(): bicubic interpolation only supports 4D input');
  if (!isFloatingPoint(input.dtype)) throw notImplementedFor(`grid_sampler_${rank}d_cpu`, dtypeName(input.dtype));
  return { sizes: [...input.sizes.slice(0, 2), ...grid.sizes.slice(1, -1)], dtype: input.dtype };
}

function checkGrid({ input, grid }: GridArgs): void {
  const sizes = [input, grid].map((tensor) => sizesText(tensor.sizes));
  check(
    input.dtype === grid.dtype,
    () =>
      `grid_sampler(): expected input and grid to have same dtype, but input has ${dtypeName(input.dtype).toLowerCase()} and grid has ${dtypeName(grid.dtype).toLowerCase()}`,
  );
  check(
    input.sizes[0] === grid.sizes[0],
    () =>
      `grid_sampler(): expected grid and input to have same batch size, but got input with sizes ${sizes[0]} and grid with sizes ${sizes[1]}`,
  );
  check(
    grid.sizes[grid.dim - 1] === input.dim - 2,
    () =>
      `grid_sampler(): expected grid to have size ${input.dim - 2} in last dimension, but got grid with sizes ${sizes[1]}`,
  );
  input.sizes.slice(2).forEach((size, dim) => {
    check(
      size > 0,
      () =>
        `grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ${sizes[0]} with dimension ${dim + 2} being empty`,
    );
  });
}

/** Input position and weight along one dimension; without weight it counts as 1. */
interface Sample {
  readonly at: Expr;
  readonly weight: Expr | null;
}

function samplesAt(place: Expr, size: number, args: GridArgs): Sample[] {
  const { align_corners: align, padding_mode: padding } = args;
  const last = floatParam(size - 1);
  const whole = (x: Expr): Expr => cast('i32', x);
  const halved = div(add(place, float(1)), float(2));
  const source = align ? mul(halved, last) : sub(mul(halved, floatParam(size)), float(0.5));
  // NaN goes to the border in front.
  const clipped = (at: Expr): Expr => {
    if (padding === 0) return at;
    const inner = padding === 2 ? reflectExpr(at, size, align) : at;
    return binary('min', binary('fmax', inner, float(0)), last);
  };
  if (args.interpolation_mode === 2) {
    const first = unary('floor', source);
    return cubicExprs(sub(source, first)).map((weight, tap) => ({
      at: whole(clipped(add(first, float(tap - 1)))),
      weight,
    }));
  }
  const inside = clipped(source);
  if (args.interpolation_mode === 1) return [{ at: whole(unary('round', inside)), weight: null }];
  const first = unary('floor', inside);
  const fraction = sub(inside, first);
  return [
    { at: whole(first), weight: sub(float(1), fraction) },
    { at: add(whole(first), index(1)), weight: fraction },
  ];
}

function reflectExpr(at: Expr, size: number, align: boolean): Expr {
  const low = floatParam(align ? 0 : -0.5);
  const span = floatParam(Math.max(align ? size - 1 : size, 1));
  const distance = unary('abs', sub(at, low));
  const flips = unary('floor', div(distance, span));
  const extra = sub(distance, mul(flips, span));
  // Even numbers of turns go forth, odd ones back.
  const back = sub(flips, mul(float(2), unary('floor', div(flips, float(2)))));
  return add(add(mul(sub(float(1), back), extra), mul(back, sub(span, extra))), low);
}

function lowerSample(rank: number, args: GridArgs, out: Tensor, context: LoweringContext): void {
  if (out.numel === 0) return;
  const target = new TensorView(out);
  const input = new TensorView(args.input);
  const grid = new TensorView(args.grid);
  const axes = target.axes();
  const spatial = args.input.sizes.slice(2);
  const samples = spatial.map((size, dim) =>
    samplesAt(grid.at([axes[0], ...axes.slice(2), index(rank - 1 - dim)]), size, args),
  );
  const sum = (dim: number, at: readonly Expr[]): Expr => {
    if (dim === rank) {
      const conditions = args.padding_mode === 0 ? at.map((own, d) => within(own, input.sizes[2 + d])) : [];
      const bounded =
        args.padding_mode === 0 ? at : at.map((own, d) => binary('min', own, sub(input.sizes[2 + d], index(1))));
      return where(conditions, input.at([axes[0], axes[1], ...bounded]), float(0));
    }
    return samples[dim]
      .map((sample) => {
        const value = sum(dim + 1, [...at, sample.at]);
        return sample.weight ? mul(sample.weight, value) : value;
      })
      .reduce(add);
  };
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value: sum(0, []) }];
  context.launch({ kind: 'nest', label: `aten::grid_sampler_${rank}d`, axes, innerAxes: [], stores });
}

const samplerArgs =
  '(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor';

function samplerRow(name: string, rankOf: (args: GridArgs) => number, out: boolean): OperatorRow {
  const lower: Lowering<GridArgs> = (args, [result], context) => lowerSample(rankOf(args), args, result, context);
  return kernel<GridArgs>(`aten::${name}${samplerArgs}`, {
    out,
    shape: (args) => shape(rankOf(args), args),
    host: byLowering(lower),
    lower,
  });
}

export const gridSamplerRows: readonly OperatorRow[] = [
  samplerRow('grid_sampler', ({ input }) => (input.dim === 5 ? 3 : 2), false),
  samplerRow('grid_sampler_2d', () => 2, true),
  samplerRow('grid_sampler_3d', () => 3, true),
  decomposed(
    'aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor',
    `
def affine_grid_generator(theta: Tensor, size: List[int], align_corners: bool) -> Tensor:
    assert len(size) == 4 or len(size) == 5, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs."
    rank = len(size) - 2
    spatial = size[2:]
    columns: List[Tensor] = []
    for at in range(rank):
        # x runs along the last dimension.
        dim = rank - 1 - at
        length = spatial[dim]
        if length <= 1:
            line = torch.zeros([length], dtype=theta.dtype)
        else:
            line = torch.linspace(-1.0, 1.0, length, dtype=theta.dtype)
        if length > 1 and not align_corners:
            line = line * (length - 1) / length
        shape: List[int] = []
        for d in range(rank):
            if d == dim:
                shape.append(length)
            else:
                shape.append(1)
        columns.append(line.reshape(shape).expand(spatial))
    columns.append(torch.ones(spatial, dtype=theta.dtype))
    base = torch.stack(columns, -1).reshape([1, -1, rank + 1]).expand([size[0], -1, rank + 1])
    return torch.bmm(base, theta.transpose(1, 2)).reshape([size[0]] + spatial + [rank])
`,
    { out: true },
  ),
];
