import { describe, expect, test } from 'vitest';
import {
  AnyType,
  BoolType,
  ClassType,
  CressetError,
  DictType,
  EnumType,
  evalTypeVariables,
  FloatType,
  type FunctionSchema,
  type Argument,
  FutureType,
  InterfaceType,
  IntType,
  ListType,
  matchTypeVariables,
  NoneType,
  NumberType,
  OptionalType,
  parseIr,
  parseSchema,
  StringType,
  subtractTypeSet,
  TensorType,
  TupleType,
  type Type,
  unifyTypeList,
  unifyTypes,
  UnionType,
} from '../index.ts';

/** The type that graphs spell so. */
const type = (text: string): Type => parseIr(`graph(%x : ${text}):\n  return (%x)\n`).inputs[0].type;

describe('the three spellings', () => {
  test.each([
    ['int[]', 'int[]', 'List[int]'],
    ['Tensor?', 'Tensor?', 'Optional[Tensor]'],
    ['Dict(str, Tensor)', 'Dict(str, Tensor)', 'Dict[str, Tensor]'],
    ['(int, float?)', '(int, float?)', 'Tuple[int, Optional[float]]'],
    ['()', '()', 'Tuple[()]'],
    ['Future(Tensor)', 'Future[Tensor]', 'Future[Tensor]'],
    ['Scalar', 'Scalar', 'number'],
    ['NoneType', 'NoneType', 'NoneType'],
    ['Union(int, str)', 'Union(int, str)', 'Union[int, str]'],
    [
      'Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)',
      'Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)',
      'Tensor',
    ],
    ['Long(*, 4)', 'Long(*, 4)', 'Tensor'],
    ['Float(2)[]', 'Float(2)[]', 'List[Tensor]'],
    ['HalfTensor', 'HalfTensor', 'Tensor'],
    ['Tensor(requires_grad=1)', 'Tensor(requires_grad=1)', 'Tensor'],
  ])('of %s', (text, inGraphs, inPython) => {
    expect(`${type(text)}`).toBe(inGraphs);
    expect(type(text).annotationStr()).toBe(inPython);
  });

  test('of a named tuple', () => {
    const point = TupleType.createNamed('__torch__.Point', ['x', 'y'], [IntType.get(), TensorType.get()]);
    expect(`${point}`).toBe('NamedTuple(x : int, y : Tensor)');
    const defaults = new Map<string, unknown>([
      ['s', 'a'],
      ['f', 2],
      ['l', { elementType: IntType.get(), items: [1n, 2n] }],
    ]);
    const types = [IntType.get(), StringType.get(), FloatType.get(), new ListType(IntType.get())];
    expect(`${TupleType.createNamed('P', ['n', 's', 'f', 'l'], types, defaults)}`).toBe(
      'NamedTuple(n : int, s : str = a, f : float = 2., l : int[] = [1, 2])',
    );
    expect(point.annotationStr()).toBe('__torch__.Point');
    expect(new ListType(point).annotationStr((inner) => (inner === point ? 'Point' : undefined))).toBe('List[Point]');
  });

  test('of a tensor in schemas and messages is Tensor, however much is known of it', () => {
    expect(type('Float(2, 3)').str()).toBe('Tensor');
    expect(TensorType.getInferred().reprStr()).toBe('Tensor (inferred)');
  });
});

