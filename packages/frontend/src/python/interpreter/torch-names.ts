import { ErrorReport, CressetError, Source, SourceRange, type GraphFunction } from '@cresset/ir';
import { DeviceValue, Tensor, Tuple } from '@cresset/tensor';
import { nnFile, NN_TEXTS } from '../../modules/nn/nn-texts.ts';
import { PythonError } from '../python-arithmetic.ts';
import { PythonModule } from '../python-modules.ts';
import { TorchCode, type PythonValue } from '../python-value.ts';
import { tupleOf } from './containers.ts';
import {
  NativeFunction,
  PythonClass,
  PythonFunction,
  PythonObject,
  QualifiedName,
  type Keywords,
  type NativeCall,
} from './entities.ts';
import type { Interpreter } from './interpreter.ts';
import {
  initializeModule,
  isParameter,
  isUninitialized,
  makeBuffer,
  makeParameter,
  makeUninitialized,
} from './module-objects.ts';
import { statementsOf } from './own-texts.ts';
import { Scope, Unusable } from './scope.ts';
import { contextObject } from './standard-library.ts';

/** Members of `torch` that are no operators: element types, layouts, formats, numbers. */
const CONSTANT =
  /^(u?int\d+|q?u?int\d+x?\d*|float\d+|double|half|float|bfloat16|bool|long|short|int|c?half|cfloat|cdouble|complex\d+|strided|sparse_\w+|channels_last\w*|contiguous_format|preserve_format|per_\w+|inf|nan|pi|e)$/;

/** Modules in `torch.nn`. */
const NN_MODULES: ReadonlySet<string> = new Set(
  'functional init modules utils parameter parallel attention qat quantized intrinsic'.split(' '),
);

/** Modules in `torch.nn.utils`. */
const NN_UTILS_MODULES: ReadonlySet<string> = new Set('rnn parametrize parametrizations'.split(' '));

/** Contexts, which are decorators too. */
const CONTEXTS: ReadonlySet<string> = new Set(
  'no_grad enable_grad inference_mode set_grad_enabled autocast device_context profile record_function'.split(' '),
);

/** Decorators that mark what they are given, for PyTorch's compiler: it is told by the text of the definition. */
const MARKS =
  /^torch\.(jit\.(script|script_method|ignore|unused|export|interface|_overload|_overload_method|_script_if_tracing|script_if_tracing|ScriptModule|is_scripting)|_jit_internal\.\w+|compile|compiler\.\w+|_dynamo\.\w+|fx\.wrap|library\.\w+|overrides\.\w+|nn\.modules\.\w+\._\w+)$/;

const DTYPE_NAMES: Readonly<Record<string, string>> = {
  0: 'uint8',
  1: 'int8',
  2: 'int16',
  3: 'int32',
  4: 'int64',
  5: 'float16',
  6: 'float32',
  7: 'float64',
  8: 'complex32',
  9: 'complex64',
  10: 'complex128',
  11: 'bool',
  15: 'bfloat16',
};

/** Classes of tensors by their elements. */
const TENSOR_TYPES: Readonly<Record<string, string>> = {
  float32: 'torch.FloatTensor',
  float64: 'torch.DoubleTensor',
  int64: 'torch.LongTensor',
  int32: 'torch.IntTensor',
  bool: 'torch.BoolTensor',
};

/** What PyTorch's names mean in Python. */
export class TorchNames {
  readonly #python: Interpreter;
  readonly #files = new Map<string, Scope>();
  readonly #known: ReadonlyMap<string, PythonValue>;

  constructor(python: Interpreter) {
    this.#python = python;
    this.#known = new Map(Object.entries(this.#makeKnown()));
  }

  /** A member of a module; undefined where it has none of that name. */
  attribute(path: string, name: string): PythonValue | undefined {
    const full = `${path}.${name}`;
    const alias = path === 'torch.nn.parameter' || name === 'Parameter' ? `torch.nn.${name}` : '';
    const known = this.#known.get(full) ?? this.#known.get(alias);
    if (known !== undefined) return known;
    if (!path.startsWith('torch')) return this.#standardMember(path, name);
    if (path === 'torch' && CONSTANT.test(name)) return this.#constant(full);
    const text = this.#memberOfText(path, name);
    if (text !== undefined) return text;
    if (name === '__name__') return path.slice(path.lastIndexOf('.') + 1);
    if (name === '__version__') return '2.13.0';
    if (name === '__file__' || name === '__path__') return undefined;
    return this.#exists(path, name) ? new QualifiedName(full) : undefined;
  }

