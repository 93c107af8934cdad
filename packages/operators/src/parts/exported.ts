import { exportedRows } from '../families/exported/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(exportedRows);
}
