import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { specialDtypes } from '../families/special/dtypes.ts';
import { specialRows } from '../families/special/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(specialRows);
  limitDtypes(specialDtypes);
}
