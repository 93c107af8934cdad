import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { sortingDtypes } from '../families/sorting/dtypes.ts';
import { sortingFamilyRows } from '../families/sorting/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(sortingFamilyRows);
  limitDtypes(sortingDtypes);
}
