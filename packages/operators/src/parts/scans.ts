import { scanRows } from '../families/reductions/scans.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(scanRows);
}
