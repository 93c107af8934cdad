import { List, ScriptObject, Tensor, Tuple, typeOfValue, type IValue } from '@cresset/tensor';
import { OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { valuesEqual } from '../scalar/comparison.ts';

/** Sorting of lists whose elements are tuples (c10::getLessThanComparator, isSortableListOfObjectsOrTuples). Lists of numbers,
 * strings and tensors have operators of their own. */

type Comparison = (a: IValue, b: IValue) => boolean;

const BASIC_TYPES = new Set(['Tensor', 'int', 'float', 'bool', 'str']);

/** A type as messages name it. */
function typeName(value: IValue): string {
  if (value === null) return 'NoneType';
  if (value instanceof Tuple) return value.type?.annotationStr() ?? `Tuple[${value.items.map(typeName).join(', ')}]`;
  if (value instanceof Tensor) return 'Tensor';
  if (value instanceof List) return `List[${value.elementType.annotationStr()}]`;
  if (value instanceof ScriptObject) return value.type.annotationStr();
  const names = { bigint: 'int', number: 'float', boolean: 'bool', string: 'str' } as const;
  return names[typeof value as keyof typeof names] ?? 'Any';
}

function isSortable(value: IValue): boolean {
  return value instanceof Tuple ? value.items.every(isSortable) : BASIC_TYPES.has(typeName(value));
}

function checkSortable(values: readonly IValue[]): void {
  const type = typeName(values[0]);
  const other = values.map(typeName).find((name) => name !== type);
  if (other !== undefined) {
    throw new OperatorError(`Only values of same type can be compared. Found ${type} and ${other}`);
  }
  if (!(values[0] instanceof Tuple)) {
    throw new OperatorError(
      'Only list of Tensors, ints, floats, bools, strs, a User Defined Class that defines the __lt__ compare method' +
        ` or Tuples of aforementioned types can be sorted, got list of ${type}\n`,
    );
  }
  if (!isSortable(values[0])) {
    throw new OperatorError(
      `Contained elements in ${typeOfValue(values[0])?.str()} are not sortable. Only Int, Bool, Float, String, Tensor, ` +
        'a User Defined Class with __lt__ method defined or Tuples of aforementioned types can be sorted.',
    );
  }
}

function truth(tensor: Tensor): number | bigint {
  if (tensor.numel !== 1) throw new OperatorError('Boolean value of Tensor with more than one value is ambiguous');
  return tensor.contiguousArray()[0];
}

/** Tuples compare by the first elements that differ. */
const isLess: Comparison = (a, b) => {
  if (a instanceof Tuple && b instanceof Tuple) {
    const at = a.items.findIndex((item, index) => !valuesEqual(item, b.items[index]));
    return at >= 0 && isLess(a.items[at], b.items[at]);
  }
  if (a instanceof Tensor && b instanceof Tensor) return truth(a) < truth(b);
  return (a as bigint) < (b as bigint);
};

function sort(items: IValue[], reverse: boolean): void {
  if (items.length === 0) return;
  checkSortable(items);
  const before: Comparison = reverse ? (a, b) => isLess(b, a) : isLess;
  items.sort((a, b) => (before(a, b) ? -1 : before(b, a) ? 1 : 0));
}

export const listSortingRows: readonly OperatorRow[] = [
  {
    schema: 'aten::sort.any(t[](a!) self, bool reverse=False) -> ()',
    readsElements: true,
    scalar: (list, reverse) => {
      sort((list as List).items, reverse as boolean);
      return null;
    },
  },
  {
    schema: 'aten::sorted.any(t[](a) self) -> t[]',
    readsElements: true,
    scalar: (list) => {
      const { elementType, items } = list as List;
      const sorted = new List(elementType, [...items]);
      sort(sorted.items, false);
      return sorted;
    },
  },
];
