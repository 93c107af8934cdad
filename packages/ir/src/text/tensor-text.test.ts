import { expect, test } from 'vitest';
import { Complex, formatTensorText, Graph, type ScalarTypeName } from '../index.ts';

test.each<[ScalarTypeName, number[], (number | bigint | boolean | Complex)[], string]>([
  ['int64', [], [3n], '{3}'],
  ['float32', [1, 1], [0.5], '{0.5}'],
  ['bool', [1], [true], '{1}'],
  ['complex64', [], [new Complex(1, -2)], '{(1,-2)}'],
  ['int64', [5], [0n, 1n, 2n, 3n, 4n], ' 0  1  2  3  4 [ CPULongType{5} ]'],
  ['float32', [2, 2], [1.5, 2, 3, 4], ' 1.5000  2.0000  3.0000  4.0000 [ CPUFloatType{2,2} ]'],
  ['float32', [2], [0.0003, 0.0008], '0.0001 *  3.0000  8.0000 [ CPUFloatType{2} ]'],
  ['float64', [2], [1e-20, 1.5], ' 1.0000e-20  1.5000e+00 [ CPUDoubleType{2} ]'],
  ['float32', [3], [1.5, Number.POSITIVE_INFINITY, Number.NaN], ' 1.5000     inf     nan [ CPUFloatType{3} ]'],
  ['bool', [1, 2, 2], [false, true, true, true], '(1,.,.) =   0  1   1  1 [ CPUBoolType{1,2,2} ]'],
  ['float32', [0], [], '[ CPUFloatType{0} ]'],
  ['complex64', [2], [new Complex(1, 2), new Complex(3.5, 0)], ' 1.0000  3.5000 [ CPUComplexFloatType{2} ]'],
  ['complex128', [0], [], '[ CPUComplexDoubleType{0} ]'],
])('a %s of shape %j in a graph', (dtype, sizes, elements, text) => {
  expect(formatTensorText(dtype, sizes, () => elements)).toBe(text);
});

test('tensors of more than ten elements are not looked at', () => {
  const refuse = (): never => {
    throw new Error('looked at');
  };
  expect(formatTensorText('float32', [11], refuse)).toBe('<Tensor>');
});

test('a constant shows the text its tensor gives', () => {
  const graph = new Graph();
  graph.insertConstant({ dtype: 'int64', sizes: [], graphText: () => '{3}' });
  expect(String(graph)).toContain('Long(requires_grad=0, device=cpu) = prim::Constant[value={3}]()');
});
