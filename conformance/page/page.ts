import type { ComputeDevice } from '@cresset/tensorexpr';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { CaseRunner } from '../src/cases/case-runner.ts';
import type { CaseResult, ProgramCase } from '../src/cases/case.ts';
import { requestGpuDevice } from '../src/runner/gpu-device.ts';
import type { RunnerSettings } from '../src/runner/runner-settings.ts';

/** Called by the runner, which drives this page, once for each case. */
declare global {
  interface Window {
    runCase(settings: RunnerSettings, text: string, folder: string): Promise<CaseResult>;
  }
}

let runner: Promise<CaseRunner> | null = null;

async function deviceOf(settings: RunnerSettings): Promise<ComputeDevice | null> {
  const { device } = settings;
  if (device === 'webgpu') return requestGpuDevice(settings);
  return device === 'typescript' ? null : new WasmDevice();
}

async function makeRunner(settings: RunnerSettings): Promise<CaseRunner> {
  const { checks, smallHost } = settings;
  return new CaseRunner(
    {
      device: await deviceOf(settings),
      limits: smallHost ? {} : { smallWork: -1 },
    },
    checks,
    settings,
  );
}

window.runCase = async (settings, text, folder) => {
  runner ??= makeRunner(settings);
  const readBeside = async (path: string): Promise<Uint8Array> => {
    const response = await fetch(`/corpus/${encodeURIComponent(`${folder}/${path}`)}`);
    return new Uint8Array(await response.arrayBuffer());
  };
  return (await runner).run(JSON.parse(text) as ProgramCase, readBeside);
};
