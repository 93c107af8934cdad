import { Tensor } from '@cresset/tensor';
import { binary, constant, TensorView, type ChoiceStore, type Kernel } from '@cresset/tensorexpr';
import { describe, expect, test, vi } from 'vitest';
import { requestWebGpuDevice } from '../request-device.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';
import { KeptChoices } from './kept-choices.ts';
import { timeLaunches } from './launch-timer.ts';
import { tunerOf } from './webgpu-tuner.ts';

/** x = x + 1 */
function increment(x: Tensor): Kernel {
  const view = new TensorView(x);
  const axes = view.axes();
  const value = binary('add', view.at(axes), constant('float', 1));
  const store = { operand: view.operand, offset: view.offsetAt(axes), value };
  return { kind: 'nest', label: 'test::increment', axes, innerAxes: [], stores: [store] };
}

function memoryStore(): ChoiceStore & { text: string | null } {
  return {
    text: null,
    read() {
      return Promise.resolve(this.text);
    },
    write(text) {
      this.text = text;
      return Promise.resolve();
    },
  };
}

const ones = (count: number): Tensor => Tensor.fromArray(new Float32Array(count).fill(1), [count], 'float32');

describe.each([
  ['its own clock', false],
  ['the clock of the page', true],
] as const)('measured by %s', (_, defaultLimits) => {
  async function opened(): Promise<WebGpuDevice> {
    const device = await requestWebGpuDevice({ defaultLimits });
    if (defaultLimits) expect(device.gpuDevice.features.has('timestamp-query')).toBe(false);
    return device;
  }

  test('a kernel that works in place has done its work as often as it was launched', async () => {
    const device = await opened();
    const store = memoryStore();
    device.tuner = await tunerOf(device, store);
    const x = ones(20_011);
    const kernel = increment(x);
    const made = vi.spyOn(device.gpuDevice, 'createBuffer');
    for (let call = 0; call < 4; call++) {
      device.launch(kernel);
      await device.flush();
      await device.tuner.measure(device, null);
    }
    await x.storage.toHost();
    expect([...new Set(x.contiguousArray() as Float32Array)]).toEqual([5]);
    const [{ chosen, times }] = Object.values(
      JSON.parse(store.text!) as Record<string, { chosen: string; times: Record<string, number> }>,
    );
    expect(Object.keys(times).length).toBeGreaterThan(1);
    expect(Object.keys(times)).toContain(chosen);
    for (const time of Object.values(times)) expect(time).toBeGreaterThan(0);
    // What it was tried in is as large as it is, and no buffer of the device's own.
    const { STORAGE, COPY_DST } = GPUBufferUsage;
    const trials = made.mock.calls.filter(([{ usage }]) => (usage & STORAGE) !== 0 && (usage & COPY_DST) === 0);
    expect(trials.length).toBeGreaterThan(0);
    for (const [{ size }] of trials) expect(size >= 4 * 20_011 && size < 8 * 20_011).toBe(true);
    device.dispose();
  });

  test('one that is stopped tells nothing', async () => {
    const device = await opened();
    const abort = new AbortController();
    const launch = device.prepareLaunch((await prepared(device)).launches[0]);
    const timing = timeLaunches(device, [[launch]], abort.signal);
    abort.abort();
    expect(await timing).toBeNull();
    device.dispose();
  });

  async function prepared(device: WebGpuDevice) {
    await device.fetchRecorder();
    return device.recorder!.prepare(increment(ones(64))) as ReturnType<WebGpuDevice['prepareLaunch']>;
  }
});

test('without a cache, choices are kept as long as the thread lives, for each adapter and each name', async () => {
  const adapter = { vendor: 'acme', architecture: 'one', device: '', description: '' };
  await new KeptChoices(adapter, 'WebGPU').write('{"a":1}');
  expect(await new KeptChoices(adapter, 'WebGPU').read()).toBe('{"a":1}');
  expect(await new KeptChoices({ ...adapter, architecture: 'two' }, 'WebGPU').read()).toBeNull();
  expect(await new KeptChoices({}, 'WebGPU').read()).toBeNull();
});
