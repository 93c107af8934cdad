import type { IValue, ScalarType, Tensor } from '@cresset/tensor';

/** What stands on an unpickler's stack: values of programs, and what only pickles have. */
export type PickleValue = IValue | Uint8Array | PickleSet | PickleGlobal | StorageReference | OpaqueObject;

/** Something a pickle names by module and name. Nothing is imported or run: these are this package's own constructors. */
export class PickleGlobal {
  /**
   * @param qualifiedName `module.name`, as the pickle has it.
   * @param call what REDUCE does with it, on the arguments in the tuple.
   * @param instantiate what NEWOBJ does with it; absent where it is no class.
   */
  constructor(
    readonly qualifiedName: string,
    readonly call: ((args: readonly PickleValue[]) => PickleValue) | null,
    readonly instantiate: (() => PickleValue) | null = null,
  ) {}
}

/** A Python set or frozenset. */
export class PickleSet {
  constructor(readonly items: PickleValue[]) {}
}

/** An object of a class that is not built, kept only so that a file can be described. */
export class OpaqueObject {
  state: PickleValue = null;

  constructor(
    readonly className: string,
    readonly args: readonly PickleValue[],
  ) {}
}

/** A storage a pickle refers to, and the tensors that are views of it; its bytes are read later. */
export class StorageReference {
  readonly tensors: Tensor[] = [];

  /**
   * @param key name of the record with the bytes.
   * @param dtype element type, or null where the storage is untyped and counts bytes.
   * @param count number of elements.
   */
  constructor(
    readonly key: string,
    readonly dtype: ScalarType | null,
    readonly count: number,
  ) {}
}
