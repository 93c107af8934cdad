import {
  IntType,
  scalarTypeCode,
  type GraphFunction,
  type ScalarTypeName,
  type SourceRange,
  type Value,
} from '@cresset/ir';
import { emitBuiltinCall } from '../emission/builtin-call.ts';
import { compileError } from '../compilation-error.ts';
import { NamedValue } from './named-value.ts';
import { SimpleValue } from './simple-value.ts';
import { SpecialFormValue } from './special-form-value.ts';
import type { SugaredValue } from './sugared-value.ts';

const BASE_MESSAGE =
  "Legacy Tensor Constructor only supports two schemas in TorchScript: \n'new(IntArrayRef size, *, Device? device=None)',\n" +
  "'new(PyObject* data, *, Device? device=None)\n'";

/** `torch.FloatTensor` and its kin, as they were called before `torch.tensor` (PyTorch: LegacyTensorConstructor). */
export class LegacyTensorConstructor extends SpecialFormValue {
  readonly #dtype: ScalarTypeName;

  constructor(dtype: ScalarTypeName) {
    super('prim::LegacyTypedConstructor');
    this.#dtype = dtype;
  }

  construct(
    range: SourceRange,
    fn: GraphFunction,
    args: readonly Value[],
    kwargs: readonly NamedValue[],
  ): SugaredValue {
    if (kwargs.length === 1 && kwargs[0]!.name !== 'device') {
      throw compileError(range, `${BASE_MESSAGE}Got kwarg ${kwargs[0]!.name}`);
    }
    if (kwargs.length > 1) {
      throw compileError(range, `${BASE_MESSAGE}Got multiple kwargs\n`);
    }
    const graph = fn.graphBeingDefined;
    const dtype = NamedValue.ofConstant(BigInt(scalarTypeCode(this.#dtype)), range, 'dtype');
    const areInts = args.every((arg) => arg.type === IntType.get());
    if (!areInts && args.length > 1) {
      throw compileError(range, `${BASE_MESSAGE}Got multiple positional arguments that were not all integers`);
    }
    const data = areInts ? graph.insertNode(graph.createList(IntType.get(), args)).output() : args[0]!;
    const operator = areInts && args.length > 0 ? 'aten::empty' : 'aten::tensor';
    return new SimpleValue(emitBuiltinCall(range, graph, operator, [NamedValue.of(data, range)], [dtype]));
  }
}
