import { existsSync, readFileSync } from 'node:fs';
import { readModule } from '@cresset/archive';
import { RuntimeContext, ScriptModule } from '@cresset/runtime';
import { Storage, Tensor, type IValue } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { intsOf, PythonFunctions, tensorOf } from '../src/models/python-functions-fixture.ts';

/** A program and its inputs, made anew for each run as a page makes them. */
export interface Subject {
  readonly name: string;
  readonly inputs: readonly IValue[];
  open(device: ComputeDevice): Promise<{ module: ScriptModule; call(inputs: readonly IValue[]): Promise<IValue> }>;
}

const image = [tensorOf([1, 3, 224, 224])];
const sentence = (...ids: number[]): Tensor => intsOf(...ids).asStrided([2, 40], [40, 1]);
const sentences = [sentence(...Array(80).keys()), sentence(...Array<number>(80).fill(1)), null];

/** Of a ring of thirty nodes. */
const edges = intsOf(...Array(30).keys(), ...Array.from({ length: 30 }, (_, at) => (at + 1) % 30)).asStrided(
  [2, 30],
  [30, 1],
);

/** Another tensor with the same elements, as one that comes with a message. */
export const received = (value: IValue): IValue =>
  value instanceof Tensor
    ? new Tensor(Storage.onHost(value.storage.hostBytes()), value.dtype, value.sizes, value.strides)
    : value;

export const subjectsIn = (models: string): Subject[] =>
  [
    ofSource(
      '40 softmaxes in line',
      `def f(x: Tensor):\n${'    x = torch.softmax(x, -1)\n'.repeat(40)}    return x\n`,
      [tensorOf([64, 64])],
    ),
    ofSource(
      '40 trips of a loop',
      'def f(x: Tensor, n: int):\n    for i in range(n):\n        x = torch.softmax(x, -1)\n    return x\n',
      [tensorOf([64, 64]), 40n],
    ),
    ofFile(models, 'resnet18/resnet18.pt', image),
    ofFile(models, 'mobilenetv3_small/mobilenetv3_small.pt', image),
    ofFile(models, 'vit_tiny/vit_tiny.pt', image),
    ofFile(models, 'bert_sdpa/bert_sdpa.pt', sentences),
    ofFile(models, 'silero-vad/silero_vad.pt', [tensorOf([1, 512]), 16000n]),
    ofFile(models, 'gpt2_generate/gpt2_generate.pt', [intsOf(...Array(14).keys()).asStrided([2, 7], [7, 1])]),
    ofFile(models, 'gcn/gcn.pt', [tensorOf([30, 16]), edges, intsOf(...Array<number>(30).fill(0))]),
    ofFile(models, 'unet/unet.pt', [tensorOf([1, 3, 128, 128])]),
  ].flatMap((subject) => subject ?? []);

/** Straight lines of products, each of two dispatches at most, over little data: what is left is launches, and the run itself. */
export const line = (products: number): Subject =>
  ofSource(
    `${products} products in line`,
    `def f(x: Tensor, w: Tensor):\n${'    x = torch.softmax(x @ w, -1)\n'.repeat(products)}    return x\n`,
    [tensorOf([32, 32]), tensorOf([32, 32])],
  );

function ofSource(name: string, source: string, inputs: readonly IValue[]): Subject {
  return {
    name,
    inputs,
    async open(device) {
      const functions = new PythonFunctions(source, { device });
      return { module: functions.module, call: (given) => functions.call('f', given) };
    },
  };
}

function ofFile(models: string, file: string, inputs: readonly IValue[]): Subject | null {
  if (!existsSync(models + file)) return null;
  return {
    name: file,
    inputs,
    async open(device) {
      const { module, unit } = await readModule(new Uint8Array(readFileSync(models + file)));
      const model = new ScriptModule(module, unit, new RuntimeContext({ device }));
      return { module: model, call: (given) => model.call('forward', given, { resultToHost: true }) };
    },
  };
}
