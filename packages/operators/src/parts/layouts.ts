import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { layoutsDtypes } from '../families/layouts/dtypes.ts';
import { layoutRows } from '../families/layouts/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(layoutRows);
  limitDtypes(layoutsDtypes);
}
