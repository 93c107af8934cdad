import type { Dict } from '@cresset/tensor';
import { PythonError } from '../python-arithmetic.ts';
import type { PythonEntity, PythonValue } from '../python-value.ts';
import { dictOf, entriesOf, listOf, tupleOf } from './containers.ts';
import { copyOf } from './copying.ts';
import { dataclassMembers } from './dataclasses.ts';
import {
  MethodWrapper,
  NativeFunction,
  NO_KEYWORDS,
  PythonClass,
  PythonFunction,
  PythonObject,
  QualifiedName,
  type Keywords,
  type NativeCall,
  type PythonIterator,
} from './entities.ts';
import type { Interpreter } from './interpreter.ts';
import { mathMembers } from './math-module.ts';
import { isCallable, lazily } from './builtins.ts';
import { statementsOf } from './own-texts.ts';
import { Scope } from './scope.ts';
import { STANDARD_TEXTS } from './standard-texts.ts';

type Members = Readonly<Record<string, PythonValue | NativeCall>>;

/** What a module of Python's has, as far as module files use it; undefined for one that is not known. */
export function standardModule(python: Interpreter, path: string): Dict | undefined {
  if (path === 'math' || path === 'cmath') return dictOf(mathMembers(path));
  const make = Object.hasOwn(MODULES, path) ? MODULES[path] : undefined;
  if (make === undefined) return undefined;
  const native = Object.entries(make(python)).map(
    ([name, member]) => [name, typeof member === 'function' ? new NativeFunction(name, member) : member] as const,
  );
  const text = STANDARD_TEXTS[path];
  if (text === undefined) return dictOf(native);
  const scope = new Scope(undefined, 'module', path);
  python.execute(statementsOf(`${path}.py`, text), scope);
  return dictOf([...native, ...(scope.names as ReadonlyMap<string, PythonValue>)]);
}

/** Gives back what it is given: what such a function adds, no program sees. */
const same: NativeCall = ([value]) => value!;
const nothing: NativeCall = () => null;

const TYPING_NAMES =
  'Any Callable ClassVar Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping MutableMapping NoReturn Optional ' +
  'Protocol Sequence Set Tuple Type Union Annotated Generator Hashable Sized Text Self TypeAlias Concatenate ParamSpec ' +
  'Collection DefaultDict Deque Awaitable Coroutine AnyStr SupportsInt SupportsFloat Required NotRequired TypedDict Never';

const typing = (python: Interpreter): Members => ({
  ...Object.fromEntries(TYPING_NAMES.split(' ').map((name) => [name, new QualifiedName(`typing.${name}`)])),
  NamedTuple: python.special.namedTupleClass,
  TYPE_CHECKING: false,
  TypeVar: ([name]) => new QualifiedName(`typing.${name as string}`),
  NewType: ([, type]) => type!,
  overload: same,
  final: same,
  override: same,
  no_type_check: same,
  runtime_checkable: same,
  cast: ([, value]) => value!,
  get_origin: nothing,
  get_args: () => tupleOf([]),
});

