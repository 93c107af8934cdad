import { backwardRows } from '../families/gradients/backward-formulas.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(backwardRows);
}
