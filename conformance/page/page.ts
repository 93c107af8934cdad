import { requestWebGpuDevice } from '@cresset/webgpu';
import { CaseRunner } from '../src/case-runner.ts';
import type { CaseResult, Check, ProgramCase } from '../src/case.ts';

/** Called by the runner, which drives this page, once for each case. */
declare global {
  interface Window {
    runCase(device: string, checks: readonly Check[], text: string, folder: string): Promise<CaseResult>;
  }
}

let runner: Promise<CaseRunner> | null = null;

async function makeRunner(device: string, checks: readonly Check[]): Promise<CaseRunner> {
  return new CaseRunner(device === 'webgpu' ? await requestWebGpuDevice() : null, checks);
}

window.runCase = async (device, checks, text, folder) => {
  runner ??= makeRunner(device, checks);
  const readBeside = async (path: string): Promise<Uint8Array> => {
    const response = await fetch(`/corpus/${encodeURIComponent(`${folder}/${path}`)}`);
    return new Uint8Array(await response.arrayBuffer());
  };
  return (await runner).run(JSON.parse(text) as ProgramCase, readBeside);
};
