import { Complex, type GraphFunction, type SourceRange } from '@cresset/ir';
import { DeviceValue, EnumValue, List, Tuple } from '@cresset/tensor';
import { itemsIn } from '../python/interpreter/containers.ts';
import { GlobalValue } from '../python/python-constants.ts';
import { TorchCode, type PythonValue } from '../python/python-value.ts';
import { SimpleValue } from '../values/simple-value.ts';
import { SugaredTupleValue } from '../values/sugared-tuple-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';

/**
 * A value that a program is given by name, as PyTorch takes what a module of Python's has under a name (PyTorch: toSugaredValue with `is_constant`):
 * numbers, texts, dtypes and their kin are constants, tuples of them tuples whose items are known. A list is one too, since
 * nothing that is given can be changed. What no constant can be is PyTorch's `python value`, refused where it is used.
 */
export function constantAsValue(value: PythonValue, fn: GraphFunction, range: SourceRange): SugaredValue {
  if (value instanceof List || (value instanceof Tuple && value.type === null)) {
    return new SugaredTupleValue(itemsIn(value).map((item) => constantAsValue(item, fn, range)));
  }
  const plain = value instanceof TorchCode ? value.code : value;
  const isConstant =
    typeof plain !== 'object' ||
    plain === null ||
    plain instanceof Complex ||
    plain instanceof DeviceValue ||
    plain instanceof EnumValue;
  if (!isConstant) return new GlobalValue(value);
  const graph = fn.graphBeingDefined;
  return new SimpleValue(graph.insertConstant(plain, range));
}
