import type { SourceRange } from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import { SugaredValue } from './sugared-value.ts';

/** A value of Python's that no constant of a graph can be: a module, a class (PyTorch: PythonValue). */
export abstract class OpaquePythonValue extends SugaredValue {
  /** The name of its class in Python. */
  protected abstract pythonType(): string;

  override kind(): string {
    return `python value of type '${this.pythonType()}'`;
  }

  override asValue(range: SourceRange): never {
    throw compileError(
      range,
      `${this.kind()} cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in ` +
        'as an argument or use a local variable instead.',
    );
  }
}
