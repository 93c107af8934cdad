import { extendServices } from '@cresset/ir';
import { autocast } from '@cresset/passes';
import type { RuntimeServices } from '../services.ts';

/** The casts within `with torch.autocast(…)`. */
export function register(): void {
  extendServices<RuntimeServices>({ autocast });
}
