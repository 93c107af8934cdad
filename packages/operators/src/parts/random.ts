import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { randomDtypes } from '../families/random/dtypes.ts';
import { randomFamilyRows } from '../families/random/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(randomFamilyRows);
  limitDtypes(randomDtypes);
}
