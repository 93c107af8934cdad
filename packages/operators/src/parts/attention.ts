import { attentionRows } from '../families/attention/attention.ts';
import { registerFamily } from '../table/register.ts';

/** Registers the operators of this part. */
export function register(): void {
  registerFamily(attentionRows);
}
