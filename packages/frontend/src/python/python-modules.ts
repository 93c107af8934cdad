import {
  ErrorReport,
  operatorsFor,
  scalarTypeCode,
  type GraphFunction,
  type ScalarTypeName,
  type SourceRange,
  type Value,
} from '@cresset/ir';
import { builtinFunctionTable } from '../builtin-function-table.ts';
import { ExceptionValue } from '../values/callable-value.ts';
import { compileError } from '../compilation-error.ts';
import { functionalLibrary } from '../functional/library.ts';
import { bareTypeMessage } from '../script-type-parser.ts';
import { LegacyTensorConstructor } from '../values/legacy-tensor-constructor.ts';
import { OpsValue } from '../native-resolver.ts';
import { OpaquePythonValue } from '../values/opaque-python-value.ts';
import { pythonBuiltin } from '../values/python-builtin-value.ts';
import { BuiltinFunction, SimpleValue } from '../values/simple-value.ts';
import { SpecialFormValue } from '../values/special-form-value.ts';
import { SugaredValue, type SugaredCall } from '../values/sugared-value.ts';

/** A plain Python value that becomes a constant where it is used: `math.pi`, `torch.float32`. */
class PythonConstant extends SugaredValue {
  readonly #value: bigint | number | boolean;

  constructor(value: bigint | number | boolean) {
    super();
    this.#value = value;
  }

  override kind(): string {
    const type = typeof this.#value === 'bigint' ? 'int' : typeof this.#value === 'number' ? 'float' : 'bool';
    return `value of type '${type}'`;
  }

  override asValue(range: SourceRange, fn: GraphFunction): ReturnType<SimpleValue['asValue']> {
    return fn.graphBeingDefined.insertConstant(this.#value, range);
  }

  override attr(range: SourceRange, fn: GraphFunction, field: string): SugaredValue {
    return this.#asSimple(range, fn).attr(range, fn, field);
  }

  override hasAttr(range: SourceRange, fn: GraphFunction, field: string): boolean {
    return this.#asSimple(range, fn).hasAttr(range, fn, field);
  }

  override setAttr(range: SourceRange, fn: GraphFunction, field: string, value: Value): void {
    this.#asSimple(range, fn).setAttr(range, fn, field, value);
  }

  override asTuple(range: SourceRange, fn: GraphFunction, sizeHint?: number): readonly SugaredValue[] {
    return this.#asSimple(range, fn).asTuple(range, fn, sizeHint);
  }

  override iter(range: SourceRange, fn: GraphFunction): SugaredValue {
    return this.#asSimple(range, fn).iter(range, fn);
  }

  override len(range: SourceRange, fn: GraphFunction): Value {
    return this.#asSimple(range, fn).len(range, fn);
  }

  override getitem(range: SourceRange, fn: GraphFunction, index: Value): SugaredValue {
    return this.#asSimple(range, fn).getitem(range, fn, index);
  }

  #asSimple(range: SourceRange, fn: GraphFunction): SimpleValue {
    return new SimpleValue(this.asValue(range, fn));
  }
}

/** Members of `torch` that PyTorch takes for operators until they are called. */
const UNKNOWN_OPERATORS: ReadonlySet<string> = new Set(
  'Tensor dtype finfo Generator get_default_dtype is_tensor typename'.split(' '),
);

/** Generic types that say nothing without what they hold. */
const BARE_TYPES: ReadonlySet<string> = new Set(['List', 'Optional', 'Tuple', 'Union', 'Dict']);

