import { declareScript } from '@cresset/frontend';
import { ClassType, TensorType } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { ScriptObject, Tensor } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { expectedWork } from './device-choice.ts';

registerAllOperators();

/** A module with weights of these sizes; its `forward` is a text's function, where one is given. */
function moduleOf(sizes: readonly (readonly number[])[], body?: string): Map<string, ScriptObject> {
  const type = new ClassType('__torch__.Net', { isModule: true });
  const object = new ScriptObject(type);
  sizes.forEach((each, at) => {
    type.addAttribute(`weight${at}`, TensorType.get());
    object.slots.push(Tensor.empty([...each], 'float32'));
  });
  if (body !== undefined) {
    const { unit } = declareScript(`def forward(self: Tensor, x: Tensor):\n${body}`, {
      filename: '<source>',
      module: 'program',
    });
    type.addMethod(unit.findFunction('__torch__.forward')!);
  }
  return new Map([['', object]]);
}

test('weights of layers, of sound and of images are used more and more often', () => {
  const workOf = (...sizes: number[]): number => expectedWork(moduleOf([sizes])).multiplications;
  expect(workOf(100)).toBe(100);
  expect(workOf(10, 10)).toBe(16 * 100);
  expect(workOf(10, 10, 3)).toBe(16 * 300);
  expect(workOf(10, 10, 3, 3)).toBe(1024 * 900);
  expect(workOf(10, 10, 3, 3, 3)).toBe(4096 * 2700);
});

test('a perceptron is small, a network of convolutions is not', () => {
  expect(
    expectedWork(
      moduleOf([
        [256, 256],
        [10, 256],
      ]),
    ).isSmall,
  ).toBe(true);
  expect(
    expectedWork(
      moduleOf([
        [64, 64, 3, 3],
        [64, 64, 3, 3],
      ]),
    ).isSmall,
  ).toBe(false);
});

test('what waits for a tensor again and again is small for longer', () => {
  const weights = [[1024, 2048]];
  const waiting = '    while bool(x.sum() > 0):\n        x = x - 1\n    return x\n';
  const counting = '    for i in range(3):\n        x = x - 1\n    return x\n';
  expect(expectedWork(moduleOf(weights, counting)).isSmall).toBe(false);
  expect(expectedWork(moduleOf(weights, waiting)).isSmall).toBe(true);
});
