import { CressetError } from '@cresset/ir';
import { type IValue, ScriptObject, Tuple } from '@cresset/tensor';
import { whenThere } from '../dispatch/dispatch.ts';
import type { InterpreterState } from './interpreter-state.ts';

/** Asks for one comparison after the other, and is told each answer: whether the first is less than the second. */
type Sorting = Generator<readonly [IValue, IValue], IValue[], boolean>;

/**
 * The items of a list in order, objects by their `__lt__`, tuples by the first elements that differ; a Promise where a comparison has to
 * wait. Throws where a class has no `__lt__` that fits.
 */
export function sortObjects(
  items: readonly IValue[],
  reverse: boolean,
  state: InterpreterState,
): IValue[] | Promise<IValue[]> {
  if (items.length > 0) checkSortable(items[0]);
  const sorting = merged(items, reverse);
  const proceed = (step: IteratorResult<readonly [IValue, IValue], IValue[]>): IValue[] | Promise<IValue[]> => {
    let next = step;
    while (!next.done) {
      const less = isLess(next.value[0], next.value[1], state);
      if (less instanceof Promise) return less.then((answer) => proceed(sorting.next(answer)));
      next = sorting.next(less);
    }
    return next.value;
  };
  return proceed(sorting.next());
}

/** Throws where the class of an object, or of one in a tuple, has no `__lt__` for two of it; PyTorch looks at the first of the list. */
function checkSortable(item: IValue): void {
  if (item instanceof Tuple) item.items.forEach(checkSortable);
  if (!(item instanceof ScriptObject)) return;
  const { type } = item;
  const schema = type.findMethod('__lt__')?.schema;
  const takes = schema?.arguments.map((argument) => argument.type) ?? [];
  if (takes.length === 2 && takes.every((taken) => taken.equals(type)) && schema?.returns[0]?.type.kind === 'BoolType')
    return;
  const name = type.reprStr();
  throw new CressetError(
    'SORT_OBJECTS',
    `To sort a list of ${name} it must define a __lt__ method with two inputs of type ${name} that returns a bool`,
  );
}

/** Merge sort: stable, as Python's. */
function* merged(items: readonly IValue[], reverse: boolean): Sorting {
  if (items.length < 2) return [...items];
  const middle = items.length >> 1;
  const left = yield* merged(items.slice(0, middle), reverse);
  const right = yield* merged(items.slice(middle), reverse);
  const sorted: IValue[] = [];
  while (left.length > 0 && right.length > 0) {
    const rightFirst = yield reverse ? [left[0], right[0]] : [right[0], left[0]];
    sorted.push((rightFirst ? right : left).shift()!);
  }
  return [...sorted, ...left, ...right];
}

function isLess(a: IValue, b: IValue, state: InterpreterState): boolean | Promise<boolean> {
  if (a instanceof Tuple && b instanceof Tuple) {
    const at = a.items.findIndex((item, index) => item !== b.items[index]);
    return at >= 0 && isLess(a.items[at], b.items[at], state);
  }
  if (!(a instanceof ScriptObject)) return (a as bigint) < (b as bigint);
  const { type } = a;
  const method = type.getMethod('__lt__');
  const results = state.runBeside(state.codeOf(method).code([a, b]), [a, b]);
  return whenThere(results, ([less]) => less === true);
}
