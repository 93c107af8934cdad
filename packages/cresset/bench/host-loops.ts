import { registerAllParts } from '@cresset/runtime';
import { Tensor, type IValue } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { threadedDevice } from '../../../test-setup/threaded-device.ts';
import { intsOf, PythonFunctions, tensorOf } from '../src/models/python-functions-fixture.ts';

/** A program, its inputs, and about how many elements it goes over. */
interface Subject {
  readonly name: string;
  readonly source: string;
  readonly inputs: readonly IValue[];
}

const of = (name: string, result: string, ...inputs: readonly IValue[]): Subject => {
  const parameters = ['x: Tensor', 'y: Tensor', 'z: Tensor', 'w: Tensor', 'v: Tensor', 'u: Tensor'];
  const head = `def f(${parameters.slice(0, inputs.length).join(', ')}):\n`;
  const lines = result.trim().split('\n');
  const last = `return ${lines.pop()!}`;
  return { name, source: `${head}${[...lines, last].map((line) => `    ${line}\n`).join('')}`, inputs };
};

const square = tensorOf([1024, 1024]);
const row = tensorOf([1024]);
const column = tensorOf([1024, 1]);
const image = tensorOf([8, 32, 64, 64]);
const channels = tensorOf([32]);
const ids = intsOf(...Array.from({ length: 512 }, (_, at) => (at * 7919) % 8000));
const whole = Tensor.fromArray(
  Int32Array.from({ length: 1 << 20 }, (_, at) => (at * 7919) % 1000),
  [1024, 1024],
  'int32',
);
const long = Tensor.fromArray(
  BigInt64Array.from({ length: 1 << 18 }, (_, at) => BigInt(at % 1000)),
  [512, 512],
  'int64',
);
const recurrent = (gates: number): readonly Tensor[] => [
  tensorOf([64, 1, 128]),
  tensorOf([1, 1, 128]),
  tensorOf([gates * 128, 128]),
  tensorOf([gates * 128, 128], 2),
];

export const subjects: readonly Subject[] = [
  of('add', 'x + y', square, tensorOf([1024, 1024], 2)),
  of('add a row', 'x + y', square, row),
  of('add a column', 'x + y', square, column),
  of('add, other side transposed', 'x + y.t()', square, tensorOf([1024, 1024], 2)),
  of('chain of 10', '(((((x * y + 1.0).relu() - z) * 0.5).sigmoid() + x).tanh() * y - 2.0)', square, square, square),
  of('gelu', 'torch.gelu(x)', square),
  of('exp', 'torch.exp(x)', square),
  of('where', 'torch.where(x > 0, x, y)', square, tensorOf([1024, 1024], 2)),
  of('int32 arithmetic', 'x * 3 + x', whole),
  of('int64 arithmetic', 'x * 3 + x', long),
  of('compare and cast', '(x > 0.5).to(torch.float32)', square),
  of('sum of everything', 'x.sum()', square),
  of('sum over dim 0', 'x.sum(0)', square),
  of('sum over dim 1', 'x.sum(1)', square),
  of('sum over the middle', 'x.sum(2)', image),
  of('mean over (2, 3)', 'x.mean([2, 3])', image),
  of('maximum over dim 0', 'x.amax(0)', square),
  of('maximum over dim 1', 'x.amax(1)', square),
  of('variance over dim 1', 'x.var(1)', square),
  of('variance over dim 0', 'x.var(0)', square),
  of('argmax over dim 1', 'x.argmax(1)', square),
  of('argmax over dim 0', 'x.argmax(0)', square),
  of('softmax', 'torch.softmax(x, -1)', square),
  of('softmax over dim 0', 'torch.softmax(x, 0)', square),
  of('log_softmax, 16 rows of 32000', 'torch.log_softmax(x, -1)', tensorOf([16, 32000])),
  of('layer_norm', 'torch.layer_norm(x, [1024], y, z)', square, row, row),
  of(
    'batch_norm',
    'torch.batch_norm(x, y, z, w, v, False, 0.1, 1e-5, False)',
    image,
    channels,
    channels,
    channels,
    Tensor.fromArray(new Float32Array(32).fill(1), [32], 'float32'),
  ),
  of('group_norm', 'torch.group_norm(x, 8, y, z)', image, channels, channels),
  of('cumsum over dim 1', 'x.cumsum(1)', square),
  of('cumsum over dim 0', 'x.cumsum(0)', square),
  of('max_pool2d', 'torch.max_pool2d(x, [2, 2])', image),
  of('max_pool2d 3×3, every second', 'torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])', image),
  of('avg_pool2d 3×3', 'torch.avg_pool2d(x, [3, 3], [1, 1], [1, 1])', image),
  of('transposition', 'x.t().contiguous()', square),
  of('permutation to channels last', 'x.permute(0, 2, 3, 1).contiguous()', image),
  of('cat', 'torch.cat([x, y], 1)', square, square),
  of('embedding', 'torch.embedding(x, y)', tensorOf([8000, 768]), ids),
  of('gather', 'x.gather(1, y)', tensorOf([512, 8000]), ids.asStrided([512, 512], [1, 0])),
  of('index_select', 'x.index_select(0, y)', tensorOf([8000, 768]), ids),
  of('pad', 'torch.constant_pad_nd(x, [1, 1, 1, 1])', image),
  of('nearest, twice as large', 'torch.upsample_nearest2d(x, [128, 128])', image),
  of('bilinear, twice as large', 'torch.upsample_bilinear2d(x, [128, 128], False)', image),
  of('sort, 64 rows of 4096', 'torch.sort(x, -1)[0]', tensorOf([64, 4096])),
  of('topk, 10 of each of 64 rows of 4096', 'torch.topk(x, 10)[0]', tensorOf([64, 4096])),
  of('fft, 64 lines of 512', 'torch.fft.fft(x)', tensorOf([64, 512])),
  of('rfft2, 256 × 256', 'torch.fft.rfft2(x)', tensorOf([256, 256])),
  of('irfft, 64 lines of 1000', 'torch.fft.irfft(torch.fft.rfft(x))', tensorOf([64, 1000])),
  of(
    'stft of 16000 samples, frames of 400',
    'torch.stft(x, 400, 160, 400, y, return_complex=True)',
    tensorOf([16000]),
    tensorOf([400]),
  ),
  of('lstm, 64 steps of 128', 'torch.lstm(x, [y, y], [z, w], False, 1, 0.0, False, False, False)[0]', ...recurrent(4)),
  of('gru, 64 steps of 128', 'torch.gru(x, y, [z, w], False, 1, 0.0, False, False, False)[0]', ...recurrent(3)),
  of(
    'loop over 160 steps',
    'for i in range(160):\n        x = x * 0.9 + y[i % 64]\nx',
    tensorOf([16, 128]),
    tensorOf([64, 16, 128]),
  ),
  of(
    '40 small operators',
    `${'x = torch.softmax(x @ y, -1) + x\n'.repeat(20)}x`,
    tensorOf([16, 16]),
    tensorOf([16, 16]),
  ),
];

