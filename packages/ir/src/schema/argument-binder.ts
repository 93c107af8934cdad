import type { Argument, FunctionSchema } from './function-schema.ts';

/** Binds the arguments of a call from outside in a function's own way, with checks beyond the types of its schema: programs of torch.export have such. */
export interface ArgumentBinder {
  /**
   * The values of the parameters of a method, `self` left out. Throws a CressetError where the call does not fit, or what `convert` throws.
   *
   * @param convert makes a given value what its parameter wants, or throws; `position` is null for a keyword
   */
  bind<Given, Value>(
    schema: FunctionSchema,
    args: readonly Given[],
    kwargs: ReadonlyMap<string, Given>,
    convert: (value: Given, argument: Argument, position: number | null) => Value,
  ): Value[];
}
