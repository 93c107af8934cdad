import { constantValue } from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import { SugaredValue, type SugaredCall } from '../values/sugared-value.ts';

/** A function that is one of two by a constant argument: the argument's position and name, and the full names of the function where it is
 * true and of the one where it is false. */
export type Dispatch = readonly [position: number, argument: string, whenTrue: string, whenFalse: string];

/** What PyTorch says where the argument is a constant of another type, with the place in its own source. */
const NO_BOOL_MESSAGE =
  '0 INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/aten/src/ATen/core/ivalue.h":710, please report a bug to PyTorch. expected bool';

/** One of two functions, by an argument that must be a constant (PyTorch: BooleanDispatchValue). */
export class BooleanDispatchValue extends SugaredValue {
  readonly #position: number;
  readonly #argument: string;
  readonly #whenTrue: SugaredValue;
  readonly #whenFalse: SugaredValue;

  constructor(position: number, argument: string, whenTrue: SugaredValue, whenFalse: SugaredValue) {
    super();
    this.#position = position;
    this.#argument = argument;
    this.#whenTrue = whenTrue;
    this.#whenFalse = whenFalse;
  }

  override kind(): string {
    return 'boolean dispatch';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const argument = args[this.#position] ?? kwargs.find(({ name }) => name === this.#argument);
    const value = argument === undefined ? false : constantValue(argument.value(fn.graphBeingDefined));
    if (value === undefined) {
      const [which, at] =
        this.#position in args ? ['Argument', ` ${this.#position}`] : [`Keyword argument '${this.#argument}'`, ''];
      throw compileError(range, `${which} for boolean dispatch at position${at} was not constant`);
    }
    if (typeof value !== 'boolean') throw compileError(range, NO_BOOL_MESSAGE);
    return (value ? this.#whenTrue : this.#whenFalse).call({ range, fn, args, kwargs });
  }
}
