import { IntType, scalarTypeCode } from '@cresset/ir';
import {
  DeviceValue,
  type EnumValue,
  fromByteString,
  List,
  ScriptObject,
  type IValue,
  type ScalarType,
} from '@cresset/tensor';
import { remembered } from '@cresset/tensorexpr';
import { declared } from '../../table/builders.ts';
import { check, OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';

/** Devices, enums, shapes as lists, and questions about the world that a saved program asks. */

const deviceOf = (text: IValue): DeviceValue => {
  try {
    return DeviceValue.parse(text as string);
  } catch (error) {
    throw new OperatorError((error as Error).message);
  }
};

/** What autocast makes of float32 where a program does not say it, by device. */
const autocastDtypes: readonly (readonly [ScalarType, RegExp])[] = [
  ['bfloat16', /^(cpu|xla|hpu)\b/],
  ['float16', /^(cuda|mps|xpu|mtia|ipu)\b/],
];

/** The answer of an environment in which nothing of the sort goes on. */
const always = (schema: string, answer: IValue): OperatorRow => ({ schema, scalar: () => answer });

/** The shape two shapes broadcast to (at::infer_size). */
function inferSize(a: readonly IValue[], b: readonly IValue[]): bigint[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, dim) => {
    const left = (a[dim - rank + a.length] ?? 1n) as bigint;
    const right = (b[dim - rank + b.length] ?? 1n) as bigint;
    if (left !== right && left !== 1n && right !== 1n) {
      throw new OperatorError(
        `The size of tensor a (${left}) must match the size of tensor b (${right}) at non-singleton dimension ${dim}`,
      );
    }
    return left === 1n ? right : left;
  });
}

const broadcast = (a: IValue, b: IValue): List =>
  new List(IntType.get(), inferSize((a as List).items, (b as List).items));

function sameSizes(a: List, b: List): boolean {
  return a.items.length === b.items.length && a.items.every((size, dim) => size === b.items[dim]);
}

export const environmentRows: readonly OperatorRow[] = [
  { schema: 'aten::device(str a) -> Device', scalar: deviceOf },
  {
    schema: 'aten::device.with_index(str type, int index) -> Device',
    scalar: (type, index) => deviceOf(`${type as string}:${String(index)}`),
  },
  { schema: 'prim::type(Device self) -> str', scalar: (self) => (self as DeviceValue).type },
  {
    schema: 'prim::index(Device self) -> int?',
    scalar: (self) => {
      const { index } = self as DeviceValue;
      return index === null ? null : BigInt(index);
    },
  },
  { schema: 'prim::EnumName(AnyEnumType enum) -> str', scalar: (value) => (value as EnumValue).name },
  ...['int', 'float', 'str'].map((type): OperatorRow => ({
    schema: `prim::EnumValue.${type}(AnyEnumType enum) -> ${type}`,
    scalar: (value) => (value as EnumValue).value,
  })),
  { schema: 'aten::Size(int[] sizes) -> int[]', scalar: (sizes) => sizes },
  { schema: 'aten::_infer_size(int[] a, int[] b) -> int[]', scalar: broadcast },
  { schema: 'aten::broadcast_shapes(int[] a, int[] b) -> int[]', scalar: broadcast },
  {
    schema: 'aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?',
    scalar: (self, other) => (sameSizes(self as List, other as List) ? null : self),
  },
  {
    schema: 'aten::_unwrap_optional(t(a)? optional) -> t(a)',
    scalar: (optional) => {
      if (optional === null) throw new OperatorError('Unwrapping null optional');
      return optional;
    },
  },
  { schema: 'prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)', scalar: (optional) => optional },
  { schema: 'prim::id(AnyClassType? x) -> int', scalar: identityOf },
  // Instructions of the interpreter; their schemas are for the compiler.
  declared('prim::RaiseException(str msg, str? cls=None) -> ()'),
  declared('prim::Print(...) -> ()'),
  declared('prim::unchecked_cast(t x) -> t'),
  declared('prim::Uninitialized() -> Any'),
  declared('prim::TupleIndex(Any tup, int i) -> Any'),
  declared('prim::TupleUnpack(Any tup) -> ...'),
  declared('prim::tolist(...) -> ...'),
  {
    schema: 'prim::ModuleContainerIndex.list(Any self, int ind) -> Any',
    scalar: (self, index) => (self as ScriptObject).getAttribute(String(index)),
  },
  {
    schema: 'prim::ModuleContainerIndex.dict(Any self, str ind) -> Any',
    scalar: (self, key) => (self as ScriptObject).getAttribute(key as string),
  },
  declared('aten::wait(Future(t) self) -> t'),
  {
    schema: 'aten::warn(str message, int stacklevel=2) -> ()',
    readsNoData: true,
    host: ({ message }: { message: string }, _outputs, context) => context.warn(fromByteString(message)),
  },
  {
    schema: 'aten::manual_seed(int seed) -> ()',
    nondeterministic: true,
    readsNoData: true,
    host: ({ seed }: { seed: number }, _outputs, context) => context.generator.manualSeed(BigInt(seed)),
  },
  {
    // Not to be worked out ahead of a run: the program may change it.
    schema: 'aten::is_grad_enabled() -> bool',
    nondeterministic: true,
    readsNoData: true,
    host: (_args, _outputs, context) => context.gradEnabled,
  },
  {
    schema: 'aten::set_grad_enabled(bool val) -> ()',
    hasSideEffects: true,
    readsNoData: true,
    host: ({ val }: { val: boolean }, _outputs, context) => {
      context.gradEnabled = val;
    },
  },
  always('aten::is_scripting() -> bool', true),
  always('aten::_get_tracing_state() -> bool', false),
  always('aten::has_torch_function(...) -> bool', false),
  always('aten::is_autocast_enabled() -> bool', false),
  always('aten::is_autocast_cpu_enabled() -> bool', false),
  {
    schema: 'aten::get_autocast_dtype(str device_type) -> ScalarType',
    scalar: (device) => {
      const [dtype] = autocastDtypes.find(([, devices]) => devices.test(device as string)) ?? [];
      check(dtype !== undefined, 'unsupported scalarType');
      return BigInt(scalarTypeCode(dtype!));
    },
  },
  always('aten::is_vulkan_available() -> bool', false),
  always('aten::_nnpack_available() -> bool', false),
  always('aten::_get_cpu_capability() -> str', 'DEFAULT'),
];

let nextIdentity = 1n;
const numberOf = remembered<ScriptObject, bigint>(() => nextIdentity++);

/** A number that stands for the object as long as it lives. */
function identityOf(value: IValue): bigint {
  return value instanceof ScriptObject ? numberOf(value) : 0n;
}
