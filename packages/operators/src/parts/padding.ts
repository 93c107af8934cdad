import { paddingRows } from '../families/padding/padding.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(paddingRows);
}