const MODULES: Readonly<Record<string, (python: Interpreter) => Members>> = {
  __future__: () =>
    Object.fromEntries(
      'annotations division print_function absolute_import unicode_literals'
        .split(' ')
        .map((name) => [name, new QualifiedName(`__future__.${name}`)]),
    ),
  typing,
  typing_extensions: typing,
  collections: (python) => ({
    OrderedDict: python.builtin('dict')!,
    Counter: ([values]) => {
      const counts = dictOf([]);
      for (const value of python.iterate(values ?? python.list([]))) {
        python.setItem(counts, value, (python.call(python.getAttribute(counts, 'get'), [value, 0n]) as bigint) + 1n);
      }
      return counts;
    },
    defaultdict: ([factory, ...rest], kwargs) => defaultDict(python, factory ?? null, rest, kwargs),
    deque: ([values]) => listOf(values === undefined ? [] : python.iterate(values)),
    namedtuple: ([name, fields], kwargs) => {
      const defaults = kwargs.get('defaults');
      return python.special.namedTuple(
        name as string,
        fields ?? kwargs.get('field_names')!,
        defaults === undefined ? [] : [...python.iterate(defaults)],
      );
    },
    abc: new QualifiedName('collections.abc'),
  }),
  'collections.abc': () =>
    Object.fromEntries(
      'Callable Iterable Iterator Sequence Mapping MutableMapping Hashable Sized Container Generator Collection'
        .split(' ')
        .map((name) => [name, new QualifiedName(`collections.abc.${name}`)]),
    ),
  functools: (python) => ({
    partial: ([fn, ...first], given) => partial(python, fn!, first, given),
    reduce: ([fn, values, ...start]) => {
      const items = [...start, ...python.iterate(values!)];
      if (items.length === 0) throw new PythonError('reduce() of empty iterable with no initial value');
      return items.reduce((total, item) => python.call(fn!, [total, item]));
    },
    wraps: () => new NativeFunction('wraps', same),
    update_wrapper: same,
    lru_cache: ([value]) =>
      value !== undefined && isCallable(value)
        ? remembering(python, value)
        : new NativeFunction('lru_cache', ([fn]) => remembering(python, fn!)),
    cache: ([fn]) => remembering(python, fn!),
    cached_property: ([fn]) => new MethodWrapper('cached_property', fn!),
  }),
  itertools: (python) => ({
    chain: new PythonClass('chain', [python.object], {
      construct: (args) => chained(python, args),
      getAttribute: (name) =>
        name === 'from_iterable'
          ? new NativeFunction(name, ([values]) => chained(python, [...python.iterate(values!)]))
          : undefined,
    }),
    count: ([start = 0n, step = 1n]) =>
      lazily(function* () {
        for (let at = start; ; at = python.binary('+', at, step)) yield at;
      }),
    cycle: ([values]) =>
      lazily(function* () {
        const items = [...python.iterate(values!)];
        while (items.length > 0) yield* items;
      }),
    takewhile: ([fn, values]) =>
      lazily(function* () {
        for (const value of python.iterate(values!)) {
          if (!python.isTruthy(python.call(fn!, [value]))) return;
          yield value;
        }
      }),
    starmap: ([fn, values]) =>
      lazily(function* () {
        for (const row of python.iterate(values!)) yield python.call(fn!, [...python.iterate(row)]);
      }),
    combinations: ([values, size]) => listOf(choicesOf([...python.iterate(values!)], Number(size)).map(tupleOf)),
    product: (args, kwargs) => {
      const times = Number((kwargs.get('repeat') as bigint | undefined) ?? 1n);
      const columns = Array.from({ length: times }, () => args.map((arg) => [...python.iterate(arg)])).flat();
      return listOf(
        columns
          .reduce<PythonValue[][]>((rows, column) => rows.flatMap((row) => column.map((item) => [...row, item])), [[]])
          .map(tupleOf),
      );
    },
    repeat: ([value, times]) =>
      lazily(function* () {
        for (let at = 0n; times === undefined || at < (times as bigint); at++) yield value!;
      }),
    islice: ([values, ...bounds]) => {
      const [start = null, stop = null, step = null] = bounds.length > 1 ? bounds : [null, bounds[0]!];
      return lazily(function* () {
        let at = 0;
        const end = stop === null ? Infinity : Number(stop);
        if (end === 0) return;
        for (const value of python.iterate(values!)) {
          if (at >= Number(start ?? 0n) && (at - Number(start ?? 0n)) % Number(step ?? 1n) === 0) yield value;
          if (++at >= end) return;
        }
      });
    },
    accumulate: ([values]) => {
      let total: PythonValue | undefined;
      return listOf(
        [...python.iterate(values!)].map(
          (item) => (total = total === undefined ? item : python.binary('+', total, item)),
        ),
      );
    },
    pairwise: ([values]) => {
      const items = [...python.iterate(values!)];
      return listOf(items.slice(1).map((item, at) => tupleOf([items[at]!, item])));
    },
    zip_longest: (args, kwargs) => {
      const columns = args.map((arg) => [...python.iterate(arg)]);
      const fill = kwargs.get('fillvalue') ?? null;
      const length = Math.max(0, ...columns.map((column) => column.length));
      return listOf(Array.from({ length }, (_, at) => tupleOf(columns.map((column) => column[at] ?? fill))));
    },
  }),
  operator: (python) => ({
    mul: ([a, b]) => python.binary('*', a!, b!),
    add: ([a, b]) => python.binary('+', a!, b!),
    sub: ([a, b]) => python.binary('-', a!, b!),
    truediv: ([a, b]) => python.binary('/', a!, b!),
    floordiv: ([a, b]) => python.binary('//', a!, b!),
    eq: ([a, b]) => python.binary('==', a!, b!),
    lt: ([a, b]) => python.binary('<', a!, b!),
    index: same,
    itemgetter: ([key]) => new NativeFunction('itemgetter', ([value]) => python.getItem(value!, key!)),
    attrgetter: ([name]) => new NativeFunction('attrgetter', ([value]) => python.getAttribute(value!, name as string)),
  }),
  abc: (python) => ({
    ABC: new PythonClass('ABC', [python.object]),
    ABCMeta: python.builtin('type')!,
    abstractmethod: markAbstract,
    abstractproperty: ([fn]) => new MethodWrapper('property', markAbstract([fn!], NO_KEYWORDS)),
  }),
  enum: (python) => ({
    Enum: python.builtin('Enum')!,
    IntEnum: python.builtin('IntEnum')!,
    auto: new QualifiedName('enum.auto'),
    unique: same,
  }),
  dataclasses: (python) => dataclassMembers(python) as Members,
  copy: (python) => ({
    copy: ([value]) => copyOf(python, value!, false),
    deepcopy: ([value]) => copyOf(python, value!, true),
  }),
  types: () => ({
    SimpleNamespace: new QualifiedName('types.SimpleNamespace'),
    FunctionType: new QualifiedName('types.FunctionType'),
  }),
  warnings: () => ({
    warn: new NativeFunction('warn', nothing, 'warnings.warn'),
    filterwarnings: nothing,
    simplefilter: nothing,
  }),
  logging: (python) => ({
    getLogger: () => silentObject(python, 'Logger', 'debug info warning error critical exception setLevel addHandler'),
    basicConfig: nothing,
    INFO: 20n,
    WARNING: 30n,
    DEBUG: 10n,
    ERROR: 40n,
    ...Object.fromEntries('debug info warning error'.split(' ').map((name) => [name, nothing])),
  }),
  os: () => ({
    environ: dictOf([]),
    getenv: ([, otherwise = null]) => otherwise,
    getcwd: () => '/',
    path: new QualifiedName('os.path'),
  }),
  'os.path': () => ({
    join: (parts) => parts.join('/'),
    exists: () => false,
    dirname: () => '',
    basename: same,
    abspath: same,
  }),
  sys: () => ({ version_info: tupleOf([3n, 12n, 0n]), maxsize: 2n ** 63n - 1n, platform: 'linux', argv: listOf([]) }),
  time: () => ({ time: () => Date.now() / 1000, perf_counter: () => performance.now() / 1000 }),
  random: () => ({ seed: nothing }),
  contextlib: (python) => ({
    contextmanager: ([fn]) =>
      new NativeFunction('contextmanager', (args, kwargs) => contextOf(python, python.call(fn!, args, kwargs))),
  }),
  inspect: () => ({
    isfunction: ([value]) => value instanceof PythonFunction,
    isclass: ([value]) => value instanceof PythonClass,
  }),
  numbers: () =>
    Object.fromEntries('Number Integral Real'.split(' ').map((name) => [name, new QualifiedName(`numbers.${name}`)])),
  string: () => ({ ascii_lowercase: 'abcdefghijklmnopqrstuvwxyz', digits: '0123456789' }),
  argparse: () => ({}),
  pathlib: () => ({}),
  json: () => ({}),
  re: () => ({}),
};