describe('subtypes', () => {
  test.each([
    ['int', 'Scalar', true],
    ['Scalar', 'int', false],
    ['bool', 'int', false],
    ['int', 'int?', true],
    ['NoneType', 'int?', true],
    ['int?', 'int', false],
    ['int[]', 'int?[]', false],
    ['Tensor[]', 'Any', true],
    ['(int, Float(2))', '(Scalar, Tensor)', true],
    ['(int, int)', '(int, int, int)', false],
    ['Future(int)', 'Future(int?)', true],
    ['Float(2, 3)', 'Tensor', true],
    ['Tensor', 'Float(2, 3)', false],
    ['Float(2, 3)', 'Float(*, 3)', true],
    ['int?', 'Union(int, str, NoneType)', true],
    ['Union(int, str)', 'Union(int, str, bool)', true],
    ['Union(int, bool)', 'Union(int, str)', false],
    ['Union(int, float, complex)', 'Scalar', true],
  ])('%s is one of %s: %s', (left, right, answer) => {
    expect(type(left).isSubtypeOf(type(right))).toBe(answer);
  });

  test('of named tuples go by field names', () => {
    const named = TupleType.createNamed('__torch__.P', ['x'], [IntType.get()]);
    const other = TupleType.createNamed('__torch__.Q', ['y'], [IntType.get()]);
    const plain = new TupleType([IntType.get()]);
    expect(named.isSubtypeOf(plain)).toBe(true);
    expect(plain.isSubtypeOf(named)).toBe(false);
    expect(named.isSubtypeOf(other)).toBe(false);
  });

  test('of an interface have its methods', () => {
    const schema = parseSchema('forward(Any self, Tensor x) -> Tensor');
    const wider = parseSchema('forward(Any self, Any x) -> Tensor');
    const narrower = parseSchema('forward(Any self, int x) -> Tensor');
    const shape = new InterfaceType('__torch__.Shape');
    shape.addMethod(schema);
    const implementing = (method: FunctionSchema): ClassType => {
      const made = new ClassType('__torch__.C');
      made.addMethod({ qualifiedName: '__torch__.C.forward', name: 'forward', schema: method });
      return made;
    };
    expect(implementing(wider).isSubtypeOf(shape)).toBe(true);
    const whyNot: string[] = [];
    expect(implementing(narrower).isSubtypeOf(shape, whyNot)).toBe(false);
    expect(whyNot.join('')).toContain('is not compatible with interface');
    expect(new ClassType('__torch__.Empty').isSubtypeOf(shape, whyNot)).toBe(false);
    expect(whyNot.join('')).toContain("does not have method 'forward'");
  });

  test('of enums and classes go by name and owner', () => {
    const owner = {};
    const color = (unit?: object): EnumType => new EnumType('__torch__.Color', IntType.get(), [['RED', 1n]], unit);
    expect(color().equals(color())).toBe(true);
    expect(color(owner).equals(color())).toBe(false);
    expect(new ClassType('__torch__.A').equals(new ClassType('__torch__.B'))).toBe(false);
  });
});

describe('Optional and Union', () => {
  test('flatten and fold', () => {
    const optionalInt = OptionalType.create(IntType.get());
    expect(OptionalType.create(optionalInt)).toBe(optionalInt);
    expect(UnionType.create([IntType.get(), NoneType.get()]).equals(optionalInt)).toBe(true);
    const numbers = UnionType.create([NumberType.get(), NoneType.get()]);
    expect(numbers.str()).toBe('Scalar?');
    expect(UnionType.create([optionalInt, StringType.get()]).str()).toBe('Union(int, NoneType, str)');
    const either = UnionType.create([IntType.get(), StringType.get()]);
    const withNone = UnionType.create([IntType.get(), StringType.get(), NoneType.get()]);
    expect(OptionalType.create(either).isSubtypeOf(withNone)).toBe(true);
    expect(withNone.isSubtypeOf(OptionalType.create(either))).toBe(true);
    expect(OptionalType.create(either).isSubtypeOf(UnionType.create([optionalInt, BoolType.get()]))).toBe(false);
    expect(() => UnionType.create([IntType.get(), IntType.get()])).toThrow(CressetError);
    expect(() => OptionalType.create(NoneType.get())).toThrow(CressetError);
  });

  test('lose members by refinement', () => {
    const union = type('Union(int, str, NoneType)') as UnionType;
    expect(subtractTypeSet(union, [NoneType.get()])?.str()).toBe('Union(int, str)');
    expect(subtractTypeSet(union, [NoneType.get(), StringType.get()])?.str()).toBe('int');
    expect(subtractTypeSet(union, [AnyType.get()])).toBeUndefined();
    expect(subtractTypeSet(OptionalType.create(BoolType.get()), [NoneType.get()])?.str()).toBe('bool');
  });
});

