import {
  Argument,
  BoolType,
  ClassType,
  EnumType,
  FloatType,
  FunctionSchema,
  FunctionType,
  InterfaceType,
  IntType,
  ListType,
  StringType,
  TensorType,
  TupleType,
  type Type,
} from '@cresset/ir';
import { List, Tensor, toByteString } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { CodeFiles } from './code-files.ts';
import { type Dependency, DependencyTable, qualifiedNameOf } from './dependency-table.ts';
import { functionOfIr, registerFixtureOperators } from './python-print-fixture.ts';
import { PythonPrint } from './python-print.ts';

beforeAll(registerFixtureOperators);

function print(type: Dependency, dependencies = new DependencyTable()): string {
  const printer = new PythonPrint([], dependencies);
  printer.printNamedType(type);
  return printer.toString();
}

/** A method that returns its second argument, or itself where it has none. */
function methodOf(type: ClassType, name: string, parameter?: string): ReturnType<typeof functionOfIr> {
  const parameters = `%self : ${type.qualifiedName}${parameter === undefined ? '' : `, %x : ${parameter}`}`;
  return functionOfIr(
    `graph(${parameters}):\n  return (${parameter === undefined ? '%self' : '%x'})`,
    `${type.name}.${name}`,
    type,
  );
}

describe('named types', () => {
  it('modules list parameters, buffers, hooks, attributes and constants', () => {
    const inner = new ClassType('__torch__.Inner', { isModule: true });
    const net = new ClassType('__torch__.Net', { isModule: true });
    net.addAttribute('weight', TensorType.get(), 'parameter');
    net.addAttribute('count', TensorType.get(), 'buffer');
    net.addAttribute('training', BoolType.get());
    net.addAttribute('0', inner);
    net.addConstant('sizes', new List(IntType.get(), [1n, 2n]));
    net.addConstant('scale', 0.5);
    net.addMethod(methodOf(net, 'forward', 'Tensor'));
    const hook = methodOf(net, 'hook', 'Tensor');
    net.addForwardHook(hook);
    net.addForwardHook(hook);
    net.addForwardPreHook(methodOf(net, 'pre'));
    const dependencies = new DependencyTable();
    expect(print(net, dependencies)).toBe(`class Net(Module):
  __parameters__ = ["weight", ]
  __buffers__ = ["count", ]
  __forward_pre_hooks__ = ["pre", ]
  __forward_hooks__ = ["hook", "hook", ]
  weight : Tensor
  count : Tensor
  training : bool
  __annotations__["0"] = __torch__.Inner
  sizes : Final[List[int]] = [1, 2]
  scale : Final[float] = 0.5
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    return x
  def hook(self: __torch__.Net,
    x: Tensor) -> Tensor:
    return x
  def pre(self: __torch__.Net) -> __torch__.Net:
    return self
`);
    expect([...dependencies].map(qualifiedNameOf)).toEqual(['__torch__.Inner', '__torch__.Net']);
  });

  it('a first attribute without a valid name needs a place', () => {
    const container = new ClassType('__torch__.List', { isModule: true });
    container.addAttribute('0', IntType.get());
    expect(print(container)).toContain('  __annotations__ = []\n  __annotations__["0"] = int\n');
  });

  it('classes of C++ are left out', () => {
    const type = new ClassType('__torch__.torch.classes.Packed');
    type.addMethod({
      qualifiedName: '__torch__.torch.classes.Packed.run',
      name: 'run',
      schema: new FunctionSchema('run', '', [], []),
    });
    expect(print(type)).toBe('');
  });

  it('constants of no known form are refused', () => {
    const type = new ClassType('__torch__.Net', { isModule: true });
    type.addConstant('strange', { anything: 1 });
    expect(() => print(type)).toThrow(/'strange' has no form in Python/);
  });

  it('interfaces have the heads of their methods', () => {
    const type = new InterfaceType('__torch__.Runner', true);
    const self = new Argument('self', type);
    const point = TupleType.createNamed('__torch__.Point', ['x'], [FloatType.get()]);
    type.addMethod(new FunctionSchema('run', '', [self, new Argument('n', IntType.get())], [new Argument('', point)]));
    const dependencies = new DependencyTable();
    expect(print(type, dependencies)).toBe(`class Runner(ModuleInterface):
  def run(self, n: int) -> __torch__.Point:
    pass
`);
    expect([...dependencies]).toEqual([point]);
    expect(print(point)).toBe('class Point(NamedTuple):\n  x : float\n');
  });

  it('enums have values of their type', () => {
    const color = new EnumType('__torch__.Color', IntType.get(), [['RED', 1n]]);
    const texts = new EnumType('__torch__.Text', StringType.get(), [
      ['A', "it's"],
      ['B', 'a\\b'],
      ['C', toByteString('é')],
    ]);
    expect(print(color)).toBe('class Color(Enum):\n  RED = 1\n');
    expect(print(texts)).toBe('class Text(Enum):\n  A = "it\'s"\n  B = "a\\\\b"\n  C = "é"\n');
  });
});

describe('DependencyTable', () => {
  it('takes each type once, and follows classes that contain themselves', () => {
    const node = new ClassType('__torch__.Node');
    node.addAttribute('children', new ListType(node));
    const table = new DependencyTable();
    table.addTypesIn(new ListType(node));
    table.add(new ClassType('__torch__.Node'));
    const fn = functionOfIr('graph(%x : Tensor):\n  return (%x)');
    table.add(new FunctionType(fn));
    table.add(new FunctionType(fn));
    expect([...table]).toHaveLength(2);
    expect(table.length).toBe(2);
  });
});

describe('CodeFiles', () => {
  it('groups by qualifier, and gives a second type of the same name another', () => {
    const first = new ClassType('__torch__.net.Part', { compilationUnit: {} });
    const second = new ClassType('__torch__.net.Part', { compilationUnit: {} });
    const whole = new ClassType('__torch__.Whole');
    const members: readonly (readonly [string, Type])[] = [
      ['a', first],
      ['b', second],
      ['c', first],
    ];
    for (const [name, type] of members) whole.addAttribute(name, type);
    const code = new CodeFiles();
    code.printWithDependencies(whole);
    expect([...code.files].map(([path, file]) => [path, file.toString()])).toEqual([
      [
        '__torch__.py',
        `class Whole:
  a : __torch__.net.Part
  b : __torch__.net.___torch_mangle_0.Part
  c : __torch__.net.Part
`,
      ],
      ['__torch__/net.py', 'class Part:\n'],
      ['__torch__/net/___torch_mangle_0.py', 'class Part:\n'],
    ]);
    expect(code.minVersion).toBe(1);
  });

  it('counts constants over all files', () => {
    const code = new CodeFiles();
    for (const name of ['a', 'b']) {
      const fn = functionOfIr('graph(%x : Tensor):\n  %1 : Tensor = aten::neg(%x)\n  return (%1)', `${name}.f`);
      const { graph } = fn;
      const [neg] = graph.nodes();
      graph.withInsertPoint(neg, () =>
        neg.replaceInput(0, graph.insertConstant(Tensor.empty([name === 'a' ? 1 : 2], 'float32'))),
      );
      code.print(new FunctionType(fn));
    }
    expect([...code.files].map(([, file]) => file.toString().match(/CONSTANTS\.\w+/)?.[0])).toEqual([
      'CONSTANTS.c0',
      'CONSTANTS.c1',
    ]);
    expect(code.constants).toHaveLength(2);
  });
});
