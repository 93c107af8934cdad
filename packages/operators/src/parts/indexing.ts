import { advancedIndexingRows } from '../families/indexing/advanced-indexing.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(advancedIndexingRows);
}
