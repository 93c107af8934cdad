import { lowerPointwise, pointwisePieces, pointwiseShape } from '../kernels/loops/pointwise.ts';
import type {
  DeviceKernel,
  PointwiseArguments,
  PointwiseRule,
  HostKernel,
  Lowering,
  OperatorRow,
  ReductionRule,
  Results,
  ScalarKernel,
  ShapeRule,
  Sharing,
} from './row.ts';
import type { Pieces } from '../kernels/loops/pieces.ts';
import { overloadOf, usualOutName } from './variants.ts';

/** Which derived forms PyTorch has; `true` gives the usual overload name. */
export interface Forms {
  readonly inPlace?: boolean | string;
  readonly out?: boolean | string;
}

const formsOf = (
  schema: string,
  { inPlace, out }: Forms,
  byDefault: boolean,
): Pick<OperatorRow, 'inPlace' | 'out'> => ({
  inPlace: typeof inPlace === 'string' ? inPlace : (inPlace ?? byDefault) ? overloadOf(schema) : undefined,
  out: typeof out === 'string' ? out : (out ?? byDefault) ? usualOutName(schema) : undefined,
});

export type PointwiseForms = PointwiseRule & Forms & Pick<OperatorRow, 'onExpanded' | 'mayShare'>;

/** One value of its arguments' elements at the same place, with broadcasting and promotion. Has `_` and `.out` forms unless
 * told otherwise. */
export function pointwise(
  schema: string,
  { inPlace, out, onExpanded, mayShare, ...rule }: PointwiseForms,
): OperatorRow {
  return { schema, pointwise: rule, onExpanded, mayShare, ...formsOf(schema, { inPlace, out }, true) };
}

/** Elements of `self` combined over the dimensions in `dim` (an int, a list, or all where it is absent or null), which
 * stay with size 1 where `keepdim` is set. Has an `.out` form unless told otherwise. */
export function reduction(schema: string, { inPlace, out, ...rule }: ReductionRule & Forms): OperatorRow {
  return { schema, reduction: rule, ...formsOf(schema, { inPlace: inPlace ?? false, out }, true) };
}

/** What a kernel row may say; `Args` are the schema's arguments by name, unboxed. */
export interface KernelRule<Args> extends Forms {
  readonly shape?: ShapeRule<Args>;
  readonly host?: HostKernel<Args>;
  readonly lower?: Lowering<Args>;
  readonly lowerable?: (args: Args) => boolean;
  readonly device?: DeviceKernel<Args>;
  /** A view that is the result already, where there is one; null where the row has to compute. */
  readonly view?: (args: Args) => Results | null;
  readonly readsNoData?: boolean;
  readonly takesSizes?: OperatorRow['takesSizes'];
  readonly promotes?: true;
  readonly takesQuantized?: boolean;
  readonly nondeterministic?: boolean;
  readonly writesInPlace?: true;
  readonly moves?: true;
  readonly resizesSelf?: true;
  readonly mayShare?: (args: Args) => Sharing;
  readonly onExpanded?: HostKernel<Args>;
}

/** Anything else that computes: outputs by `shape`, filled by `host` or `lower`. */
export function kernel<Args>(schema: string, { inPlace, out, ...rule }: KernelRule<Args>): OperatorRow {
  return { schema, ...rule, ...formsOf(schema, { inPlace, out }, false) } as OperatorRow;
}

/** A row whose shape, view and lowering take expressions in the place of whole numbers. */
export const takingSizes = (row: OperatorRow): OperatorRow => ({ ...row, takesSizes: true });

/** Another tensor over the same storage. */
export function view<Args>(schema: string, fn: (args: Args) => Results | Pieces<Results>): OperatorRow {
  return { schema, view: fn as OperatorRow['view'] };
}

/** Looks at a tensor's sizes, strides or dtype but never at its elements. */
export function property<Args>(schema: string, fn: (args: Args) => Results): OperatorRow {
  return { schema, readsNoData: true, host: ((args: Args) => fn(args)) as OperatorRow['host'] };
}

/** TorchScript text that says it in terms of other operators; the function's parameters are the schema's, in order. */
export function decomposed(schema: string, decomposition: string, forms: Forms = {}): OperatorRow {
  return { schema, decomposition, ...formsOf(schema, forms, false) };
}

/** On raw IValues: numbers, strings, lists, dicts. */
export function scalar(schema: string, fn: ScalarKernel): OperatorRow {
  return { schema, scalar: fn };
}

/** Known to the compiler only: running it raises an error that names it. */
export function declared(schema: string): OperatorRow {
  return { schema };
}

/** Arguments made ready (viewed, filled in), then another pointwise row. */
export function through<Args>(
  schema: string,
  row: OperatorRow,
  prepare: (args: Args) => PointwiseArguments,
  forms: Forms = {},
): OperatorRow {
  return kernel<Args>(schema, {
    shape: (args) => pointwiseShape(row, prepare(args)),
    host: (args, [output]) => pointwisePieces(row, prepare(args), output),
    lower: (args, [output], context) => lowerPointwise(row, prepare(args), output, context),
    ...forms,
  });
}
