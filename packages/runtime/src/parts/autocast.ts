import { autocast } from '@cresset/passes';
import { useAutocast } from '../executor/graph-executor.ts';

/** The casts within `with torch.autocast(…)`. */
export function register(): void {
  useAutocast(autocast);
}
