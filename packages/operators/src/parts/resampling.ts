import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { resamplingDtypes } from '../families/resampling/dtypes.ts';
import { resamplingFamilyRows } from '../families/resampling/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(resamplingFamilyRows);
  limitDtypes(resamplingDtypes);
}
