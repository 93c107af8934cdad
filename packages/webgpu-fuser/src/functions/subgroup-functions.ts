import type { ExprType, ReduceFunction } from '@cresset/tensorexpr';
import { combineCode } from './scalar-functions.ts';
import { wgslTypes } from '../wgsl-type.ts';

/** What a subgroup makes of the values of its threads; null where it has no function for that. */
function ofSubgroup(fn: ReduceFunction, type: ExprType): string | null {
  if (type === 'i64') return null;
  if (type === 'bool') return fn === 'all' ? 'subgroupAll(value)' : 'subgroupAny(value)';
  switch (fn) {
    case 'sum':
      return 'subgroupAdd(value)';
    case 'prod':
      return 'subgroupMul(value)';
    case 'max':
    case 'min': {
      const most = fn === 'max' ? 'subgroupMax(value)' : 'subgroupMin(value)';
      // NaN wins here, and is lost or not with a subgroup.
      return type === 'float' ? `select(${most}, nan(), subgroupAny(is_nan(value)))` : most;
    }
    default:
      return null;
  }
}

/**
 * A function that reduces over a workgroup, whose subgroups do so among themselves first: threads wait for each other twice. Null where there is
 * none.
 */
export function subgroupFunction(
  name: string,
  fn: ReduceFunction,
  type: ExprType,
  workgroupSize: number,
): string | null {
  const part = ofSubgroup(fn, type);
  if (part === null) return null;
  return `var<workgroup> scratch_${name}: array<${wgslTypes[type]}, ${workgroupSize}>;

fn ${name}(value: ${wgslTypes[type]}, subgroup: u32, subgroups: u32) -> ${wgslTypes[type]} {
  let part = ${part};
  if (subgroupElect()) { scratch_${name}[subgroup] = part; }
  workgroupBarrier();
  var total = scratch_${name}[0];
  for (var other = 1u; other < subgroups; other++) {
    total = ${combineCode(fn, type, 'total', `scratch_${name}[other]`)};
  }
  workgroupBarrier();
  return total;
}`;
}
