import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { layersDtypes } from '../families/layers/dtypes.ts';
import { layerRows } from '../families/layers/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(layerRows);
  limitDtypes(layersDtypes);
}
