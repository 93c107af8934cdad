import { contiguousStrides, isComplex, isFloatingPoint, type Tensor, scratch } from '@cresset/tensor';
import { binary, constant, param, select, TensorView, type Expr, type ParamExpr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { assertNoInternalOverlap } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { uniformAt, uniformExpr } from '../../kernels/numbers/random-stream.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import type { HostContext, LoweringContext, OperatorRow, Scalar } from '../../table/row.ts';
import { numbersInPieces, storeInPieces, fillInPieces } from '../../kernels/numbers/numbers.ts';
import { type Pieces, filled } from '../../kernels/loops/pieces.ts';

/**
 * Dropout in its forms (ATen/native/Dropout.cpp). Outside training the input itself is the result; in training the random
 * numbers come from the program's generator, the same on a device and on the host.
 */
interface Kind {
  /** One decision for a whole feature map, not for each element. */
  readonly feature: boolean;
  /** Keeps mean and variance, for inputs that went through `selu`. */
  readonly alpha: boolean;
}

interface DropoutArgs {
  readonly input?: Tensor;
  readonly self?: Tensor;
  readonly p: number;
  readonly train: boolean;
}

function checkProbability(p: number): void {
  check(p >= 0 && p <= 1, () => `dropout probability has to be between 0 and 1, but got ${p}`);
}

/** Whether there is something to decide: 0 keeps all, and the input is the result then. */
const isInside = (p: number): boolean => p > 0 && p <= 1;

/** Negative saturation of `selu`: what a dropped element becomes. */
const alphaValue = 1.7580993408473766;

/** What an element becomes: `scale` times itself and `shift` where it is kept, `dropped` where not. */
interface Factors {
  readonly scale: number;
  readonly shift: number;
  readonly dropped: number;
}

function factorsOf({ alpha }: Kind, p: number): Factors {
  if (p === 1) return { scale: 0, shift: 0, dropped: 0 };
  if (!alpha) return { scale: 1 / (1 - p), shift: 0, dropped: 0 };
  const a = 1 / Math.sqrt((alphaValue * alphaValue * p + 1) * (1 - p));
  const shift = alphaValue * a * p;
  return { scale: a, shift, dropped: shift - alphaValue * a };
}

/** Elements that one draw decides about. */
function widthOf({ feature }: Kind, input: Tensor): number {
  check(!feature || input.dim >= 2, 'Feature dropout requires at least 2 dimensions in the input');
  return feature ? input.numel / (input.sizes[0] * input.sizes[1]) : 1;
}

/** Throws for numbers that the noise, which has their dtype, cannot be divided in. */
function checkNoise({ alpha }: Kind, { dtype }: Tensor, p: number): void {
  if (p === 1) return;
  if (isComplex(dtype)) throw notImplementedFor('bernoulli_scalar_cpu_', dtypeName(dtype));
  const noise = alpha && dtype === 'bool' ? 'int64' : dtype;
  check(isFloatingPoint(dtype), () => `result type Float can't be cast to the desired output type ${dtypeName(noise)}`);
}

function* drop(kind: Kind, input: Tensor, p: number, out: Tensor, { generator }: HostContext): Pieces {
  const size = widthOf(kind, input);
  checkNoise(kind, input, p);
  const values = yield* numbersInPieces(input);
  const stream = generator.stream(values.length / size);
  const threshold = Math.fround(p);
  const { scale, shift, dropped } = factorsOf(kind, p);
  yield* fillInPieces(out, (result) =>
    filled(result, 64, (i) => {
      const isKept = uniformAt(stream, Math.floor(i / size), 'float32') >= threshold;
      // What is dropped is multiplied by zero, and a NaN stays one.
      return values[i] * (isKept ? scale : 0) + (isKept ? shift : dropped);
    }),
  );
}

function lowerDrop(kind: Kind, input: Tensor, p: number, outs: readonly Tensor[], context: LoweringContext): void {
  if (input.numel === 0) return;
  const size = widthOf(kind, input);
  checkNoise(kind, input, p);
  const stream = context.generator.stream(input.numel / size);
  // Another probability makes other numbers of the same kernel.
  const number = (of: (p: number) => number): Expr => {
    const paramOf = (value: Scalar): ParamExpr => param('float', of(value as number));
    return context.openParam?.(1, paramOf, (value) => check(isInside(value as number), '')) ?? paramOf(p);
  };
  const factor = (name: keyof Factors): Expr => number((value) => factorsOf(kind, value)[name]);
  const [source, target, mask] = [input, ...outs].map((tensor) => new TensorView(tensor));
  const axes = target.axes();
  // One draw an element, or one a feature map: the first two dimensions.
  const drawn = kind.feature ? 2 : input.dim;
  const draw = contiguousStrides(input.sizes.slice(0, drawn)).reduce<Expr>(
    (sum, stride, dim) => binary('add', sum, binary('mul', axes[dim], param('i32', stride))),
    constant('i32', 0),
  );
  const isKept = binary('ge', uniformExpr(stream, draw, 'float32'), number(Math.fround));
  const scaled = binary('mul', source.at(axes), factor('scale'));
  const value = kind.alpha
    ? select(isKept, binary('add', scaled, factor('shift')), factor('dropped'))
    : select(isKept, scaled, constant('float', 0));
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
  if (mask) stores.push({ operand: mask.operand, offset: mask.offsetAt(axes), value: isKept });
  context.launch({ kind: 'nest', label: 'aten::dropout', axes, innerAxes: [], stores });
}

function dropoutRows(name: string, kind: Kind): OperatorRow[] {
  const identity = ({ input, self, p, train }: DropoutArgs): Tensor | null => {
    checkProbability(p);
    const given = (input ?? self)!;
    return p === 0 || !train || given.numel === 0 ? given : null;
  };
  return [
    kernel<DropoutArgs>(`aten::${name}(Tensor input, float p, bool train) -> Tensor`, {
      nondeterministic: true,
      view: identity,
      shape: ({ input }) => ({ sizes: input!.sizes, dtype: input!.dtype }),
      host: ({ input, p }, [out], context) => drop(kind, input!, p, out, context),
      lower: ({ input, p }, outs, context) => lowerDrop(kind, input!, p, outs, context),
    }),
    kernel<DropoutArgs>(`aten::${name}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)`, {
      nondeterministic: true,
      view: identity,
      *host({ self, p }, _outputs, context) {
        assertNoInternalOverlap(self!);
        yield* drop(kind, self!, p, self!, context);
        return self!;
      },
      device({ self, p }, context) {
        assertNoInternalOverlap(self!);
        lowerDrop(kind, self!, p, [self!], context);
        return self!;
      },
    }),
  ];
}

interface NativeArgs {
  readonly input: Tensor;
  readonly p: number;
  readonly train: boolean | null;
}

const nativeDropout = kernel<NativeArgs>(
  'aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)',
  {
    nondeterministic: true,
    shape: ({ input }) => [
      { sizes: input.sizes, dtype: input.dtype },
      { sizes: input.sizes, dtype: 'bool' },
    ],
    *host({ input, p, train }, [out, mask], { generator }) {
      const values = yield* numbersInPieces(input);
      const stream = generator.stream(values.length);
      const threshold = train === false ? 0 : Math.fround(p);
      const kept = yield* filled(scratch(Float64Array, values.length), 64, (i) =>
        uniformAt(stream, i, 'float32') >= threshold ? 1 : 0,
      );
      const scale = train === false ? 1 : p === 1 ? 0 : 1 / (1 - p);
      yield* storeInPieces(mask, kept);
      yield* storeInPieces(out, yield* filled(kept, 4, (i) => (kept[i] === 1 ? values[i] * scale : 0)));
    },
    lower: ({ input, p, train }, outs, context) =>
      lowerDrop({ feature: false, alpha: false }, input, train === false ? 0 : p, outs, context),
  },
);

export const dropoutFamilyRows: readonly OperatorRow[] = [
  ...dropoutRows('dropout', { feature: false, alpha: false }),
  ...dropoutRows('feature_dropout', { feature: true, alpha: false }),
  ...dropoutRows('alpha_dropout', { feature: false, alpha: true }),
  ...dropoutRows('feature_alpha_dropout', { feature: true, alpha: true }),
  nativeDropout,
];
