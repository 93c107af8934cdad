import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { linalgDtypes } from '../families/linalg/dtypes.ts';
import { linalgRows } from '../families/linalg/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(linalgRows);
  limitDtypes(linalgDtypes);
}