/** Element types under the names that `torch` has for them. */
const DTYPES: Readonly<Record<string, ScalarTypeName>> = {
  uint8: 'uint8',
  int8: 'int8',
  int16: 'int16',
  short: 'int16',
  int32: 'int32',
  int: 'int32',
  int64: 'int64',
  long: 'int64',
  float16: 'float16',
  half: 'float16',
  float32: 'float32',
  float: 'float32',
  float64: 'float64',
  double: 'float64',
  complex32: 'complex32',
  chalf: 'complex32',
  complex64: 'complex64',
  cfloat: 'complex64',
  complex128: 'complex128',
  cdouble: 'complex128',
  bool: 'bool',
  qint8: 'qint8',
  quint8: 'quint8',
  qint32: 'qint32',
  bfloat16: 'bfloat16',
  uint16: 'uint16',
  uint32: 'uint32',
  uint64: 'uint64',
  quint4x2: 'quint4x2',
  quint2x4: 'quint2x4',
  float8_e5m2: 'float8_e5m2',
  float8_e4m3fn: 'float8_e4m3fn',
  float8_e5m2fnuz: 'float8_e5m2fnuz',
  float8_e4m3fnuz: 'float8_e4m3fnuz',
};

/** Codes of memory formats, layouts and quantisation schemes, which are ints in TorchScript. */
const CODES: Readonly<Record<string, bigint>> = {
  contiguous_format: 0n,
  preserve_format: 1n,
  legacy_contiguous_format: 0n,
  channels_last: 2n,
  channels_last_3d: 3n,
  strided: 0n,
  sparse_coo: 1n,
  sparse_csr: 2n,
  per_tensor_affine: 0n,
  per_channel_affine: 1n,
  per_tensor_symmetric: 2n,
  per_channel_symmetric: 3n,
};

const LEGACY_TENSORS: Readonly<Record<string, ScalarTypeName>> = {
  FloatTensor: 'float32',
  DoubleTensor: 'float64',
  HalfTensor: 'float16',
  BFloat16Tensor: 'bfloat16',
  ByteTensor: 'uint8',
  CharTensor: 'int8',
  ShortTensor: 'int16',
  IntTensor: 'int32',
  LongTensor: 'int64',
  BoolTensor: 'bool',
};

const JIT_FORMS: Readonly<Record<string, string>> = {
  annotate: 'prim::annotate',
  isinstance: 'prim::isinstance',
  fork: 'prim::fork',
  _fork: 'prim::fork',
  _awaitable: 'prim::awaitable',
};

/** Operators whose names in Python are others. */
const RENAMED: Readonly<Record<string, string>> = {
  'torch.nn.functional.logsigmoid': 'aten::log_sigmoid',
  'torch.jit.is_scripting': 'aten::is_scripting',
  'torch._jit_internal.is_scripting': 'aten::is_scripting',
  'torch.jit.wait': 'aten::wait',
  'torch.jit._wait': 'aten::wait',
  'torch.jit._awaitable_wait': 'prim::awaitable_wait',
  'torch.jit._awaitable_nowait': 'prim::awaitable_nowait',
  'math.remainder': 'aten::mathremainder',
  'cmath.phase': 'aten::angle',
  'cmath.rect': 'aten::polar',
  'torch._segment_reduce': 'aten::segment_reduce',
};

/** Operators that are no members of `torch`. */
const HIDDEN = /_backward$|^_batch_norm_\w+_update|^__/;

/** Functions of the library that stand in another module than Python shows them in. */
const LIBRARY_NAMES: Readonly<Record<string, string>> = { 'torch.jit.is_tracing': 'torch.jit._trace.is_tracing' };

/** Modules whose operators have the module's name before theirs: `torch.linalg.inv` is `aten::linalg_inv`. */
const PREFIXED: Readonly<Record<string, string>> = {
  'torch.linalg': 'linalg_',
  'torch.special': 'special_',
  'torch.fft': 'fft_',
};

/** Functions of `math` that TorchScript has. */
const MATH_FUNCTIONS: ReadonlySet<string> = new Set(
  (
    'acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 fabs factorial floor fmod ' +
    'frexp gamma gcd isfinite isinf isnan ldexp lgamma log log10 log1p modf pow radians remainder sin sinh sqrt tan tanh ' +
    'phase rect'
  ).split(' '),
);

/** Functions of `math` that TorchScript has not. */
const UNSCRIPTABLE_MATH: ReadonlySet<string> = new Set(
  'cbrt comb dist exp2 fma fsum hypot isclose isqrt lcm log2 nextafter perm prod sumprod trunc ulp polar'.split(' '),
);

