import type { Symbol } from '@cresset/ir';
import { SugaredValue } from './sugared-value.ts';

/** What looks like a function but does not have its arguments evaluated in the usual way: `isinstance`, `annotate`, `fork`. */
export class SpecialFormValue extends SugaredValue {
  readonly form: Symbol;

  constructor(form: Symbol) {
    super();
    this.form = form;
  }

  override kind(): string {
    return this.form.slice(this.form.indexOf('::') + 2);
  }
}