const markAbstract: NativeCall = ([member]) => {
  const fn = member instanceof MethodWrapper ? member.fn : member;
  if (fn instanceof PythonFunction) fn.attributes.set('__isabstractmethod__', true);
  return member!;
};

function chained(python: Interpreter, parts: readonly PythonValue[]): PythonValue {
  return lazily(function* () {
    for (const part of parts) yield* python.iterate(part);
  });
}

/** All choices of so many items, in order. */
function choicesOf(items: readonly PythonValue[], size: number): PythonValue[][] {
  if (size === 0) return [[]];
  return items.flatMap((item, at) => choicesOf(items.slice(at + 1), size - 1).map((rest) => [item, ...rest]));
}

/** A function that computes nothing twice. */
function remembering(python: Interpreter, fn: PythonValue): PythonValue {
  const known: { readonly given: readonly PythonValue[]; readonly result: PythonValue }[] = [];
  return new NativeFunction('lru_cache', (args, kwargs) => {
    const given = [...args, ...[...kwargs].flat()];
    const isSame = (value: PythonValue, at: number): boolean =>
      value === given[at] || python.binary('==', value, given[at]!) === true;
    const met = known.find((each) => each.given.length === given.length && each.given.every(isSame));
    if (met !== undefined) return met.result;
    const result = python.call(fn, args, kwargs);
    known.push({ given, result });
    return result;
  });
}

