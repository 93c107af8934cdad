import type { Tensor } from '@cresset/tensor';
import { kernel } from '../builders.ts';
import { check } from '../errors.ts';
import type { HostContext, OperatorRow } from '../row.ts';
import { fillNumbers, readNumbers, writeNumbers } from './numbers.ts';

/**
 * Dropout in its forms (ATen/native/Dropout.cpp). Outside training the input itself is the result; in training the random
 * numbers come from the program's generator, on the host.
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

/** Negative saturation of `selu`: what a dropped element becomes. */
const alphaValue = 1.7580993408473766;

function drop({ feature, alpha }: Kind, input: Tensor, p: number, out: Tensor, { generator }: HostContext): void {
  check(!feature || input.dim >= 2, 'Feature dropout requires at least 2 dimensions in the input');
  const values = readNumbers(input);
  const size = feature ? input.numel / (input.sizes[0] * input.sizes[1]) : 1;
  const a = alpha ? 1 / Math.sqrt((alphaValue * alphaValue * p + 1) * (1 - p)) : 0;
  const scale = p === 1 ? 0 : 1 / (1 - p);
  fillNumbers(out, (result) => {
    for (let start = 0; start < values.length; start += size) {
      const kept = generator.nextUniform() >= p;
      for (let i = start; i < start + size; i++) {
        if (alpha) result[i] = p === 1 ? 0 : (kept ? values[i] * a : -alphaValue * a) + alphaValue * a * p;
        else result[i] = kept ? values[i] * scale : 0;
      }
    }
  });
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
    }),
    kernel<DropoutArgs>(`aten::${name}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)`, {
      nondeterministic: true,
      view: identity,
      host({ self, p }, _outputs, context) {
        drop(kind, self!, p, self!, context);
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
    host({ input, p, train }, [out, mask], { generator }) {
      const values = readNumbers(input);
      const kept = Float64Array.from(values, () => (train === false || generator.nextUniform() >= p ? 1 : 0));
      const scale = train === false ? 1 : p === 1 ? 0 : 1 / (1 - p);
      writeNumbers(mask, kept);
      writeNumbers(
        out,
        kept.map((keep, i) => (keep === 1 ? values[i] * scale : 0)),
      );
    },
  },
);

export const dropoutFamilyRows: readonly OperatorRow[] = [
  ...dropoutRows('dropout', { feature: false, alpha: false }),
  ...dropoutRows('feature_dropout', { feature: true, alpha: false }),
  ...dropoutRows('alpha_dropout', { feature: false, alpha: true }),
  ...dropoutRows('feature_alpha_dropout', { feature: true, alpha: true }),
  nativeDropout,
];
