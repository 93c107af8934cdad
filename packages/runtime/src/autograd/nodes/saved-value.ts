import { OperatorError } from '@cresset/operators';
import { List, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { changesOf, historyOf, type Edge } from '../recording/tensor-history.ts';

/** How C++ names tensors by dtype. */
export const tensorTypes: Partial<Record<ScalarType, string>> = {
  float16: 'Half',
  bfloat16: 'BFloat16',
  float32: 'Float',
  float64: 'Double',
  complex64: 'ComplexFloat',
  complex128: 'ComplexDouble',
  bool: 'Bool',
  uint8: 'Byte',
  int8: 'Char',
  int16: 'Short',
  int32: 'Int',
  int64: 'Long',
};

interface SavedTensor {
  readonly tensor: Tensor;
  readonly version: number;
  /** Those that it had: an operator that makes it a view in place gives it others. */
  readonly sizes: readonly number[];
}

/** A value that a derivative needs, and how often its tensors had been written (torch::autograd::SavedVariable). */
export class SavedValue {
  #value: IValue;
  readonly #versions: readonly SavedTensor[];

  /** @param producer the step that gave it, for a result of that step; else it comes of what its history says in the end */
  constructor(
    value: IValue,
    private readonly producer: Edge | null = null,
  ) {
    // The program may change its list.
    this.#value = value instanceof List ? new List(value.elementType, [...value.items]) : value;
    this.#versions = tensorsOf(value).map((tensor) => ({
      tensor,
      version: changesOf(tensor),
      sizes: tensor.sizes,
    }));
  }

  /** Throws PyTorch's error where somebody wrote to it in place. */
  unpack(): IValue {
    for (const { tensor, version, sizes } of this.#versions) {
      const current = changesOf(tensor);
      if (current === version) continue;
      const maker = this.producer ?? historyOf(tensor).edge;
      const origin = maker
        ? `, which is output ${maker.output} of ${maker.node.name.replace(/Backward0?(?=\d*$)/, '')},`
        : '';
      throw new OperatorError(
        `one of the variables needed for gradient computation has been modified by an inplace operation: [torch.${tensorTypes[tensor.dtype] ?? 'Float'}Tensor [${(this.producer ? sizes : tensor.sizes).join(', ')}]]${origin} is at version ${current}; expected version ${version} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).`,
      );
    }
    return this.#value;
  }

  get tensors(): readonly Tensor[] {
    return this.#versions.map(({ tensor }) => tensor);
  }
}

function tensorsOf(value: IValue): Tensor[] {
  if (value instanceof Tensor) return [value];
  return value instanceof List ? value.items.filter((item) => item instanceof Tensor) : [];
}
