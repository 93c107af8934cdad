import { Complex, type GraphFunction, type SourceRange, type Type } from '@cresset/ir';
import type { Resolver } from './resolver.ts';
import { BuiltinFunction, SimpleValue } from './values/simple-value.ts';
import { SpecialFormValue } from './values/special-form-value.ts';
import { SugaredValue } from './values/sugared-value.ts';

/** A module whose functions are operators of one namespace: `torch.relu` is `aten::relu` (PyTorch: BuiltinModule). */
export class BuiltinModule extends SugaredValue {
  readonly namespace: string;

  constructor(namespace: string) {
    super();
    this.namespace = namespace;
  }

  override kind(): string {
    return 'builtin module';
  }

  override attr(_range: SourceRange, _fn: GraphFunction, field: string): SugaredValue {
    return field === 'autograd' ? this : new BuiltinFunction(`${this.namespace}::${field}`);
  }
}

/** `ops`: `ops.prim.x` is the operator `prim::x`. */
export class OpsValue extends SugaredValue {
  override kind(): string {
    return 'ops';
  }

  override attr(_range: SourceRange, _fn: GraphFunction, field: string): SugaredValue {
    return new BuiltinModule(field);
  }
}

/** The names that PyTorch's printed code uses without defining them. */
const PRINTED_NAMES: ReadonlyMap<string, SugaredValue> = new Map<string, SugaredValue>([
  ['torch', new BuiltinModule('aten')],
  ['ops', new OpsValue()],
  ['fork', new SpecialFormValue('prim::fork')],
  ['awaitable', new SpecialFormValue('prim::awaitable')],
  ['annotate', new SpecialFormValue('prim::annotate')],
  ['unchecked_cast', new SpecialFormValue('prim::unchecked_cast')],
  ['uninitialized', new SpecialFormValue('prim::Uninitialized')],
]);

/** Numbers that Python has no literals for. */
const PRINTED_NUMBERS: ReadonlyMap<string, number | Complex> = new Map<string, number | Complex>([
  ['inf', Infinity],
  ['nan', NaN],
  ['infj', new Complex(0, Infinity)],
  ['nanj', new Complex(0, NaN)],
]);

/** Meaning of a name in printed code, without those of the program itself; `inf` and `nan` are numbers there. */
export function resolvePrintedName(name: string, fn: GraphFunction, range: SourceRange): SugaredValue | undefined {
  const number = PRINTED_NUMBERS.get(name);
  return number === undefined
    ? PRINTED_NAMES.get(name)
    : new SimpleValue(fn.graphBeingDefined.insertConstant(number, range));
}

/** Knows the names of printed code and no others (PyTorch: NativeResolver). */
export const NATIVE_RESOLVER: Resolver = {
  resolveValue: resolvePrintedName,
  resolveType: (): Type | undefined => undefined,
};
