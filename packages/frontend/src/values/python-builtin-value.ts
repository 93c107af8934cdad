import { Argument, FunctionSchema, TensorType, type SourceRange } from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import { matchSchema } from '../emission/schema-matching.ts';
import { OpaquePythonValue } from './opaque-python-value.ts';
import { SugaredValue, type SugaredCall } from './sugared-value.ts';

/** Functions of Python that TorchScript has not. */
const FUNCTIONS: ReadonlySet<string> = new Set(
  (
    'aiter anext ascii breakpoint callable compile delattr dir eval exec format globals input issubclass iter locals next open repr ' +
    'setattr vars'
  ).split(' '),
);

/** Classes of Python that TorchScript has not. */
const CLASSES: ReadonlySet<string> = new Set(
  'bytearray bytes classmethod filter frozenset map memoryview object property reversed set staticmethod super type'.split(
    ' ',
  ),
);

/** A function or class of Python's own that TorchScript has not; undefined for other names. */
export function pythonBuiltin(name: string): SugaredValue | undefined {
  if (FUNCTIONS.has(name)) return new UnsupportedBuiltin(`<built-in function ${name}>`);
  return CLASSES.has(name) ? new PythonClass(name) : undefined;
}

/** Refused wherever it is named. */
class UnsupportedBuiltin extends SugaredValue {
  readonly #repr: string;

  constructor(repr: string) {
    super();
    this.#repr = repr;
  }

  override kind(): string {
    return 'builtin';
  }

  override asValue(range: SourceRange): never {
    throw compileError(range, `Python builtin ${this.#repr} is currently not supported in Torchscript`);
  }

  override attr(range: SourceRange): never {
    return this.asValue(range);
  }

  override call({ range }: SugaredCall): never {
    return this.asValue(range);
  }
}

/** To PyTorch it is a function of Python that takes and gives tensors, which it can compile and nothing but Python can run. */
class PythonClass extends OpaquePythonValue {
  readonly #name: string;

  constructor(name: string) {
    super();
    this.#name = name;
  }

  protected override pythonType(): string {
    return 'type';
  }

  override call(call: SugaredCall): never {
    const { range, fn, args } = call;
    const tensors = args.map((_, index) => new Argument(String(index), TensorType.get()));
    const schema = new FunctionSchema(this.#name, '', tensors, [new Argument('0', TensorType.get())]);
    matchSchema(schema, { ...call, graph: fn.graphBeingDefined });
    throw compileError(range, `Python builtin <class '${this.#name}'> is currently not supported in Torchscript`);
  }
}
