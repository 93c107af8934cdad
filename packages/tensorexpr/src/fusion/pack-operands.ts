import type { Storage, Tensor } from '@cresset/tensor';
import { axis, binary, constant, param } from '../expressions/builders.ts';
import type { Expr } from '../expressions/expr.ts';
import { exprTypeOf, type Operand } from '../expressions/operand.ts';
import { expressionsIn, type Kernel, type LoopNest } from '../kernels/kernel.ts';
import { loadsIn } from '../expressions/walk.ts';
import { elsewhere, type Elsewhere } from './elsewhere.ts';

/** A kernel that reads one tensor in the place of several. */
export interface WithPackedOperands {
  readonly kernel: Kernel;
  /** Fills that tensor. */
  readonly producer: LoopNest;
}

/** Elements of float32 of some storages, as many as each has. */
const lengthOf = ({ byteLength }: Storage): number => byteLength / 4;

/**
 * Has a kernel read what lies in several storages of float32 from one tensor, in which they lie one behind the other.
 *
 * @param make a tensor of float32 of so many elements
 */
export function packOperands(
  kernel: Kernel,
  storages: readonly Storage[],
  make: (count: number) => Tensor,
): WithPackedOperands {
  const operands = new Map<Storage, Operand>();
  for (const { operand } of loadsIn(expressionsIn(kernel))) operands.set(operand.tensor.storage, operand);
  const tensor = make(storages.reduce((sum, storage) => sum + lengthOf(storage), 0));
  const operand: Operand = { tensor, dtype: tensor.dtype };
  const at = axis('i', param('i32', Math.max(...storages.map(lengthOf))));
  const places = new Map<Storage, Elsewhere>();
  let first = 0;
  const stores = storages.map((storage) => {
    const from = operands.get(storage)!;
    const base: Expr = first > 0 ? param('i32', first) : constant('i32', 0);
    places.set(storage, { operand, base });
    first += lengthOf(storage);
    return {
      operand,
      offset: binary('add', base, at),
      value: { kind: 'load' as const, type: exprTypeOf(from.dtype), operand: from, offset: at },
      guard: binary('lt', at, param('i32', lengthOf(storage))),
    };
  });
  return {
    kernel: elsewhere(kernel, (each) => places.get(each.tensor.storage) ?? null),
    producer: { kind: 'nest', label: 'parameters of a kernel', axes: [at], innerAxes: [], stores },
  };
}
