import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { scatterDtypes } from '../families/scatter/dtypes.ts';
import { scatterFamilyRows } from '../families/scatter/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(scatterFamilyRows);
  limitDtypes(scatterDtypes);
}
