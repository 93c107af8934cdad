import type { ScalarType, Tensor } from '@cresset/tensor';
import { check } from '../../kernels/errors.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';
import { checkInfos } from '../linalg/checks.ts';

const list = (numbers: readonly number[]): string => `[${numbers.join(', ')}]`;
const same = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((each, index) => each === b[index]);

interface Metadata {
  readonly a: Tensor;
  readonly size: readonly number[] | null;
  readonly stride: readonly number[] | null;
  readonly dtype: ScalarType | null;
}

/** What programs of torch.export assert, and what they copy of their constants. Where a tensor is, is the runtime's business. */
export const assertionRows: readonly OperatorRow[] = [
  {
    schema:
      'aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()',
    hasSideEffects: true,
    readsNoData: true,
    host({ a, size, stride, dtype }: Metadata) {
      const mismatch = (what: string, expected: string, got: string) => (): string =>
        `Tensor ${what} mismatch! Expected: ${expected}, Got: ${got}`;
      if (size) check(same(a.sizes, size), mismatch('sizes', list(size), list(a.sizes)));
      if (stride) check(same(a.strides, stride), mismatch('strides', list(stride), list(a.strides)));
      if (dtype === null) return;
      check(a.dtype === dtype, () => mismatch('dtype', dtypeName(dtype), cppTypeName(a.dtype))());
    },
  },
  {
    schema: 'aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()',
    hasSideEffects: true,
    host({ info, api_name, is_matrix }: { info: Tensor; api_name: string; is_matrix: boolean }) {
      checkInfos(Array.from(info.contiguousArray() as ArrayLike<number>, Number), api_name, is_matrix);
    },
  },
  decomposed(
    'aten::lift_fresh_copy(Tensor self) -> Tensor',
    `
def lift_fresh_copy(self: Tensor) -> Tensor:
    return self.clone()
`,
    { out: true },
  ),
];
