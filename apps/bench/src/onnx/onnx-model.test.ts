import { expect, test } from 'vitest';
import { MessageWriter } from './message-writer.ts';
import { OnnxGraph } from './onnx-model.ts';

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');

test('fields of a message are written as Protocol Buffers has them', () => {
  expect(hex(new MessageWriter().int(1, 150).finish())).toBe('08 96 01');
  expect(hex(new MessageWriter().int(1, -1).finish())).toBe('08 ff ff ff ff ff ff ff ff ff 01');
  expect(hex(new MessageWriter().text(2, 'é').finish())).toBe('12 02 c3 a9');
  expect(hex(new MessageWriter().float(2, 1).finish())).toBe('15 00 00 80 3f');
  expect(hex(new MessageWriter().message(3, new MessageWriter().int(1, 150)).finish())).toBe('1a 03 08 96 01');
  expect(hex(new MessageWriter().int(16, 1).finish())).toBe('80 01 01');
});

test('values of a graph are named after their node, those of a body apart from them', () => {
  const graph = new OnnxGraph('outer');
  const body = new OnnxGraph('body', 'inner_');
  expect(graph.node('Relu', ['x'])).toBe('Relu_0_0');
  expect(body.node('Relu', ['x'])).toBe('inner_Relu_0_0');
  expect(graph.nodeWithOutputs('Loop', ['steps'], 2, { body })).toEqual(['Loop_1_0', 'Loop_1_1']);
});

test("a model is a graph with its format and its operators' version", () => {
  const graph = new OnnxGraph('g');
  graph.input('x', 'float32', [2]);
  graph.output(graph.node('Softmax', ['x'], { axis: -1 }), 'float32', [2]);
  const text = new TextDecoder('latin1').decode(graph.model());
  // ir_version 8, then producer_name.
  expect(text.startsWith('\x08\x08\x12\x0dcresset-bench')).toBe(true);
  // opset_import: the empty domain in version 17.
  expect(text.endsWith('\x42\x04\x0a\x00\x10\x11')).toBe(true);
  // The attribute: its name, i = -1 and its type, INT.
  expect(text).toContain('\x0a\x04axis\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xa0\x01\x02');
});
