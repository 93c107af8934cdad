import type { IValue, ScriptObject, SymKind, SymNode } from '@cresset/tensor';
import type { LiveIn } from './live-in.ts';
import type { SetNote } from './recording-notes.ts';

/** Attributes that a recording reads and sets. */
export class RecordedAttributes {
  /** In the order in which they were set. */
  readonly sets: SetNote[] = [];

  constructor(
    private readonly table: { readonly liveIns: readonly LiveIn[]; liveInOf(object: ScriptObject): number },
  ) {}

  note(object: ScriptObject, slot: number, value: IValue, source: number, size: SymNode<SymKind> | null): void {
    this.sets.push({ object: this.table.liveInOf(object), slot, value, source, size });
  }

  /** What an attribute was set to since the recording began; undefined where it was not. */
  setBefore(object: ScriptObject, slot: number): SetNote | undefined {
    if (this.sets.length === 0) return undefined;
    const found = this.table.liveInOf(object);
    return this.sets.findLast((set) => set.object === found && set.slot === slot);
  }

  /** The live-in that an attribute is since it was read first, so that its number is one symbol; -1 where it was not. */
  readBefore(object: ScriptObject, slot: number): number {
    return this.table.liveIns.findIndex(
      ({ origin }) => origin.kind === 'attribute' && origin.object === object && origin.slot === slot,
    );
  }
}