describe('unification', () => {
  test.each([
    ['int', 'NoneType', 'int?'],
    ['int?', 'NoneType', 'int?'],
    ['Float(2, 3)', 'Float(4, 3)', 'Float(*, 3)'],
    ['Float(2)', 'Long(2)', 'Tensor(2)'],
    ['(int, NoneType)', '(int, str)', '(int, str?)'],
    ['Float(2)[]', 'Float(3)[]', 'Tensor[]'],
    ['Future(int)', 'Future(NoneType)', 'Future[int?]'],
  ])('of %s and %s is %s', (left, right, expected) => {
    expect(`${unifyTypes(type(left), type(right))}`).toBe(expected);
  });

  test('fails where there is no common type, or gives a Union where asked', () => {
    expect(unifyTypes(type('int'), type('str'))).toBeUndefined();
    expect(unifyTypes(type('Dict(str, int)'), type('Dict(str, int?)'))).toBeUndefined();
    expect(unifyTypes(type('int'), type('str'), true)?.str()).toBe('Union(int, str)');
    const whyNot: string[] = [];
    expect(unifyTypeList([IntType.get(), FloatType.get()], whyNot)).toBeUndefined();
    expect(whyNot).toEqual([
      'Could not unify type list since element 1 of type float did not match the types before it (int)',
    ]);
  });
});

describe('type variables', () => {
  const bind = (formal: string, actual: string): string | undefined => {
    const env = new Map<string, Type>();
    const argument: Argument = parseSchema(`f(${formal} x) -> ()`).arguments[0];
    const failure = matchTypeVariables(argument.type, type(actual), env);
    return failure ?? evalTypeVariables(argument.type, env)?.str();
  };

  test('take the type of what they are matched to', () => {
    expect(bind('t[]', 'int[]')).toBe('int[]');
    expect(bind('Dict(str, t)', 'Dict(str, Tensor)')).toBe('Dict(str, Tensor)');
    expect(bind('t?', 'int')).toBe('int?');
    expect(bind('(t, t)', '(int, str)')).toContain("Type variable 't' previously matched to type int");
    expect(bind('t[]', 'int')).toBe('Cannot match List[t] to int');
    expect(bind('t?', 'NoneType')).toBeUndefined();
  });
});

describe('ClassType', () => {
  test('keeps attributes in slots', () => {
    const made = new ClassType('__torch__.M', { isModule: true });
    expect(made.addAttribute('weight', TensorType.get(), 'parameter')).toBe(0);
    expect(made.addAttribute('n', IntType.get())).toBe(1);
    expect(made.getAttributeSlot('n')).toBe(1);
    expect(() => made.addAttribute('n', IntType.get())).toThrow('already exists');
    expect(() => made.getAttribute('gone')).toThrow("does not have a field with name 'gone'");
    made.removeAttribute('weight');
    expect(made.getAttributeSlot('n')).toBe(0);
    expect(made.isModule()).toBe(true);
  });
});

test('dictionaries have keys that PyTorch takes', () => {
  expect(() => new DictType(new ListType(IntType.get()), IntType.get())).toThrow('Cannot create dict for key type');
});

test('a tensor type knows what it was told', () => {
  const known = TensorType.createContiguous('float32', 'cpu', [2, 3]);
  expect(known.concreteStrides).toEqual([3, 1]);
  expect(known.numel).toBe(6);
  expect(known.isComplete()).toBe(true);
  expect(`${known.dimensionedOnly()}`).toBe('Float(*, *, device=cpu)');
  expect(known.withDim(undefined).sizes).toBeUndefined();
  expect(`${known.withUndefined()}`).toContain('[Undefined]');
  expect(new FutureType(known).requiresGradMaybe()).toBe(true);
});
