import { setJitLogSink } from '@cresset/ir';
import { WorkerHost, type DeviceChoice, type FromHost, type Port, type Request } from '@cresset/runtime';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { openWebGpuDevice } from '@cresset/webgpu';
import { parts } from './parts.ts';

/**
 * Makes this thread a host that talks through `port`, and says that it is ready.
 *
 * @param device where the first program is to run, where that is known
 */
export function serve(port: Port<Request, FromHost>, device: DeviceChoice | null): WorkerHost {
  const openHost = (): Promise<ComputeDevice | null> =>
    import('@cresset/wasm-fuser/parts/device').then(
      ({ openWasmDevice }) => openWasmDevice(),
      () => null,
    );
  const host = new WorkerHost(port, { openDevice: () => openWebGpuDevice(), openHost, parts }, device);
  host.listen();
  return host;
}

/** The port of a worker's own global scope; what the compiler says there goes to the page too. */
export function scopePort(
  scope: Pick<DedicatedWorkerGlobalScope, 'postMessage'> & EventTarget,
): Port<Request, FromHost> {
  setJitLogSink((text) => scope.postMessage({ type: 'log', text } satisfies FromHost));
  return {
    send: (message, transfer) => scope.postMessage(message, transfer),
    receive: (handler) => scope.addEventListener('message', (event) => handler((event as MessageEvent<Request>).data)),
  };
}
