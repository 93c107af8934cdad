import { scalarTypeCode, scalarTypeFromCode } from '@cresset/ir';
import {
  Complex,
  isComplex,
  isFloatingPoint,
  promoteTypes,
  type IValue,
  type ScalarType,
  type Tensor,
} from '@cresset/tensor';
import { promotionOperand, resultTypeOf } from '../../kernels/type-promotion.ts';
import { property } from '../../table/builders.ts';
import type { OperatorRow, Scalar } from '../../table/row.ts';

const dtypeOf = (code: IValue): ScalarType => scalarTypeFromCode(code as bigint) as ScalarType;

function canCast(from: ScalarType, to: ScalarType): boolean {
  const rank = (dtype: ScalarType): number => {
    if (dtype === 'bool') return 0;
    return isComplex(dtype) ? 3 : isFloatingPoint(dtype) ? 2 : 1;
  };
  return rank(from) <= rank(to) && (to !== 'bool' || from === 'bool');
}

function dtypeOfScalar(value: IValue): ScalarType {
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'boolean') return 'bool';
  return value instanceof Complex ? 'complex64' : 'float32';
}

/** What dtypes become of each other, asked by a program. */
export const dtypeQuestionRows: readonly OperatorRow[] = [
  {
    schema: 'aten::can_cast(ScalarType from_, ScalarType to) -> bool',
    scalar: (from, to) => canCast(dtypeOf(from), dtypeOf(to)),
  },
  {
    schema: 'aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType',
    scalar: (a, b) => BigInt(scalarTypeCode(promoteTypes(dtypeOf(a), dtypeOf(b)))),
  },
  {
    schema: 'aten::result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType',
    scalar: (a, b) => BigInt(scalarTypeCode(promoteTypes(dtypeOfScalar(a), dtypeOfScalar(b)))),
  },
  ...[
    ['Tensor', 'Tensor tensor, Tensor other'],
    ['Scalar', 'Tensor tensor, Scalar other'],
    ['Scalar_Tensor', 'Scalar scalar, Tensor tensor'],
  ].map(([overload, args]) =>
    property<Record<string, Tensor | Scalar>>(`aten::result_type.${overload}(${args}) -> ScalarType`, (values) =>
      resultTypeOf(Object.values(values).map(promotionOperand)),
    ),
  ),
];
