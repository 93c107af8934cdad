import { Complex } from '@cresset/ir';
import { Dict, List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { PythonError } from '../python-arithmetic.ts';
import { EXCEPTION_NAMES } from '../python-modules.ts';
import { pythonTypeName, TorchCode, type PythonValue } from '../python-value.ts';
import { dictOf, itemsIn, listOf, tupleOf } from './containers.ts';
import { addDictMembers } from './dict-class.ts';
import { namesIn, setOwnAttribute } from './attributes.ts';
import {
  BoundMethod,
  ELLIPSIS,
  MethodWrapper,
  NativeFunction,
  NOT_IMPLEMENTED,
  PythonClass,
  PythonFunction,
  PythonIterator,
  PythonObject,
  PythonSet,
  PythonSlice,
  QualifiedName,
  SuperProxy,
  type Keywords,
  type NativeCall,
} from './entities.ts';
import { formatValue } from './formatting.ts';
import type { Interpreter } from './interpreter.ts';
import { addToSet, isLess, lengthOf } from './operations.ts';
import { numberBuiltin, NUMBER_BUILTINS } from './number-builtins.ts';

/** Exceptions by the class that they derive from; the others derive from `Exception`. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  BaseException: 'Exception SystemExit KeyboardInterrupt GeneratorExit',
  ArithmeticError: 'ZeroDivisionError OverflowError FloatingPointError',
  LookupError: 'KeyError IndexError',
  ImportError: 'ModuleNotFoundError',
  OSError: 'FileNotFoundError PermissionError',
  RuntimeError: 'NotImplementedError RecursionError',
  ValueError: 'UnicodeError',
  NameError: 'UnboundLocalError',
  Warning: 'UserWarning DeprecationWarning FutureWarning RuntimeWarning',
};

/** Names that sources use without importing them, as their authors' modules would have them. */
const ALIASES: Readonly<Record<string, string>> = {
  torch: 'torch',
  math: 'math',
  F: 'torch.nn.functional',
  nn: 'torch.nn',
  collections: 'collections',
  warnings: 'warnings',
  typing: 'typing',
  enum: 'enum',
};

const ALIASED_MEMBERS: Readonly<Record<string, string>> = {
  OrderedDict: 'collections.OrderedDict',
  namedtuple: 'collections.namedtuple',
  dataclass: 'dataclasses.dataclass',
  field: 'dataclasses.field',
  partial: 'functools.partial',
};

const TYPING =
  'Any Callable ClassVar Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping NamedTuple NoReturn Optional ' +
  'Protocol Sequence Set Tuple Type TypeVar Union TYPE_CHECKING overload cast Annotated';

/** Names that every file of Python has. */
export class Builtins {
  readonly #python: Interpreter;
  readonly #names = new Map<string, PythonValue>();

  constructor(python: Interpreter) {
    this.#python = python;
    this.#addExceptions();
    this.#addTypes();
    this.#addFunctions();
  }

  get(name: string): PythonValue | undefined {
    const own = this.#names.get(name);
    if (own !== undefined) return own;
    const path = Object.hasOwn(ALIASES, name) ? ALIASES[name]! : undefined;
    if (path !== undefined) return new QualifiedName(path);
    const member = Object.hasOwn(ALIASED_MEMBERS, name) ? ALIASED_MEMBERS[name]! : undefined;
    if (member !== undefined) {
      const at = member.lastIndexOf('.');
      return this.#python.getAttributeOrUndefined(new QualifiedName(member.slice(0, at)), member.slice(at + 1));
    }
    if (name === 'Tensor') return this.#python.torch.attribute('torch', name);
    if (TYPING.split(' ').includes(name)) return this.#python.standardMembers('typing')!.entries.get(name);
    if (/^BroadcastingList\d$|^Final$|^auto$|^IntEnum$/.test(name)) {
      if (name === 'auto') return new QualifiedName('enum.auto');
      return name === 'IntEnum' ? this.#python.special.enumClass : new QualifiedName(`typing.${name}`);
    }
    return name === 'Enum' ? this.#python.special.enumClass : undefined;
  }

  // ---- classes

  #addExceptions(): void {
    const base = new PythonClass('BaseException', [this.#python.object]);
    base.members.set(
      '__init__',
      new NativeFunction('__init__', ([self, ...args]) => {
        (self as PythonObject).attributes.set('args', tupleOf(args));
        return null;
      }),
    );
    this.#names.set('BaseException', base);
    const add = (name: string, parent: string): void => {
      this.#names.set(name, new PythonClass(name, [this.#names.get(parent) as PythonClass]));
    };
    for (const [parent, children] of Object.entries(EXCEPTIONS)) {
      if (!this.#names.has(parent)) add(parent, 'Exception');
      for (const child of children.split(' ')) add(child, parent);
    }
    for (const name of ['AssertionError', ...EXCEPTION_NAMES]) if (!this.#names.has(name)) add(name, 'Exception');
  }

  #addTypes(): void {
    const python = this.#python;
    const type = (name: string, isInstance: (value: PythonValue) => boolean, construct: NativeCall): void => {
      const base = name === 'bool' ? (this.#names.get('int') as PythonClass) : python.object;
      this.#names.set(name, new PythonClass(name, [base], { isInstance, construct }));
    };
    for (const name of ['int', 'float', 'bool', 'complex']) {
      type(name, isNumberOf(name), (args, kwargs) => numberBuiltin(python, name, args, kwargs));
    }
    const items = (args: readonly PythonValue[]): PythonValue[] =>
      args.length === 0 ? [] : [...python.iterate(args[0]!)];
    type(
      'str',
      (value) => typeof value === 'string',
      ([value]) => (value === undefined ? '' : python.text(value)),
    );
    type(
      'bytes',
      () => false,
      ([value]) => value ?? '',
    );
    type(
      'list',
      (value) => value instanceof List,
      (args) => listOf(items(args)),
    );
    type(
      'tuple',
      (value) => value instanceof Tuple,
      (args) => tupleOf(items(args)),
    );
    type(
      'set',
      (value) => value instanceof PythonSet,
      (args) => new PythonSet(items(args).reduce<PythonValue[]>(addToSet, [])),
    );
    this.#names.set('frozenset', this.#names.get('set')!);
    type(
      'dict',
      (value) => value instanceof Dict,
      ([value], kwargs) => this.dict(value, kwargs),
    );
    type(
      'range',
      () => false,
      (args, kwargs) => numberBuiltin(python, 'range', args, kwargs),
    );
    type(
      'slice',
      (value) => value instanceof PythonSlice,
      ([start, stop, step]) =>
        stop === undefined ? new PythonSlice(null, start!, null) : new PythonSlice(start!, stop, step ?? null),
    );
    type(
      'type',
      (value) => value instanceof PythonClass,
      ([value, bases, members]) =>
        bases === undefined ? python.typeOf(value!) : this.#dynamicClass(value as string, bases, members as Dict),
    );
    for (const kind of ['staticmethod', 'classmethod', 'property'] as const) {
      type(
        kind,
        (value) => value instanceof MethodWrapper && value.kind === kind,
        ([fn, setter]) => new MethodWrapper(kind, fn!, setter),
      );
    }
    addDictMembers(python, this.#names.get('dict') as PythonClass);
    this.#names.set('object', python.object);
    this.#addObjectMembers();
  }

  #addObjectMembers(): void {
    const python = this.#python;
    const { members } = python.object;
    const add = (name: string, call: NativeCall): unknown => members.set(name, new NativeFunction(name, call));
    add('__init__', ([, ...args], kwargs) => {
      if (args.length + kwargs.size > 0)
        throw new PythonError('object.__init__() takes exactly one argument (the instance to initialize)');
      return null;
    });
    add('__setattr__', ([self, name, value]) => {
      setOwnAttribute(python, self as PythonObject, name as string, value!);
      return null;
    });
    add('__getattribute__', ([self, name]) => python.getAttribute(self!, name as string));
    add('__new__', ([type]) => new PythonObject(type as PythonClass));
    add('__init_subclass__', () => null);
  }

  dict(value: PythonValue | undefined, kwargs: Keywords): Dict {
    const dict = dictOf(value === undefined ? [] : this.#python.mapping(value).entries);
    for (const [key, each] of kwargs) dict.entries.set(key, each as IValue);
    return dict;
  }

  #dynamicClass(name: string, bases: PythonValue, members: Dict): PythonClass {
    const type = new PythonClass(name, itemsIn(bases as Tuple) as readonly PythonClass[]);
    for (const [key, value] of members.entries) type.members.set(key as string, value);
    return type;
  }

  /** The class of a value that is no object. */
  typeNamed(value: PythonValue): PythonValue | undefined {
    if (value instanceof Tensor) return this.#python.torch.attribute('torch', 'Tensor');
    return this.#names.get(pythonTypeName(value));
  }

  isInstanceOfName(value: PythonValue, path: string): boolean {
    switch (path) {
      case 'torch.dtype':
      case 'torch.layout':
      case 'torch.memory_format':
        return value instanceof TorchCode && value.pythonType === path.slice('torch.'.length);
      case 'torch.Size':
        return value instanceof Tuple;
      case 'torch.device':
        return pythonTypeName(value) === 'device';
      case 'typing.Callable':
      case 'collections.abc.Callable':
        return isCallable(value);
      case 'collections.abc.Iterable':
      case 'typing.Iterable':
      case 'collections.abc.Sequence':
      case 'typing.Sequence':
        return (
          value instanceof List ||
          value instanceof Tuple ||
          typeof value === 'string' ||
          (path.endsWith('Iterable') && (value instanceof Dict || value instanceof PythonSet))
        );
      case 'typing.List':
        return value instanceof List;
      case 'typing.Tuple':
        return value instanceof Tuple;
      case 'typing.Dict':
      case 'typing.Mapping':
      case 'collections.abc.Mapping':
        return value instanceof Dict;
      case 'numbers.Number':
      case 'numbers.Integral':
        return (
          typeof value === 'bigint' ||
          typeof value === 'boolean' ||
          (path.endsWith('Number') && typeof value === 'number')
        );
      case 'numbers.Real':
        return typeof value === 'bigint' || typeof value === 'boolean' || typeof value === 'number';
      default:
        return false;
    }
  }

  // ---- functions

  #addFunctions(): void {
    const python = this.#python;
    const add = (name: string, call: NativeCall): unknown => this.#names.set(name, new NativeFunction(name, call));
    for (const name of NUMBER_BUILTINS) {
      if (!this.#names.has(name)) add(name, (args, kwargs) => numberBuiltin(python, name, args, kwargs));
    }
    add('len', ([value]) => lengthOf(python, value!));
    add('print', (args) => {
      python.host.print(`${args.map((arg) => python.text(arg)).join(' ')}\n`);
      return null;
    });
    add('isinstance', ([value, types]) => python.isInstance(value!, types!));
    add('issubclass', ([type, types]) => {
      const of = types instanceof Tuple ? itemsIn(types) : [types!];
      return type instanceof PythonClass && of.some((each) => each instanceof PythonClass && type.isSubclassOf(each));
    });
    add('getattr', ([value, name, ...otherwise]) => {
      const found = this.#attribute(value!, name as string);
      if (found !== undefined) return found;
      return otherwise.length > 0 ? otherwise[0]! : python.getAttribute(value!, name as string);
    });
    add('hasattr', ([value, name]) => this.#attribute(value!, name as string) !== undefined);
    add('setattr', ([value, name, given]) => {
      python.setAttribute(value!, name as string, given!);
      return null;
    });
    add('delattr', ([value, name]) => {
      python.deleteAttribute(value!, name as string);
      return null;
    });
    add('callable', ([value]) => isCallable(value!));
    add('super', ([type, self]) => new SuperProxy(type as PythonClass, self!));
    add('repr', ([value]) => python.repr(value!));
    add('format', ([value, spec = '']) => formatValue(python, value!, spec as string));
    add('id', ([value]) => identityOf(value!));
    add('hash', ([value]) => identityOf(value!));
    add('dir', ([value]) => namesIn(value!));
    add('vars', ([value]) => python.getAttribute(value!, '__dict__'));
    add('iter', ([value]) => new PythonIterator(python.iterate(value!)[Symbol.iterator]()));
    add('next', ([iterator, ...otherwise]) => {
      try {
        return python.call(python.getAttribute(iterator!, '__next__'), []);
      } catch (error) {
        if (otherwise.length > 0 && python.isExceptionNamed(error, 'StopIteration')) return otherwise[0]!;
        throw error;
      }
    });
    add('enumerate', ([values, start], kwargs) => {
      const first = (start ?? kwargs.get('start') ?? 0n) as bigint;
      return lazily(function* () {
        let at = first;
        for (const value of python.iterate(values!)) yield tupleOf([at++, value]);
      });
    });
    add('zip', (args) => lazily(() => rowsOf(python, args, tupleOf)));
    add('map', ([fn, ...args]) => lazily(() => rowsOf(python, args, (row) => python.call(fn!, row))));
    add('filter', ([fn, values]) =>
      lazily(function* () {
        for (const value of python.iterate(values!)) {
          if (python.isTruthy(fn === null ? value : python.call(fn!, [value]))) yield value;
        }
      }),
    );
    add('reversed', ([values]) => new PythonIterator([...python.iterate(values!)].toReversed().values()));
    add('sorted', ([values], kwargs) => listOf(python.sorted([...python.iterate(values!)], kwargs)));
    for (const [name, ends] of [
      ['any', true],
      ['all', false],
    ] as const) {
      add(name, ([values]) => {
        for (const value of python.iterate(values!)) if (python.isTruthy(value) === ends) return ends;
        return !ends;
      });
    }
    add('sum', ([values, start], kwargs) =>
      [...python.iterate(values!)].reduce(
        (sum, item) => python.binary('+', sum, item),
        start ?? kwargs.get('start') ?? 0n,
      ),
    );
    for (const name of ['max', 'min']) add(name, (args, kwargs) => this.#extreme(name, args, kwargs));
    this.#names.set('__name__', '__cresset__');
    this.#names.set('NotImplemented', NOT_IMPLEMENTED);
    this.#names.set('Ellipsis', ELLIPSIS);
  }

  /** What `getattr` finds: an attribute that raises an AttributeError is none. */
  #attribute(value: PythonValue, name: string): PythonValue | undefined {
    try {
      return this.#python.getAttributeOrUndefined(value, name);
    } catch (error) {
      if (this.#python.isExceptionNamed(error, 'AttributeError')) return undefined;
      throw error;
    }
  }

  #extreme(name: string, args: readonly PythonValue[], kwargs: Keywords): PythonValue {
    const python = this.#python;
    const items = args.length === 1 ? [...python.iterate(args[0]!)] : args;
    const key = kwargs.get('key') ?? null;
    const measure = (value: PythonValue): PythonValue => (key === null ? value : python.call(key, [value]));
    if (items.length === 0) {
      const otherwise = kwargs.get('default');
      if (otherwise !== undefined) return otherwise;
      throw new PythonError(`${name}() iterable argument is empty`, 'ValueError');
    }
    return items.reduce((best, item) => {
      const [a, b] = name === 'min' ? [item, best] : [best, item];
      return isLess(python, measure(a), measure(b)) ? item : best;
    });
  }
}

/** An iterator whose values are computed as they are asked for. */
export function lazily(values: () => Iterator<PythonValue>): PythonIterator {
  return new PythonIterator(values());
}

/** What several give side by side, for as long as all of them have something. */
function* rowsOf(
  python: Interpreter,
  columns: readonly PythonValue[],
  make: (row: PythonValue[]) => PythonValue,
): Generator<PythonValue> {
  const iterators = columns.map((column) => python.iterate(column)[Symbol.iterator]());
  while (iterators.length > 0) {
    const row: PythonValue[] = [];
    for (const iterator of iterators) {
      const next = iterator.next();
      if (next.done === true) return;
      row.push(next.value);
    }
    yield make(row);
  }
}

function isNumberOf(name: string): (value: PythonValue) => boolean {
  switch (name) {
    case 'int':
      return (value) => typeof value === 'bigint' || typeof value === 'boolean';
    case 'float':
      return (value) => typeof value === 'number';
    case 'bool':
      return (value) => typeof value === 'boolean';
    default:
      return (value) => value instanceof Complex;
  }
}

export function isCallable(value: PythonValue): boolean {
  if (value instanceof PythonObject) return value.type.find('__call__') !== undefined;
  return (
    value instanceof PythonFunction ||
    value instanceof NativeFunction ||
    value instanceof BoundMethod ||
    value instanceof PythonClass ||
    value instanceof QualifiedName
  );
}

const identities = new WeakMap<object, bigint>();
let lastIdentity = 0n;

/** Equal for values that are the same. */
function identityOf(value: PythonValue): bigint {
  if (typeof value !== 'object' || value === null)
    return BigInt(
      `0x${[...`${typeof value}${String(value)}`].map((each) => each.charCodeAt(0).toString(16)).join('')}`,
    );
  let identity = identities.get(value);
  if (identity === undefined) identities.set(value, (identity = ++lastIdentity));
  return identity;
}
