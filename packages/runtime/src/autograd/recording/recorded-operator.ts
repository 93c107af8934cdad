import { boxingOf, type OperatorRow } from '@cresset/operators';
import { argumentsWithoutSlope, derivativeKeys, type Signature } from '@cresset/operators/parts/derivatives';
import { remembered } from '@cresset/tensorexpr';
import { derivativeOf, type Derivative } from '../nodes/derivative.ts';

/** What autograd has to know of an operator. */
export interface RecordedOperator {
  /** As PyTorch names the step backwards: `MulBackward0`. */
  readonly name: string;
  readonly row: OperatorRow;
  /** The row that it is an in-place or `out=` form of, or it itself. */
  readonly source: OperatorRow;
  readonly signature: Signature;
  readonly derivative: Derivative | null;
  /** Positions of arguments that it writes to. */
  readonly writes: readonly number[];
  /** Whether what it writes to is its result. */
  readonly isInPlace: boolean;
  /** Which argument its results may be views of; -1 for none. */
  readonly viewOf: number;
  /** Whether its views are results of one step: nobody may write to one of them. Others come of a slice each. */
  readonly viewsTogether: boolean;
  /** Which argument says whether what it makes requires a gradient; -1 where none does. */
  readonly requiresGradAt: number;
  /** TorchScript text in the terms of other operators, where it has no derivative of its own. */
  readonly isComposed: boolean;
  /** Positions of arguments that may not require a gradient, with PyTorch's error. */
  readonly withoutSlope: readonly (readonly [at: number, error: string])[];
  /** Whether it gives the elements of its argument to somebody whose writes are not counted (`Tensor.data`). */
  readonly isApart: boolean;
  /** Whether it moves tensors about as values: containers, flags, numbers. */
  readonly isPlain: boolean;
}

export const recordedOperatorOf = remembered(describe);

const apart: ReadonlySet<string> = new Set(['aten::data', 'prim::data']);
const together: ReadonlySet<string> = new Set(
  ['split', 'split_with_sizes', 'chunk', 'unbind'].map((name) => `aten::${name}`),
);
/** They share elements with their argument and nothing else. */
const detaching: ReadonlySet<string> = new Set(['aten::detach', ...apart]);

function describe(row: OperatorRow): RecordedOperator {
  const { signature } = boxingOf(row);
  const source = row.derived?.from ?? row;
  const derivative = derivativeOf(source);
  const texts = signature.args.map(({ text }) => text);
  const returnsView = /-> \(?Tensor\([\w|]+\)/.test(row.schema);
  return {
    name: backwardName(boxingOf(source).signature),
    row,
    source,
    signature: row.derived ? boxingOf(source).signature : signature,
    derivative,
    writes: texts.flatMap((text, at) => (/^Tensor\(\w+!/.test(text) ? at : [])),
    isInPlace: /-> \(?Tensor\(\w!/.test(row.schema),
    viewOf:
      returnsView && !detaching.has(signature.name)
        ? texts.findIndex((text) => /^Tensor\(\w(?: -> \*)?\)/.test(text))
        : -1,
    viewsTogether: together.has(signature.name),
    requiresGradAt: signature.args.findIndex(({ name }) => name === 'requires_grad'),
    isComposed: !derivative && source.decomposition !== undefined,
    withoutSlope: [...argumentsWithoutSlope(signature.name)].map(([argument, error]) => [
      signature.args.findIndex(({ name }) => name === argument),
      error,
    ]),
    isApart: apart.has(signature.name),
    isPlain: row.scalar !== undefined,
  };
}

function backwardName({ name, overload }: Signature): string {
  const [namespace, plain] = name.split('::');
  if (namespace !== 'aten') return `GeneratedBackwardFor_${namespace}_${plain}_${overload || 'default'}Backward`;
  const short = name.slice(name.indexOf('::') + 2);
  const words = short.split('_');
  const title = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');
  const overloads = derivativeKeys().filter((key) => key.split('.')[0] === short);
  return `${title}Backward${Math.max(overloads.indexOf(overload === '' ? short : `${short}.${overload}`), 0)}`;
}
