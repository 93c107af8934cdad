import { FunctionSchema, Graph, GraphFunction, TensorType } from '@cresset/ir';
import { expect, it } from 'vitest';
import { poolConstants } from './constant-pooling.ts';

it('keeps functions apart that have one name in two classes', () => {
  const method = (qualifiedName: string): GraphFunction =>
    new GraphFunction(qualifiedName, new Graph()).setSchema(new FunctionSchema('forward', '', [], []));
  const first = method('__torch__.First.forward');
  const graph = new Graph();
  const calls = [first, method('__torch__.Second.forward'), first].map(
    (fn) => graph.insertFunctionCall(fn, [], TensorType.get()).node,
  );
  poolConstants(graph);
  const [a, b, c] = calls.map((call) => call.input(0));
  expect(a).toBe(c);
  expect(a).not.toBe(b);
});
