import type { CompilationUnit, Source } from '@cresset/ir';
import type { IValue, ScriptObject } from '@cresset/tensor';
import type { DebugTables } from './debug/debug-tables.ts';
import type { PendingState } from './pickle/object-pickle.ts';
import type { WeightReader } from './weight-reader.ts';
import type { ZipReader } from './zip/zip-reader.ts';

/** A TorchScript archive as a program. */
export interface LoadedModule {
  readonly module: ScriptObject;
  readonly unit: CompilationUnit;
  /** What the code takes from its table of constants. */
  readonly constants: readonly IValue[];
  /** In the order in which `__setstate__` has to be run. */
  readonly pendingStates: readonly PendingState[];
  /** The number in `version`: the highest that any operator in the file asks for. */
  readonly formatVersion: number;
  /** Code files by name within the archive (`code/__torch__/net.py`). */
  readonly code: ReadonlyMap<string, Source>;
  /** What was saved with `_extra_files`. */
  readonly extraFiles: ReadonlyMap<string, Uint8Array>;
  /** Where stretches of generated code came from; to be loaded before an error of the program is printed. */
  readonly debugTables: DebugTables;
  /** Reads the tensors of a large file when they are needed; null where all are in memory. */
  readonly weights: WeightReader | null;
}

/** A zip in the layout of PyTorch 1.0 to 1.3. */
export interface LegacyArchive {
  readonly zip: ZipReader;
  /** The folder of the archive, with a slash at its end. */
  readonly root: string;
  readonly formatVersion: number;
}
