import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { lossesDtypes } from '../families/losses/dtypes.ts';
import { allLossRows } from '../families/losses/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(allLossRows);
  limitDtypes(lossesDtypes);
}
