import { registerRecordClass } from '../families/scalar-functions/profiler.ts';
import { scalarFunctionRows } from '../families/scalar-functions/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part, and the class of what they give. */
export function register(): void {
  registerRecordClass();
  registerFamily(scalarFunctionRows);
}
