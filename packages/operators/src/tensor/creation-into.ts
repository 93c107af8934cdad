import { decomposed } from '../builders.ts';
import type { OperatorRow } from '../row.ts';

/**
 * Creation of tensors in one that is there, whose dtype counts (ATen/native/TensorFactories.cpp, RangeFactories.cpp). The operators
 * that make new tensors take their dtype as an option, so these are not among the forms that are derived from them.
 */

interface Creation {
  readonly name: string;
  readonly overload: string;
  /** Arguments in a schema's words. */
  readonly args: string;
  /** What is copied into `out`, computed in its dtype. */
  readonly value: string;
}

const ARGUMENT_TYPES: Readonly<Record<string, string>> = { 'SymInt[]': 'List[int]', SymInt: 'int', Scalar: 'number' };

/** Parameters in TorchScript: `Scalar step=1` is `step: number`. */
const parametersOf = (args: string): string =>
  args
    .split(', ')
    .map((argument) => {
      const [type, name] = argument.split(/[ =]/);
      return `${name}: ${ARGUMENT_TYPES[type] ?? type}`;
    })
    .join(', ');

function creationRow({ name, overload, args, value }: Creation): OperatorRow {
  return decomposed(
    `aten::${name}.${overload}(${args}, *, Tensor(a!) out) -> Tensor(a!)`,
    `
def ${name}(${parametersOf(args)}, out: Tensor) -> Tensor:
    made = ${value}
    return out.resize_(made.size()).copy_(made)
`,
  );
}

const inDtypeOfOut = (call: string): string => `torch.${call}, dtype=out.dtype)`;

const ENDS = [
  ['out', 'Scalar', 'Scalar'],
  ['Tensor_Tensor_out', 'Tensor', 'Tensor'],
  ['Tensor_Scalar_out', 'Tensor', 'Scalar'],
  ['Scalar_Tensor_out', 'Scalar', 'Tensor'],
] as const;

const creations: readonly Creation[] = [
  { name: 'zeros', overload: 'out', args: 'SymInt[] size', value: inDtypeOfOut('zeros(size') },
  { name: 'ones', overload: 'out', args: 'SymInt[] size', value: inDtypeOfOut('ones(size') },
  {
    name: 'full',
    overload: 'out',
    args: 'SymInt[] size, Scalar fill_value',
    value: inDtypeOfOut('full(size, fill_value'),
  },
  { name: 'eye', overload: 'out', args: 'SymInt n', value: inDtypeOfOut('eye(n') },
  { name: 'eye', overload: 'm_out', args: 'SymInt n, SymInt m', value: inDtypeOfOut('eye(n, m') },
  { name: 'arange', overload: 'out', args: 'Scalar end', value: inDtypeOfOut('arange(end') },
  {
    name: 'arange',
    overload: 'start_out',
    args: 'Scalar start, Scalar end, Scalar step=1',
    value: inDtypeOfOut('arange(start, end, step'),
  },
  {
    name: 'range',
    overload: 'out',
    args: 'Scalar start, Scalar end, Scalar step=1',
    value: inDtypeOfOut('range(start, end, step'),
  },
  { name: 'range', overload: 'out_', args: 'Scalar start, Scalar end', value: inDtypeOfOut('range(start, end') },
  ...ENDS.flatMap(([overload, start, end]): Creation[] => [
    {
      name: 'linspace',
      overload,
      args: `${start} start, ${end} end, int steps`,
      value: inDtypeOfOut('linspace(start, end, steps'),
    },
    {
      name: 'logspace',
      overload,
      args: `${start} start, ${end} end, int steps, float base=10.`,
      value: inDtypeOfOut('logspace(start, end, steps, base'),
    },
  ]),
];

export const creationIntoRows: readonly OperatorRow[] = creations.map(creationRow);
