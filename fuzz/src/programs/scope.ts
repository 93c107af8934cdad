import type { ScalarType } from '@cresset/tensor';

/** What is known of a tensor of a program after its first call so far. */
export interface TensorInfo {
  readonly dtype: ScalarType;
  readonly sizes: readonly number[];
}

/** The names that a statement may use, and new ones. */
export class Scope {
  readonly tensors = new Map<string, TensorInfo>();
  readonly lists: string[] = ['l', 'self.kept'];
  readonly dicts: string[] = ['self.named'];
  /** Whole numbers, and lists of some. */
  readonly numbers: string[] = ['n', 'self.k'];
  readonly numberLists: string[] = [];
  #made = 0;

  fresh(prefix: string): string {
    return `${prefix}${++this.#made}`;
  }
}
