import { checkOptions, CressetError, parseSchema, type FunctionSchema } from '@cresset/ir';
import {
  toWireError,
  type OperatorOutcome,
  type OperatorRegistration,
  type ScalarForm,
  type WireTensor,
  type WireValue,
} from '@cresset/runtime';
import { Tensor } from '../tensor.ts';
import { fromWire, WireArguments, type Input, type Output } from '../value.ts';

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
}

/** An operator with what computes it. Throws `IR_PARSE` for a malformed schema. */
export class CustomOperator {
  readonly schema: FunctionSchema;
  readonly #text: string;
  readonly #implementation: OperatorImplementation;

  constructor(schema: string, implementation: OperatorImplementation) {
    checkOptions('registerOperator', implementation, { host: 'function', lowering: 'any', shape: 'any' });
    this.schema = parseSchema(schema);
    this.#text = schema;
    this.#implementation = implementation;
  }

  get name(): string {
    return this.schema.operatorName;
  }

  get registration(): OperatorRegistration {
    const { host, lowering, shape } = this.#implementation;
    const isScript = typeof lowering === 'string' && /^\s*(?:@|def\b)/m.test(lowering);
    return {
      schema: this.#text,
      hasHost: host !== undefined,
      lowering: lowering === undefined ? null : isScript ? { script: lowering } : { expression: lowering },
      shape: typeof shape === 'string' ? shape : null,
    };
  }

  /** Runs the function on arguments from the worker; never throws. */
  async run(args: readonly WireValue[]): Promise<OperatorOutcome> {
    try {
      return await this.#run(args.map(fromWire));
    } catch (cause) {
      const error =
        cause instanceof CressetError
          ? cause
          : new CressetError(
              'OPERATOR_HOST',
              `${this.name}: ${cause instanceof Error ? cause.message : String(cause)}`,
              {
                cause,
              },
            );
      return { error: toWireError(error) };
    }
  }

  async #run(inputs: readonly Output[]): Promise<OperatorOutcome> {
    const { host, shape } = this.#implementation;
    const results = this.#results(await host!(...inputs));
    if (typeof shape === 'function') this.#check(results, shape(...inputs));
    const values = new WireArguments();
    const written = this.schema.arguments.flatMap(({ aliasInfo }, index) => {
      const input = inputs[index];
      return aliasInfo?.isWrite && input instanceof Tensor ? [[index, values.value(input) as WireTensor] as const] : [];
    });
    return { values: results.map((result) => values.value(result)), written };
  }

  #results(given: Input | void): readonly Input[] {
    const { length } = this.schema.returns;
    if (length === 1) return [given ?? null];
    if (length === 0) return [];
    if (Array.isArray(given)) return given as readonly Input[];
    throw this.#error(`gave no array of the ${length} results that its schema has`);
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