interface Way {
  readonly module: PythonFunctions;
  readonly times: number[];
  /** By the clock. */
  readonly clock: number[];
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1];

/**
 * Prints the processor time of programs on the host, in TypeScript and in WebAssembly in turns, medians in ms, and what a second thread saves by the clock;
 * inputs and results stay where they are.
 *
 * @param rounds turns of each
 */
export async function main(filter: string, rounds = 15): Promise<void> {
  registerAllParts();
  console.log('| program | TypeScript | WebAssembly | | by the clock | two threads | | dispatches |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  const devices = [null, new WasmDevice(), await threadedDevice(2, 1)];
  await Promise.all(devices.map((device) => device?.fetchTransforms()));
  for (const { name, source, inputs } of subjects.filter((each) => each.name.includes(filter))) {
    const ways = devices.map((device): Way => ({
      module: new PythonFunctions(source, { device }),
      times: [],
      clock: [],
    }));
    const time = async ({ module, times, clock }: Way, repeats: number): Promise<void> => {
      const start = process.cpuUsage();
      const begun = performance.now();
      for (let i = 0; i < repeats; i++) {
        const result = await module.call('f', inputs, { resultToHost: false });
        if (result instanceof Tensor) result.dispose();
      }
      const { user, system } = process.cpuUsage(start);
      times.push((user + system) / 1000 / repeats);
      clock.push((performance.now() - begun) / repeats);
    };
    for (let i = 0; i < 5; i++) for (const way of ways) await time(way, 2);
    const repeats = ways.map(({ times }) => Math.max(1, Math.ceil(4 / times.at(-1)!)));
    for (const { times, clock } of ways) times.length = clock.length = 0;
    for (let i = 0; i < rounds; i++) for (const [at, way] of ways.entries()) await time(way, repeats[at]);
    const [typescript, wasm] = ways.map(({ times }) => median(times));
    const [, alone, helped] = ways.map(({ clock }) => median(clock));
    const figures = [
      name,
      `${typescript.toPrecision(3)} ms`,
      `${wasm.toPrecision(3)} ms`,
      `${(typescript / wasm).toFixed(2)} ×`,
      `${alone.toPrecision(3)} ms`,
      `${helped.toPrecision(3)} ms`,
      `${(alone / helped).toFixed(2)} ×`,
    ];
    const { dispatches } = ways[1].module.module.lastRun!;
    console.log(`| ${figures.join(' | ')} | ${dispatches} |`);
  }
}
