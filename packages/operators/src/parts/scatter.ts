import { scatterFamilyRows } from '../families/scatter/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(scatterFamilyRows);
}