  #standardMember(path: string, name: string): PythonValue | undefined {
    const member = this.#python.standardMembers(path)?.entries.get(name);
    if (member !== undefined) return member;
    const full = `${path}.${name}`;
    return this.#python.standardMembers(full) === undefined ? undefined : new QualifiedName(full);
  }

  #constant(full: string): PythonValue {
    const value = this.#python.tensors.constant(full);
    if (typeof value !== 'bigint') return value;
    const name = full.slice('torch.'.length);
    const type = /_format$|^channels_last/.test(name)
      ? 'memory_format'
      : /^(strided|sparse_)/.test(name)
        ? 'layout'
        : name.startsWith('per_')
          ? 'qscheme'
          : 'dtype';
    return new TorchCode(type, value);
  }

  /** What the texts of torch.nn have, wherever PyTorch lets it be taken from. */
  #memberOfText(path: string, name: string): PythonValue | undefined {
    if (!/^torch\.(nn|ao|quantization)\b/.test(path) || path === 'torch.nn.functional') return undefined;
    const alias = path === 'torch.nn.init' && /^[a-z]/.test(name) ? 'init' : undefined;
    const file = alias ?? (/^\w+$/.test(name) ? nnFile(path, name) : undefined);
    return file === undefined ? undefined : this.#member(file, name);
  }

  #member(file: string, name: string): PythonValue | undefined {
    const found = this.fileNamed(file).names.get(name);
    if (found instanceof Unusable) throw found.reason;
    return found;
  }

  /** A class of `torch.nn`; undefined where there is none of that name. */
  nnClass(name: string): PythonClass | undefined {
    const file = nnFile('torch.nn', name);
    const found = file === undefined ? undefined : this.#member(file, name);
    return found instanceof PythonClass ? found : undefined;
  }

  /** The names of one of PyTorch's files. */
  fileNamed(file: string): Scope {
    let scope = this.#files.get(file);
    if (scope === undefined) {
      const { path, text } = NN_TEXTS[file]!;
      scope = new Scope(undefined, 'module', path);
      this.#files.set(file, scope);
      this.#python.execute(statementsOf(`${path.replaceAll('.', '/')}.py`, text), scope);
      if (file === 'module') this.#completeModule(scope);
    }
    return scope;
  }

  #completeModule(scope: Scope): void {
    const { members } = scope.names.get('Module') as PythonClass;
    const initialize: NativeCall = ([self]) => {
      initializeModule(self as PythonObject);
      return null;
    };
    members.set('__init__', new NativeFunction('__init__', initialize));
  }

  /** Whether the compiler knows such a name, or it is a module. */
  #exists(path: string, name: string): boolean {
    if (path === 'torch.nn') return NN_MODULES.has(name);
    if (path === 'torch.nn.utils') return NN_UTILS_MODULES.has(name);
    if (path === 'torch.nn.modules') return /^[a-z]+$/.test(name);
    if (
      /^torch(\.nn|\.ao|\.utils|\.jit|\.cuda|\.backends|\.distributed|\.fx|\.ops|\.autograd|\._\w+|\.compiler|\.overrides|\.types|\.hub|\.amp|\.quantization|\.profiler|\.library|\.onnx|\.mps|\.xpu)*$/.test(
        path,
      ) &&
      path !== 'torch' &&
      path !== 'torch.nn.functional'
    )
      return true;
    if (
      path === 'torch' &&
      /^(nn|ao|utils|jit|cuda|backends|distributed|fx|ops|autograd|compiler|overrides|types|hub|amp|quantization|profiler|library|onnx|mps|xpu|linalg|fft|special|random|optim|testing|export|_\w+)$/.test(
        name,
      )
    )
      return true;
    try {
      // Of most members no function that is compiled has to be known.
      new PythonModule(path).attr(NOWHERE, undefined as unknown as GraphFunction, name);
      return true;
    } catch (error) {
      if (error instanceof ErrorReport || error instanceof CressetError) return false;
      throw error;
    }
  }

  /** Calls a function of PyTorch's by its full name. */
  call(path: string, args: readonly PythonValue[], kwargs: Keywords): PythonValue {
    if (path === 'torch.jit.is_scripting' || path === 'torch.jit.is_tracing') return false;
    if (MARKS.test(path)) {
      const [value] = args;
      return value ?? new NativeFunction('decorator', ([each]) => each!);
    }
    const name = path.slice(path.lastIndexOf('.') + 1);
    if (CONTEXTS.has(name)) return args[0] instanceof PythonFunction ? args[0] : contextObject(this.#python);
    if (/^torch\.(cuda|backends|distributed|mps|xpu|hub|onnx)\b/.test(path))
      return /^(is_|has_)/.test(name) ? false : null;
    if (path === 'enum.auto') throw new PythonError('auto() stands in an enum only', 'TypeError');
    if (path === 'types.SimpleNamespace') return this.#namespace(kwargs);
    if (!path.startsWith('torch.')) throw new PythonError(`'${path}' cannot be called here`);
    return this.#python.tensors.callNamed(path, args, kwargs);
  }

  #namespace(kwargs: Keywords): PythonValue {
    const made = new PythonObject(new PythonClass('SimpleNamespace', [this.#python.object]));
    for (const [name, value] of kwargs) made.attributes.set(name, value);
    return made;
  }

  /** `str(torch.float32)` */
  nameOfCode({ pythonType, code }: TorchCode): string {
    return pythonType === 'dtype' ? `torch.${DTYPE_NAMES[String(code)] ?? String(code)}` : `torch.${pythonType}`;
  }

  /** `torch.typename(value)` */
  #typeName(value: PythonValue): string {
    if (value instanceof Tensor) return TENSOR_TYPES[value.dtype] ?? 'torch.Tensor';
    if (value instanceof QualifiedName) return value.path.replace(/^torch\.(?=\w+$)/, 'torch._VariableFunctionsClass.');
    const type = value instanceof PythonClass ? value : value instanceof PythonObject ? value.type : undefined;
    const module = type?.definition?.scope.module ?? type?.native.module;
    const name = type?.name ?? this.#python.nameOfType(value);
    return module === undefined ? name : `${module}.${name}`;
  }

  #makeKnown(): Readonly<Record<string, PythonValue>> {
    const python = this.#python;
    const fn = (path: string, call: NativeCall): [string, PythonValue] => [
      path,
      new NativeFunction(path.slice(path.lastIndexOf('.') + 1), call, path),
    ];
    const parameterOf: NativeCall = ([data, on], kwargs) => {
      const requiresGrad = on ?? kwargs.get('requires_grad') ?? true;
      const given = data ?? kwargs.get('data') ?? python.tensors.callNamed('torch.empty', [0n], new Map());
      if (given instanceof Tensor) return makeParameter(given, requiresGrad === true);
      throw new PythonError(`expected Tensor as argument, got ${python.nameOfType(given)}`);
    };
    const isTensor = (value: PythonValue): boolean => value instanceof Tensor;
    const tensorClass = new PythonClass('Tensor', [python.object], {
      isInstance: isTensor,
      construct: (args) => python.tensors.callNamed('torch.FloatTensor', args, new Map()),
    });
    return Object.fromEntries([
      ['torch.Tensor', tensorClass],
      [
        'torch.nn.Parameter',
        new PythonClass('Parameter', [tensorClass], { isInstance: isParameter, construct: parameterOf }),
      ],
      ...[true, false].map((isOfParameter): [string, PythonValue] => {
        const name = isOfParameter ? 'UninitializedParameter' : 'UninitializedBuffer';
        const isInstance = (value: PythonValue): boolean =>
          isUninitialized(value) && isParameter(value) === isOfParameter;
        const construct: NativeCall = ([on], kwargs) => {
          const dtype = kwargs.get('dtype') ?? null;
          const data = python.tensors.callNamed('torch.empty', [0n], new Map([['dtype', dtype]])) as Tensor;
          const requiresGrad = (on ?? kwargs.get('requires_grad') ?? true) === true;
          return makeUninitialized(data, isOfParameter ? requiresGrad : undefined);
        };
        return [`torch.nn.${name}`, new PythonClass(name, [tensorClass], { isInstance, construct })];
      }),
      fn('torch.nn.Buffer', ([data, persistent], kwargs) =>
        makeBuffer(data as Tensor, (persistent ?? kwargs.get('persistent') ?? true) === true),
      ),
      fn('torch.device', ([device, index]) => {
        if (typeof device !== 'string') return device!;
        return DeviceValue.parse(index === undefined ? device : `${device}:${String(index)}`);
      }),
      [
        'torch.Size',
        new PythonClass('Size', [python.object], {
          isInstance: (value) => value instanceof Tuple,
          construct: ([sizes]) => tupleOf(python.iterate(sizes!)),
        }),
      ],
      fn('torch.typename', ([value]) => this.#typeName(value!)),
      fn('torch.is_tensor', ([value]) => value instanceof Tensor),
      fn('torch.get_default_dtype', () => new TorchCode('dtype', 6n)),
      fn('torch.set_default_dtype', () => null),
      fn('torch.set_float32_matmul_precision', () => null),
      fn('torch.is_grad_enabled', () => true),
      fn('torch.jit.annotate', ([, value]) => value!),
      fn('torch.jit.Attribute', ([value]) => value!),
      fn('torch.utils.checkpoint.checkpoint', ([run, ...args]) => python.call(run!, args)),
      fn('torch._assert', () => null),
      fn('torch.numel', ([value]) => BigInt((value as Tensor).numel)),
    ]);
  }
}

const NOWHERE = new SourceRange(new Source('', '<python>'), 0, 0);
