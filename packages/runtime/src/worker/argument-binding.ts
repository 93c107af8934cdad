import { type Argument, CressetError, type FunctionSchema } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import { toIValue } from '../constant-value.ts';

/**
 * The arguments of a call by its schema: positional ones, then keywords, then defaults (FunctionSchema::checkAndNormalizeInputs).
 *
 * @param self the object of a method, which is its first argument; undefined for a function
 * @param convert makes a given value what its parameter wants, or throws
 *
 * Throws a CressetError of code `ARGUMENT_COUNT` or `ARGUMENT_NAME`, or what `convert` throws.
 */
export function bindArguments<Given>(
  schema: FunctionSchema,
  self: IValue | undefined,
  args: readonly Given[],
  kwargs: Iterable<readonly [string, Given]>,
  convert: (value: Given, argument: Argument) => IValue,
): IValue[] {
  const bound: IValue[] = self === undefined ? [] : [self];
  const first = bound.length;
  const byName = new Map(kwargs);
  const given = first + args.length + byName.size;
  if (given > schema.arguments.length) {
    throw new CressetError(
      'ARGUMENT_COUNT',
      `${schema.name}() expected at most ${schema.arguments.length} argument(s) but received ${given} argument(s). Declaration: ${schema}`,
    );
  }
  for (const argument of schema.arguments.slice(first)) {
    const { name, defaultValue } = argument;
    const position = bound.length - first;
    if (position < args.length) {
      bound.push(convert(args[position], argument));
    } else if (byName.has(name)) {
      bound.push(convert(byName.get(name)!, argument));
      byName.delete(name);
    } else if (defaultValue !== undefined) {
      bound.push(toIValue(defaultValue));
    } else {
      throw new CressetError(
        'ARGUMENT_COUNT',
        `${schema.name}() is missing value for argument '${name}'. Declaration: ${schema}`,
      );
    }
  }
  const [unknown] = byName.keys();
  if (unknown !== undefined) {
    const known = schema.arguments.some(({ name }) => name === unknown);
    throw new CressetError(
      'ARGUMENT_NAME',
      known
        ? `${schema.name}() got multiple values for argument '${unknown}'`
        : `Unknown keyword argument '${unknown}' for operator '${schema.name}'. Schema: ${schema}`,
    );
  }
  return bound;
}
