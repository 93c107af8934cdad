import type { OperatorRow } from '@cresset/operators';
import type { DeviceLayout, IValue, OpenNumber, ScalarType, Storage } from '@cresset/tensor';
import type { Kernel, PreparedLaunch } from '@cresset/tensorexpr';

/** A launch of a recording, with the storages that it used: its tensors may lie elsewhere later. */
export interface LaunchNote {
  readonly launch: PreparedLaunch;
  readonly storages: readonly Storage[];
}

/** The kernel of a launch, where that is the whole of it and its tensors lie where they did. */
export function kernelOf({ launch: { kernel, bindings }, storages }: LaunchNote): Kernel | null {
  return bindings.every(({ operand }, binding) => operand.tensor.storage === storages[binding]) ? kernel : null;
}

/** The note of a launch whose tensors lie where it is to find them. */
export const noteOf = (launch: PreparedLaunch): LaunchNote => ({
  launch,
  storages: launch.bindings.map(({ operand }) => operand.tensor.storage),
});

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

/** Elements that decided what was recorded: they were read on the host. */
export interface ContentNote {
  readonly storage: Storage;
  readonly writes: number;
  /** The live-in that has to be a tensor of this storage; -1 where it is a constant's. */
  readonly liveIn: number;
}

/** An operator on views, sizes or numbers of which only live-ins decide: it is done anew each time, with what varies. */
export interface Step {
  readonly row: OperatorRow;
  /** Numbers of live-ins, or constants. */
  readonly inputs: readonly ({ readonly liveIn: number } | { readonly constant: IValue })[];
}

/** A value that a stretch puts at the end of a list that was there before. */
export interface AppendNote {
  /** The list's live-in. */
  readonly list: number;
  readonly value: IValue;
  /** The live-in that the value is; -1 where it is none. */
  readonly source: number;
}

/** Random numbers that launches work out: a replay draws as many, in the same order. */
export interface Draw {
  readonly count: number;
  readonly key: OpenNumber;
  readonly first: OpenNumber;
}
