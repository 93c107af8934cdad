import { checkOptions, CressetError } from '@cresset/ir';
import type { OperatorOutcome, OperatorRegistration, OperatorRun, ScalarForm, WireTensor } from '@cresset/runtime';
import type { OutsideFunction } from './outside-functions.ts';
import { Tensor } from './values/tensor.ts';
import { fromWire, WireArguments, type Input, type Output } from './values/value.ts';

/** Sizes of the result, or of each of several. */
export type OperatorShape = readonly number[] | readonly (readonly number[])[];

/** How a custom operator is computed. */
export interface OperatorImplementation {
  /**
   * Computes it from the values of its arguments: the result, an array of results where the schema has several, nothing where it has
   * none. Tensors that the schema says are written (`Tensor(a!)`) are changed in place, through their `data`. It may wait.
   */
  // Arguments have the types that the schema says, which TypeScript does not read.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly host?: (...args: any[]) => Input | void | Promise<Input | void>;
  /**
   * What it is in terms of other operators, so that it runs on the GPU and is fused: TorchScript source, the first function of which
   * takes the operator's arguments; or one expression of elements, in Python's syntax (`x * sigmoid(alpha * x)`) or as data
   * (`['mul', 'x', ['sigmoid', 'x']]`). Where there is a `host` function too, that one serves on the CPU.
   */
  readonly lowering?: string | ScalarForm;
  /**
   * Sizes of the result from the arguments: a function as `host`, or TorchScript source as PyTorch's shape functions, where a tensor is
   * the list of its sizes. What `host` gives is held against it.
   */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly shape?: string | ((...args: any[]) => OperatorShape);
  /**
   * Its gradients (torch.library.register_autograd), as TorchScript source of a function that gives one for each argument that is a tensor, in order, None where
   * there is none. It takes what it names: `grad` (`grad1` for the second result, and so on), arguments by their names, and results by theirs in the
   * schema, or `result`. What it calls runs where the program runs, and where that has gradients, so have these. A `lowering` in TorchScript has gradients without.
   */
  readonly backward?: string;
}

/** An operator with what computes it. */
export class CustomOperator implements OutsideFunction {
  /** With its overload, as it stands in the schema, which is read where programs are compiled. */
  readonly name: string;
  readonly #schema: string;
  readonly #implementation: OperatorImplementation;

  constructor(schema: string, implementation: OperatorImplementation) {
    checkOptions('registerOperator', implementation, {
      host: 'function',
      lowering: 'any',
      shape: 'any',
      backward: 'string',
    });
    this.name = schema.split('(', 1)[0].trim();
    this.#schema = schema;
    this.#implementation = implementation;
  }

  get registration(): OperatorRegistration {
    const { host, lowering, shape, backward = null } = this.#implementation;
    const isScript = typeof lowering === 'string' && /^\s*(?:@|def\b)/m.test(lowering);
    return {
      schema: this.#schema,
      hasHost: host !== undefined,
      lowering: lowering === undefined ? null : isScript ? { script: lowering } : { expression: lowering },
      shape: typeof shape === 'string' ? shape : null,
      backward,
    };
  }

  /** Runs the function on arguments from the worker. Rejects with a CressetError, `OPERATOR_HOST` where the function throws another. */
  async run({ args, writes, results }: OperatorRun): Promise<OperatorOutcome> {
    try {
      return await this.#run(
        args.map((each) => fromWire(each)),
        writes,
        results,
      );
    } catch (cause) {
      if (cause instanceof CressetError) throw cause;
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new CressetError('OPERATOR_HOST', `${this.name}: ${message}`, { cause });
    }
  }

  async #run(inputs: readonly Output[], writes: readonly number[], count: number): Promise<OperatorOutcome> {
    const { host, shape } = this.#implementation;
    const results = this.#results(await host!(...inputs), count);
    if (typeof shape === 'function') this.#check(results, shape(...inputs));
    const values = new WireArguments();
    const written = writes.flatMap((index) => {
      const input = inputs[index];
      return input instanceof Tensor ? [[index, values.value(input) as WireTensor] as const] : [];
    });
    return { values: results.map((result) => values.value(result)), written };
  }

  #results(given: Input | void, count: number): readonly Input[] {
    if (count === 1) return [given ?? null];
    if (count === 0) return [];
    if (Array.isArray(given)) return given as readonly Input[];
    throw this.#error(`gave no array of the ${count} results that its schema has`);
  }

  #check(results: readonly Input[], shape: OperatorShape): void {
    const shapes = results.length === 1 && !Array.isArray(shape[0]) ? [shape as readonly number[]] : shape;
    (shapes as readonly (readonly number[])[]).forEach((wanted, index) => {
      const result = results[index];
      if (!(result instanceof Tensor)) return;
      if (result.shape.length === wanted.length && result.shape.every((size, dim) => size === wanted[dim])) return;
      throw this.#error(
        `gave a tensor of shape [${result.shape.join(', ')}] where its shape rule says [${wanted.join(', ')}]`,
      );
    });
  }

  #error(what: string): CressetError {
    return new CressetError('OPERATOR_RESULT', `${this.name}: its function ${what}`);
  }
}
