import { type Argument, CressetError, type ScriptFunction } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import { toIValue } from '../interpreter/code/constant-value.ts';

/**
 * The arguments of a call by the function's schema: positional ones, then keywords, then defaults (PyTorch: createStackForSchema), or
 * as the function's own binder has it.
 *
 * @param self the object of a method, which is its first argument; undefined for a function
 * @param convert makes a given value what its parameter wants, or throws; `position` is null for a keyword
 *
 * Throws a CressetError of code `ARGUMENT_COUNT` or `ARGUMENT_NAME`, or what `convert` or the binder throws.
 */
export function bindArguments<Given>(
  { schema, binder }: Pick<ScriptFunction, 'schema' | 'binder'>,
  self: IValue | undefined,
  args: readonly Given[],
  kwargs: Iterable<readonly [string, Given]>,
  convert: (value: Given, argument: Argument, position: number | null) => IValue,
): IValue[] {
  const bound: IValue[] = self === undefined ? [] : [self];
  const byName = new Map(kwargs);
  if (binder) return [...bound, ...binder.bind(schema, args, byName, convert)];
  const given = bound.length + args.length + byName.size;
  const wrongCount = (what: string): CressetError =>
    new CressetError('ARGUMENT_COUNT', `${schema.name}() ${what} Declaration: ${schema}`);
  if (given > schema.arguments.length) {
    throw wrongCount(`expected at most ${schema.arguments.length} argument(s) but received ${given} argument(s).`);
  }
  for (const value of args) {
    const argument = schema.arguments[bound.length];
    if (argument.kwargOnly) {
      throw wrongCount(`takes ${bound.length} positional argument(s) but ${args.length} was/were given. `);
    }
    bound.push(convert(value, argument, bound.length));
  }
  for (const argument of schema.arguments.slice(bound.length)) {
    const { name, defaultValue } = argument;
    if (byName.has(name)) {
      bound.push(convert(byName.get(name)!, argument, null));
      byName.delete(name);
    } else if (defaultValue !== undefined) {
      bound.push(toIValue(defaultValue));
    } else {
      throw wrongCount(`is missing value for argument '${name}'.`);
    }
  }
  const left = [...byName.keys()];
  if (left.length > 0) {
    const unknown = left.find((each) => !schema.arguments.some(({ name }) => name === each));
    throw new CressetError(
      'ARGUMENT_NAME',
      unknown === undefined
        ? `Argument '${left[0]}' specified both as positional and keyword argument. Schema: ${schema}`
        : `Unknown keyword argument '${unknown}' for operator '${schema.name}'. Schema: ${schema}`,
    );
  }
  return bound;
}
