import type { DeviceLayout, IValue, ScalarType, Storage, SymKind, SymNode } from '@cresset/tensor';

/** A storage that launches of a recording use. */
export interface StorageNote {
  readonly kind: 'given' | 'fixed' | 'made' | 'computed';
  readonly dtype: ScalarType;
  readonly layout: DeviceLayout;
  /** What a replay binds in place of one that the host computed: a copy as it was then. */
  readonly copy: Storage | null;
  /** How often it had been written when it was noted. */
  readonly writes: number;
}

/** A value that a stretch puts at the end of a list that was there before. */
export interface AppendNote {
  /** The list's live-in. */
  readonly list: number;
  readonly value: IValue;
  /** The live-in that the value is; -1 where it is none. */
  readonly source: number;
}

/** A value that a stretch puts in an attribute. */
export interface SetNote {
  /** The live-in that the object is. */
  readonly object: number;
  readonly slot: number;
  readonly value: IValue;
  /** The live-in that the value is; -1 where it is none. */
  readonly source: number;
  /** The expression that the value is the number of, where it is worked out of sizes. */
  readonly size: SymNode<SymKind> | null;
}
