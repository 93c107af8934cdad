import { readModule } from '@cresset/archive';
import { contiguousStrides, Storage, Tensor } from '@cresset/tensor';
import { afterEach, describe, expect, it } from 'vitest';
import { serveArchive, SyntheticArchive, type ArchiveServer } from '../../../../test-setup/synthetic-archive.ts';
import { CountingDevice } from '../counting-device-fixture.ts';
import { initializeRuntime } from '../initialize.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ScriptModule } from '../script-module.ts';
import { inProcessPorts } from './in-process-ports.ts';
import type { FromHost, Request } from './wire/protocol.ts';
import { WorkerClient } from './worker-client.ts';
import { WorkerHost } from './worker-host.ts';
import { collectGarbage } from '../../../../test-setup/collect-garbage.ts';

const MEGABYTE = 2 ** 20;
/** Of the largest tensor, bytes. */
const LARGEST = 96 * MEGABYTE;

/** Looks at what memory is taken while things go up to it. */
class MeasuringDevice extends CountingDevice {
  peak = 0;

  override upload(...upload: Parameters<CountingDevice['upload']>): void {
    super.upload(...upload);
    this.measure();
  }

  measure(): void {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    this.peak = Math.max(this.peak, heapUsed + arrayBuffers);
  }
}

let server: ArchiveServer | null = null;
afterEach(() => server?.close());

describe('a file of a gigabyte whose weights all go up to the device', () => {
  it('takes no more memory than its largest tensor and a fixed sum', async () => {
    const shapes = [
      ...Array.from({ length: 29 }, () => 32 * MEGABYTE),
      LARGEST,
      ...Array.from({ length: 20 }, () => MEGABYTE),
    ];
    const parameters = shapes.map((bytes, index) => ({ name: `w${index}`, shape: [bytes / 4], value: index + 1 }));
    const sums = parameters.map(({ name }) => `    x = torch.add(x, torch.sum(self.${name}))\n`).join('');
    const archive = new SyntheticArchive(
      parameters,
      `  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n${sums}    return x\n`,
    );
    expect(archive.size).toBeGreaterThan(2 ** 30);
    server = await serveArchive(archive);

    initializeRuntime();
    const device = new MeasuringDevice();
    collectGarbage();
    const start = process.memoryUsage();
    const loaded = await readModule(server.url);
    const module = new ScriptModule(loaded.module, loaded.unit, new RuntimeContext({ device }), {
      weights: loaded.weights,
    });
    const timer = setInterval(() => device.measure(), 20);
    const x = new Tensor(Storage.onHost(new ArrayBuffer(4)), 'float32', [], contiguousStrides([]));
    await module.call('forward', [x]);
    clearInterval(timer);

    expect(device.seen.toSorted((a, b) => a - b)).toEqual(parameters.map(({ value }) => value));
    expect(server.sent.bytes).toBeLessThan(archive.size + MEGABYTE);
    const grown = device.peak - start.heapUsed - start.arrayBuffers;
    expect(grown).toBeLessThan(1.2 * LARGEST + 64 * MEGABYTE);
    module.dispose();
  }, 300_000);

  it('does so too where all are asked for beforehand', async () => {
    const count = 8;
    const parameters = Array.from({ length: count }, (_, index) => ({
      name: `w${index}`,
      shape: [8 * MEGABYTE],
      value: index + 1,
    }));
    const archive = new SyntheticArchive(
      parameters,
      '  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return torch.add(x, torch.sum(self.w0))\n',
    );
    server = await serveArchive(archive);
    const device = new MeasuringDevice();
    const [clientPort, hostPort] = inProcessPorts<Request, FromHost>();
    new WorkerHost(hostPort, { openDevice: () => Promise.resolve(device) }).listen();
    const client = new WorkerClient(clientPort);
    collectGarbage();
    const start = process.memoryUsage();
    const timer = setInterval(() => device.measure(), 20);
    await client.request('loaded', { type: 'load', model: 1, input: server.url, device: 'webgpu', lazy: false });
    clearInterval(timer);
    expect(device.seen.toSorted((a, b) => a - b)).toEqual(parameters.map(({ value }) => value));
    const grown = device.peak - start.heapUsed - start.arrayBuffers;
    expect(grown).toBeLessThan((count / 2) * 32 * MEGABYTE);
  }, 300_000);
});
