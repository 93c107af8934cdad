import { ClassType, lint, parseIr } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, test } from 'vitest';
import { autocast } from './autocast.ts';

beforeAll(registerAllOperators);

const name = '__torch__.torch.amp.autocast_mode.autocast';

/** The operators of a program, as `name(operands)`, after `body` was put between entering and leaving an autocast. */
function casted(body: string, { device = 'cpu', enabled = '%yes', entered = '%cast' } = {}): string[] {
  const graph = parseIr(
    `
graph(%x : Tensor, %y : Tensor, %flag : bool):
  %yes : bool = prim::Constant[value=1]()
  %no : bool = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %half : int = prim::Constant[value=15]()
  %none : NoneType = prim::Constant()
  %device : str = prim::Constant[value="${device}"]()
  %cast : ${name} = prim::CreateObject()
   = prim::SetAttr[name="fast_dtype"](%cast, %half)
   = prim::SetAttr[name="_enabled"](%cast, ${enabled})
   = prim::SetAttr[name="device"](%cast, %device)
  %choice : ${name} = prim::If(%flag)
    block0():
      -> (%cast)
    block1():
      %other : ${name} = prim::CreateObject()
      -> (%other)
  %e : ${name} = prim::Enter(${entered})
${body}
  %l : Tensor = prim::Exit(${entered})
  %after : Tensor = aten::mm(%x, %y)
  return (%after, %r)
`,
    { resolveClass: () => new ClassType(name) },
  );
  autocast(graph, () => null);
  lint(graph);
  return [...graph.allNodes()]
    .filter(({ kind }) => kind.startsWith('aten::'))
    .map(({ kind, inputs }) => {
      const tensors = inputs.filter(({ type }) => type.kind === 'TensorType');
      return `${kind.slice('aten::'.length)}(${tensors.map((value) => value.node.kind.replace('aten::_autocast_to_', '')).join(', ')})`;
    });
}

const reduced = ['_autocast_to_reduced_precision(prim::Param)', '_autocast_to_reduced_precision(prim::Param)'];
const full = '_autocast_to_full_precision(prim::Param)';
const outsideOfIt = 'mm(prim::Param, prim::Param)';

describe('within an autocast', () => {
  test('products get operands of reduced precision, each once, and those behind it none', () => {
    const mm = 'mm(reduced_precision, reduced_precision)';
    expect(casted('  %r : Tensor = aten::mm(%x, %y)')).toEqual([...reduced, mm, outsideOfIt]);
    expect(casted('  %r : Tensor = aten::mm(%x, %x)')).toEqual([reduced[0], mm, outsideOfIt]);
  });

  test('sensitive functions get full precision, and sums where they are not told a dtype', () => {
    expect(casted('  %r : Tensor = aten::exp(%x)')).toEqual([full, 'exp(full_precision)', outsideOfIt]);
    expect(casted('  %r : Tensor = aten::sum(%x, %none)')).toEqual([full, 'sum(full_precision)', outsideOfIt]);
    expect(casted('  %r : Tensor = aten::sum(%x, %half)')).toEqual(['sum(prim::Param)', outsideOfIt]);
  });

  test('softmax is in full precision on GPUs only', () => {
    const softmax = '  %r : Tensor = aten::softmax(%x, %zero, %none)';
    expect(casted(softmax)).toEqual(['softmax(prim::Param)', outsideOfIt]);
    expect(casted(softmax, { device: 'cuda' })).toEqual([full, 'softmax(full_precision)', outsideOfIt]);
  });

  test('operands of arithmetic get the widest dtype unless it is written to one of them', () => {
    expect(casted('  %r : Tensor = aten::add(%x, %y, %one)')).toEqual([
      full,
      full,
      'add(full_precision, full_precision)',
      outsideOfIt,
    ]);
    expect(casted('  %r : Tensor = aten::add_(%x, %y, %one)')).toEqual(['add_(prim::Param, prim::Param)', outsideOfIt]);
  });

  test('that is not enabled nothing is cast', () => {
    expect(casted('  %r : Tensor = aten::exp(%x)', { enabled: '%no' })).toEqual(['exp(prim::Param)', outsideOfIt]);
  });

  test('of a device that there is not nothing is cast', () => {
    expect(casted('  %r : Tensor = aten::exp(%x)', { device: 'mps' })).toEqual(['exp(prim::Param)', outsideOfIt]);
  });

  test('blocks are cast too, and who asks is told', () => {
    const body = `  %on : bool = aten::is_autocast_cpu_enabled()
  %r : Tensor = prim::If(%on)
    block0():
      %s : Tensor = aten::exp(%x)
      -> (%s)
    block1():
      -> (%x)`;
    expect(casted(body)).toContain('exp(full_precision)');
  });
});

describe('an autocast is refused', () => {
  test.each([
    ['that is known only when the program runs', { enabled: '%flag' }, 'Autocast _enabled argument must be a constant'],
    ['that was not made here', { entered: '%choice' }, 'Unsupported autocast syntax'],
  ])('%s', (_, options, message) => {
    expect(() => casted('  %r : Tensor = aten::exp(%x)', options)).toThrow(message);
  });

  test('around a loss that would overflow, and as a variable', () => {
    expect(() => casted('  %r : Tensor = aten::binary_cross_entropy(%x, %y, %none, %one)')).toThrow(
      'Unsafe to autocast',
    );
    expect(() => casted('  %r : Tensor = aten::neg(%x)\n   = prim::Print(%e)')).toThrow(
      '`with autocast() as ...` is not supported',
    );
  });
});
