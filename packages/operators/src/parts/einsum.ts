import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { einsumDtypes } from '../families/einsum/dtypes.ts';
import { contractionRows } from '../families/einsum/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(contractionRows);
  limitDtypes(einsumDtypes);
}