/** A context that a generator makes: it runs to its `yield` before the block, and on from there behind it. */
function contextOf(python: Interpreter, made: PythonValue): PythonValue {
  const { iterator } = made as PythonIterator;
  const type = new PythonClass('_GeneratorContextManager', [python.object]);
  type.members.set('__enter__', new NativeFunction('__enter__', () => iterator.next().value as PythonValue));
  type.members.set(
    '__exit__',
    new NativeFunction('__exit__', ([, , reason]) => {
      if (reason === null || reason === undefined) iterator.next();
      else iterator.throw!(new PythonError(python.text(reason), reason as PythonEntity));
      return reason !== null;
    }),
  );
  return new PythonObject(type);
}

function partial(python: Interpreter, fn: PythonValue, first: readonly PythonValue[], given: Keywords): PythonValue {
  const made = new PythonObject(partialClass);
  made.attributes.set('func', fn);
  made.attributes.set('args', tupleOf(first));
  made.attributes.set('keywords', dictOf(given));
  made.attributes.set(
    '__call__',
    new NativeFunction('partial', (args, kwargs) =>
      python.call(fn, [...first, ...args], new Map([...given, ...kwargs])),
    ),
  );
  return made;
}

/** What `functools.partial` makes: calling one calls what it holds. */
const partialClass = new PythonClass('partial', [], { module: 'functools' });
partialClass.members.set(
  '__call__',
  new NativeFunction('__call__', ([self, ...args], kwargs) =>
    ((self as PythonObject).attributes.get('__call__') as NativeFunction).call(args, kwargs),
  ),
);

/** An object that stands for its dict, and makes what is missing. */
function defaultDict(
  python: Interpreter,
  factory: PythonValue,
  rest: readonly PythonValue[],
  kwargs: Keywords,
): PythonValue {
  const entries = python.call(python.builtin('dict')!, rest, kwargs) as Dict;
  const type = new PythonClass('defaultdict', [python.object]);
  const method = (name: string, call: (args: readonly PythonValue[]) => PythonValue): unknown =>
    type.members.set(name, new NativeFunction(name, ([, ...args]) => call(args)));
  for (const name of [
    'keys',
    'values',
    'items',
    'get',
    'pop',
    'update',
    '__contains__',
    '__iter__',
    '__len__',
    '__setitem__',
  ]) {
    method(name, (args) => python.call(python.getAttribute(entries, name), args));
  }
  method('__getitem__', ([key]) => {
    const known = entriesOf(entries).find(([each]) => python.binary('==', each, key!) === true);
    if (known !== undefined) return known[1];
    if (factory === null) return python.getItem(entries, key!);
    const made = python.call(factory, []);
    python.setItem(entries, key!, made);
    return made;
  });
  return new PythonObject(type);
}

/** An object whose methods do nothing. */
function silentObject(python: Interpreter, name: string, methods: string): PythonValue {
  const type = new PythonClass(name, [python.object]);
  for (const method of methods.split(' ')) type.members.set(method, new NativeFunction(method, nothing));
  return new PythonObject(type);
}

/** A context that changes nothing; as a decorator it leaves a function as it is. */
export function contextObject(python: Interpreter): PythonValue {
  const type = new PythonClass('context', [python.object]);
  type.members.set('__enter__', new NativeFunction('__enter__', same));
  type.members.set('__exit__', new NativeFunction('__exit__', () => false));
  type.members.set('__call__', new NativeFunction('__call__', ([, fn]) => fn!));
  return new PythonObject(type);
}
