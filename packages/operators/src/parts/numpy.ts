import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { numpyDtypes } from '../families/numpy/dtypes.ts';
import { numpyRows } from '../families/numpy/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(numpyRows);
  limitDtypes(numpyDtypes);
}
