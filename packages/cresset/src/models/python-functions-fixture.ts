import { declareScript } from '@cresset/frontend';
import { ClassType, CompilationUnit } from '@cresset/ir';
import {
  explainFunction,
  RuntimeContext,
  ScriptModule,
  type CallOptions,
  type RuntimeContextOptions,
} from '@cresset/runtime';
import { ScriptObject, Tensor, type IValue } from '@cresset/tensor';

/** Functions of Python text, called as a page calls them. */
export class PythonFunctions {
  readonly module: ScriptModule;
  readonly #unit;

  constructor(source: string, options: RuntimeContextOptions) {
    const { unit } = declareScript(source, { filename: '<source>', module: 'program' });
    this.#unit = unit;
    const object = new ScriptObject(new ClassType('__torch__.Functions'));
    const context = new RuntimeContext({ print: () => undefined, warn: () => undefined, ...options });
    this.module = new ScriptModule(object, unit, context);
  }

  call(name: string, args: readonly IValue[], options: CallOptions = {}): Promise<IValue> {
    return this.module.callFunction(this.#find(name), args, { resultToHost: true, ...options });
  }

  explain(name: string) {
    return explainFunction(this.module, this.#find(name), null);
  }

  #find(name: string) {
    const fn = this.#unit.findFunction(`__torch__.${name}`);
    if (!fn) throw new Error(`there is no function ${name}`);
    return fn;
  }
}

/** An object of the class `Subject` of Python text, made of a tensor. */
export function subjectOf(source: string, state: Tensor, options: RuntimeContextOptions): ScriptModule {
  const unit = new CompilationUnit();
  const { program } = declareScript(source, { unit, filename: '<program>' });
  const object = program.makeModule('Subject', [state], [], (value) => value);
  return new ScriptModule(
    object,
    unit,
    new RuntimeContext({ print: () => undefined, warn: () => undefined, ...options }),
  );
}

/** A tensor with elements that no other of another seed has. */
export function tensorOf(sizes: readonly number[], seed = 1): Tensor {
  const count = sizes.reduce((product, size) => product * size, 1);
  const elements = Float32Array.from({ length: count }, (_, at) => Math.sin(at * 0.7 + seed));
  return Tensor.fromArray(elements, sizes, 'float32');
}

export const intsOf = (...values: number[]): Tensor =>
  Tensor.fromArray(BigInt64Array.from(values, BigInt), [values.length], 'int64');