const VARIADIC_MESSAGE =
  "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults";

/** Functions of `torch` that PyTorch's compiler takes for operators, which they are not: it says so when they are called. */
const PYTHON_ONLY: ReadonlySet<string> = new Set(
  (
    'are_deterministic_algorithms_enabled asarray enable_grad from_numpy frombuffer get_default_device get_default_dtype ' +
    'get_float32_matmul_precision get_num_threads get_rng_state iinfo inference_mode is_inference_mode_enabled is_storage is_tensor load ' +
    'pca_lowrank save set_default_device set_default_dtype set_float32_matmul_precision set_flush_denormal set_num_threads ' +
    'set_printoptions set_rng_state svd_lowrank sym_float sym_int sym_max sym_min sym_not unravel_index use_deterministic_algorithms'
  ).split(' '),
);

/** Functions that are Python in PyTorch and that its compiler refuses, with what it says. */
const UNSCRIPTABLE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['grouped_mm', 'linear_cross_entropy', 'triplet_margin_with_distance_loss'].map((name) => [
      `torch.nn.functional.${name}`,
      VARIADIC_MESSAGE,
    ]),
  ),
  'torch.nn.functional.gaussian_nll_loss': 'Comprehension ifs are not supported yet',
  'torch.nn.functional.scaled_mm': "Unknown type name 'ScalingType'",
  'torch.nn.functional.scaled_grouped_mm': "Unknown type name 'ScalingType'",
  ...Object.fromEntries(
    'constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal xavier_uniform'
      .split(' ')
      .map((name) => [`torch.nn.init.${name}`, VARIADIC_MESSAGE]),
  ),
  'torch.nn.init.kaiming_normal_': "Unknown type name '_FanMode'",
  'torch.nn.init.kaiming_uniform_': "Unknown type name '_FanMode'",
  'torch.nn.init.calculate_gain': "Unknown type name '_NonlinearityType'",
  'torch.nn.init.trunc_normal_': "function definitions aren't supported",
  ...Object.fromEntries(
    ['dirac_', 'eye_', 'orthogonal_', 'sparse_'].map((name) => [
      `torch.nn.init.${name}`,
      "'Tensor' object has no attribute or method 'ndimension'.",
    ]),
  ),
};

/** Modules whose functions all have keyword-only arguments with defaults. */
const UNSCRIPTABLE_MODULES: ReadonlySet<string> = new Set(['torch.masked', 'torch.signal.windows']);

const MODULES: ReadonlySet<string> = new Set([
  'torch.masked',
  'torch.signal',
  'torch.signal.windows',
  'torch.nn',
  'torch.nn.functional',
  'torch.nn.init',
  'torch.jit',
  'torch._jit_internal',
  'torch.linalg',
  'torch.special',
  'torch.fft',
  'torch.functional',
  'torch._linalg_utils',
  'torch._lowrank',
  'torch.autograd',
  'torch.autograd.profiler',
  'torch.profiler',
  'torch.amp',
  'torch.amp.autocast_mode',
  'torch.cuda',
  'torch.cuda.amp',
  'torch.cuda.amp.autocast_mode',
  'torch.cpu',
  'torch.cpu.amp',
  'torch.cpu.amp.autocast_mode',
  'torch.overrides',
  'torch.distributed',
  'torch.onnx',
  'torch.quantization',
  'torch.testing',
  'torch.utils',
  'torch._C',
  'torch._C._nn',
  'torch._C._linalg',
  'torch._C._special',
  'torch._C._fft',
  'torch._VF',
  'torch.nn.modules',
  'torch.nn._reduction',
]);

/** A Python module that programs use, by its full name (PyTorch: PythonModuleValue). */
export class PythonModule extends OpaquePythonValue {
  readonly #name: string;

  constructor(name: string) {
    super();
    this.#name = name;
  }

  protected override pythonType(): string {
    return 'module';
  }

  override call(call: SugaredCall): SugaredValue {
    // PyTorch takes its source for that of a function.
    if (this.#name !== 'math' && this.#name !== 'cmath') {
      throw compileError(call.range, 'Expected a single top-level function');
    }
    return super.call(call);
  }

