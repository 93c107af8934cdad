import type { BenchDType, BenchTensor } from '../values.ts';
import { MessageWriter } from './message-writer.ts';

// Field numbers, types of attributes and of elements are those of onnx.proto3.

const IR_VERSION = 8;
const OPSET_VERSION = 17;
const ELEMENT_TYPES: Readonly<Record<BenchDType, number>> = { float32: 1, int32: 6, int64: 7, bool: 9 };
const ATTRIBUTE_TYPES = { float: 1, int: 2, graph: 5, ints: 7 } as const;

/** An attribute of a node: integers (a float is said to be one), lists of integers, or a graph. */
export type OnnxAttribute = number | { readonly float: number } | readonly number[] | OnnxGraph;

/** A graph of ONNX operators, put together node by node; values are their names. */
export class OnnxGraph {
  readonly #message = new MessageWriter();
  #nodes = 0;

  constructor(
    name: string,
    /** Names of values are the graph's own, and those around it can be seen: a body's begin otherwise. */
    private readonly prefix = '',
  ) {
    this.#message.text(2, name);
  }

  /** Adds a node and returns the name of its first output. */
  node(operator: string, inputs: readonly string[], attributes: Readonly<Record<string, OnnxAttribute>> = {}): string {
    return this.nodeWithOutputs(operator, inputs, 1, attributes)[0];
  }

  nodeWithOutputs(
    operator: string,
    inputs: readonly string[],
    outputs: number,
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
  ): string[] {
    const number = this.#nodes++;
    const names = Array.from({ length: outputs }, (_, at) => `${this.prefix}${operator}_${number}_${at}`);
    const node = new MessageWriter();
    for (const input of inputs) node.text(1, input);
    for (const name of names) node.text(2, name);
    node.text(3, `${this.prefix}${operator}_${number}`).text(4, operator);
    for (const [name, value] of Object.entries(attributes)) node.message(5, attribute(name, value));
    this.#message.message(1, node);
    return names;
  }

  /** A tensor that the model holds. */
  weight(name: string, { dtype, shape, data }: BenchTensor): string {
    const tensor = new MessageWriter();
    for (const size of shape) tensor.int(1, size);
    tensor.int(2, ELEMENT_TYPES[dtype]).text(8, name).bytes(9, new Uint8Array(data.buffer));
    this.#message.message(5, tensor);
    return name;
  }

  /** A constant list of integers, as shapes and axes are given. */
  integers(name: string, values: readonly number[]): string {
    const data = BigInt64Array.from(values, BigInt);
    return this.weight(this.prefix + name, { dtype: 'int64', shape: [values.length], data });
  }

  /** A constant without dimensions. */
  scalar(name: string, dtype: 'float32' | 'int64' | 'bool', value: number): string {
    const data =
      dtype === 'float32'
        ? Float32Array.of(value)
        : dtype === 'int64'
          ? BigInt64Array.of(BigInt(value))
          : Uint8Array.of(value);
    return this.weight(this.prefix + name, { dtype, shape: [], data });
  }

  input(name: string, dtype: BenchDType, shape: readonly number[]): string {
    this.#message.message(11, valueInfo(name, dtype, shape));
    return name;
  }

  output(name: string, dtype: BenchDType, shape: readonly number[]): void {
    this.#message.message(12, valueInfo(name, dtype, shape));
  }

  get message(): MessageWriter {
    return this.#message;
  }

  /** The bytes of a `.onnx` file with this graph. */
  model(): Uint8Array<ArrayBuffer> {
    return new MessageWriter()
      .int(1, IR_VERSION)
      .text(2, 'cresset-bench')
      .message(7, this.#message)
      .message(8, new MessageWriter().text(1, '').int(2, OPSET_VERSION))
      .finish();
  }
}

function valueInfo(name: string, dtype: BenchDType, shape: readonly number[]): MessageWriter {
  const sizes = new MessageWriter();
  for (const size of shape) sizes.message(1, new MessageWriter().int(1, size));
  const tensorType = new MessageWriter().int(1, ELEMENT_TYPES[dtype]).message(2, sizes);
  return new MessageWriter().text(1, name).message(2, new MessageWriter().message(1, tensorType));
}

function attribute(name: string, value: OnnxAttribute): MessageWriter {
  const message = new MessageWriter().text(1, name);
  if (typeof value === 'number') return message.int(3, value).int(20, ATTRIBUTE_TYPES.int);
  if (value instanceof OnnxGraph) return message.message(6, value.message).int(20, ATTRIBUTE_TYPES.graph);
  if ('float' in value) return message.float(2, value.float).int(20, ATTRIBUTE_TYPES.float);
  for (const each of value as readonly number[]) message.int(8, each);
  return message.int(20, ATTRIBUTE_TYPES.ints);
}
