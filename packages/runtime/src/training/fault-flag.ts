import { registerOperators, TensorType, type Graph, type Value } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';
import { binary, constant, select } from '@cresset/tensorexpr';
import type { RuntimeContext } from '../run/runtime-context.ts';

/** Gives the flag that kernels raise which note a fault (`FaultLog`), as it is once `after` was worked out. */
export const FAULT_FLAG = 'cresset::fault_flag';
/** Gives a value, or, where the flag was raised, what was there before. */
export const UNLESS_FAULTY = 'cresset::unless_faulty';

const rows: readonly OperatorRow[] = [
  {
    schema: `${FAULT_FLAG}(Tensor[] after) -> Tensor`,
    nondeterministic: true,
    readsNoData: true,
    host: (_args, _outputs, context) => {
      const { faults, planner } = context as RuntimeContext;
      const { flag } = faults;
      planner?.recording?.faultsGoTo(flag.storage);
      return flag;
    },
  },
  {
    schema: `${UNLESS_FAULTY}(Tensor value, Tensor before, Tensor flag) -> Tensor`,
    pointwise: {
      dtype: 'same-as-first',
      apart: ['flag'],
      body: ({ value, before, flag }) => select(binary('ne', flag, constant('i32', 0)), before, value),
    },
  },
];

/** A value that is to take the place of another. */
export interface Replacement {
  readonly value: Value;
  readonly before: Value;
}

/**
 * Inserts what is to be in the places: the values, or, where a kernel noted a fault, what was there before.
 *
 * @param after what was worked out by then
 * @param replacements of at least one dimension, as the flag has one: see {@link insertLine}
 */
export function insertUnlessFaulty(
  graph: Graph,
  after: readonly Value[],
  replacements: readonly Replacement[],
  isOfComplex: boolean,
): Value[] {
  const list = graph.insertNode(graph.createList(TensorType.get(), after)).output();
  const flag = graph.insert(FAULT_FLAG, [list]);
  if (!isOfComplex) return replacements.map(({ value, before }) => graph.insert(UNLESS_FAULTY, [value, before, flag]));
  const isFaulty = graph.insert('aten::ne', [flag, graph.insertConstant(0n)]);
  return replacements.map(({ value, before }) => graph.insert('aten::where', [isFaulty, before, value]));
}

/** A view with one dimension more, for what may have none. */
export const insertLine = (graph: Graph, value: Value): Value =>
  graph.insert('aten::unsqueeze', [value, graph.insertConstant(0n)]);

export function registerFaultFlag(): void {
  registerOperators(
    rows.map((row) => {
      const { schema, nondeterministic } = row;
      return { schema, row, nondeterministic, aliasAnalysis: 'from-schema' as const };
    }),
  );
}