  override attr(range: SourceRange, _fn: GraphFunction, field: string): SugaredValue {
    const name = `${this.#name}.${field}`;
    const value = this.#member(name, field) ?? this.#function(name, field);
    if (value === undefined) {
      throw compileError(range, this.#missing(field));
    }
    return value;
  }

  /** A module or class within this one, or something else that is no function. */
  #member(name: string, field: string): SugaredValue | undefined {
    if (MODULES.has(name) && field !== '') return new PythonModule(name);
    switch (this.#name) {
      case 'torch':
        return torchMember(field);
      case 'torch.jit':
        return jitMember(field);
      case 'torch.nn':
        return /^[A-Z]/.test(field) ? new ModuleClassValue(field) : undefined;
      case 'math':
      case 'cmath':
        return mathMember(field);
      default:
        return name === 'collections.OrderedDict' ? resolvePythonName(field) : undefined;
    }
  }

  #function(name: string, field: string): SugaredValue | undefined {
    if (UNSCRIPTABLE_MODULES.has(this.#name)) {
      return undefined;
    }
    // What stands in torch.functional is a member of torch too.
    const library =
      functionalLibrary.find(LIBRARY_NAMES[name] ?? name) ??
      (this.#name === 'torch' ? functionalLibrary.find(`torch.functional.${field}`) : undefined);
    if (library !== undefined) {
      return library;
    }
    if (/^_?has_torch_function(_unary|_variadic)?$/.test(field)) {
      return new BuiltinFunction('aten::has_torch_function');
    }
    if (this.#name === 'torch' && PYTHON_ONLY.has(field)) {
      return new BuiltinFunction(`aten::${field}`);
    }
    const symbol = RENAMED[name] ?? `aten::${PREFIXED[this.#name] ?? ''}${field}`;
    if (Object.hasOwn(UNSCRIPTABLE, name)) {
      return undefined;
    }
    const exists = operatorsFor(symbol).length > 0 || builtinFunctionTable.functionsFor(symbol).length > 0;
    if (this.#name === 'math' || this.#name === 'cmath') {
      return exists && MATH_FUNCTIONS.has(field) ? new BuiltinFunction(symbol) : undefined;
    }
    const isHidden = this.#name === 'torch' && HIDDEN.test(field);
    return (exists && !isHidden) || Object.hasOwn(RENAMED, name) ? new BuiltinFunction(symbol) : undefined;
  }

  #missing(field: string): string {
    const name = `${this.#name}.${field}`;
    if (UNSCRIPTABLE_MATH.has(field) && (this.#name === 'math' || this.#name === 'cmath')) {
      return `Python builtin <built-in function ${field}> is currently not supported in Torchscript`;
    }
    if (UNSCRIPTABLE_MODULES.has(this.#name)) {
      return VARIADIC_MESSAGE;
    }
    return UNSCRIPTABLE[name] ?? `object has no attribute ${field}`;
  }
}

/** A class of modules: a name that functions may have and cannot call. */
export class ModuleClassValue extends OpaquePythonValue {
  readonly #name: string;
  readonly #isCompiled: boolean;

  /** @param isCompiled whether the program has modules of it: PyTorch then knows it as a class */
  constructor(name: string, isCompiled = false) {
    super();
    this.#name = name;
    this.#isCompiled = isCompiled;
  }

  protected override pythonType(): string {
    return 'type';
  }

  override call({ range }: SugaredCall): never {
    throw compileError(
      range,
      this.#isCompiled
        ? `Class ${this.#name} does not have an __init__ function defined`
        : `Cannot instantiate class '${this.#name}' in a script function`,
    );
  }
}

function torchMember(field: string): SugaredValue | undefined {
  if (Object.hasOwn(DTYPES, field)) {
    return new PythonConstant(BigInt(scalarTypeCode(DTYPES[field]!)));
  }
  if (Object.hasOwn(CODES, field)) {
    return new PythonConstant(CODES[field]!);
  }
  if (Object.hasOwn(LEGACY_TENSORS, field)) {
    return new LegacyTensorConstructor(LEGACY_TENSORS[field]!);
  }
  if (field === 'ops') {
    return new OpsValue();
  }
  if (UNKNOWN_OPERATORS.has(field)) {
    return new BuiltinFunction(`aten::${field}`);
  }
  // What torch/__init__.py imports is its own module too: `torch.torch.special` is a name some sources have.
  if (field === 'torch') {
    return new PythonModule('torch');
  }
  return ['inf', 'nan', 'pi', 'e'].includes(field) ? mathMember(field) : undefined;
}

function jitMember(field: string): SugaredValue | undefined {
  return Object.hasOwn(JIT_FORMS, field) ? new SpecialFormValue(JIT_FORMS[field]!) : undefined;
}

/** Numbers of Python's `math` module. */
export const MATH_CONSTANTS: Readonly<Record<string, number>> = {
  pi: Math.PI,
  e: Math.E,
  tau: 2 * Math.PI,
  inf: Infinity,
  nan: NaN,
};

function mathMember(field: string): SugaredValue | undefined {
  return Object.hasOwn(MATH_CONSTANTS, field) ? new PythonConstant(MATH_CONSTANTS[field]!) : undefined;
}

/** Exceptions of Python by name, but for `AssertionError`, which `assert` raises too. */
export const EXCEPTION_NAMES: ReadonlySet<string> = new Set([
  ...(
    'Arithmetic Attribute BlockingIO BrokenPipe Buffer ChildProcess ConnectionAborted Connection ConnectionRefused ' +
    'ConnectionReset EOF Environment FileExists FileNotFound FloatingPoint IO Import Indentation Index Interrupted ' +
    'IsADirectory Key Lookup Memory ModuleNotFound Name NotADirectory NotImplemented OS Overflow Permission ' +
    'ProcessLookup Recursion Reference Runtime Syntax System Tab Timeout Type UnboundLocal UnicodeDecode ' +
    'UnicodeEncode Unicode UnicodeTranslate Value ZeroDivision'
  )
    .split(' ')
    .map((name) => `${name}Error`),
  ...'Bytes Deprecation Encoding Future Import PendingDeprecation Resource Runtime Syntax Unicode User'
    .split(' ')
    .map((name) => `${name}Warning`),
  'BaseException',
  'BaseExceptionGroup',
  'Exception',
  'ExceptionGroup',
  'GeneratorExit',
  'KeyboardInterrupt',
  'StopAsyncIteration',
  'StopIteration',
  'SystemExit',
  'Warning',
]);

/** Names that sources use without importing them, as their authors' modules would have them. */
const ALIASES: Readonly<Record<string, string>> = {
  torch: 'torch',
  math: 'math',
  cmath: 'cmath',
  F: 'torch.nn.functional',
  nn: 'torch.nn',
  collections: 'collections',
};

/** The meaning of a name in user's source that the source itself does not define. */
export function resolvePythonName(name: string): SugaredValue | undefined {
  if (Object.hasOwn(ALIASES, name)) {
    return new PythonModule(ALIASES[name]!);
  }
  if (EXCEPTION_NAMES.has(name)) {
    return new ExceptionValue(`builtins.${name}`);
  }
  if (name === 'warnings') {
    return new WarningsModule();
  }
  if (name === 'Tensor' || name === 'Any') {
    return new BuiltinFunction(name === 'Any' ? 'aten::_Any' : 'aten::Tensor');
  }
  if (BARE_TYPES.has(name)) {
    throw new ErrorReport(undefined, bareTypeMessage(name));
  }
  // It knows no annotation, unlike `dict()`.
  return name === 'OrderedDict' ? new BuiltinFunction('aten::dict') : pythonBuiltin(name);
}

class WarningsModule extends OpaquePythonValue {
  protected override pythonType(): string {
    return 'module';
  }

  override attr(range: SourceRange, fn: GraphFunction, field: string): SugaredValue {
    return field === 'warn' ? new BuiltinFunction('aten::warn') : super.attr(range, fn, field);
  }
}
