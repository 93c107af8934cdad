import { type Argument, CressetError, type FunctionSchema, ListType } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import { toIValue } from '../constant-value.ts';
import type { WireValue } from './protocol.ts';
import { fromWire } from './wire-value.ts';

/**
 * The arguments of a call by its schema: positional ones, then keywords, then defaults (FunctionSchema::checkAndNormalizeInputs).
 * `self` is given for a method. Throws a CressetError of code `ARGUMENT_COUNT`, `ARGUMENT_NAME` or `ARGUMENT_TYPE`.
 */
export function bindArguments(
  schema: FunctionSchema,
  self: IValue | undefined,
  args: readonly WireValue[],
  kwargs: readonly (readonly [string, WireValue])[],
): IValue[] {
  const bound: IValue[] = self === undefined ? [] : [self];
  const given = bound.length + args.length;
  if (given > schema.arguments.length) {
    throw new CressetError(
      'ARGUMENT_COUNT',
      `${schema.name}() expected at most ${schema.arguments.length} argument(s) but received ${given} argument(s). Declaration: ${schema}`,
    );
  }
  const byName = new Map(kwargs);
  for (let index = bound.length; index < schema.arguments.length; index++) {
    const argument = schema.arguments[index];
    const position = index - (self === undefined ? 0 : 1);
    if (position < args.length) {
      bound.push(fromWire(spread(args[position], argument), argument.type, schema.name, argument.name));
    } else if (byName.has(argument.name)) {
      bound.push(fromWire(spread(byName.get(argument.name)!, argument), argument.type, schema.name, argument.name));
      byName.delete(argument.name);
    } else if (argument.defaultValue !== undefined) {
      bound.push(toIValue(argument.defaultValue));
    } else {
      throw new CressetError(
        'ARGUMENT_COUNT',
        `${schema.name}() is missing value for argument '${argument.name}'. Declaration: ${schema}`,
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

/** One number for a parameter that is a BroadcastingList stands for the list of it. */
function spread(value: WireValue, { type, N }: Argument): WireValue {
  const isNumber = typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
  return isNumber && N !== undefined && type instanceof ListType ? new Array<WireValue>(N).fill(value) : value;
}
