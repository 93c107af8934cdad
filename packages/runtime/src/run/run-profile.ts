import type { DeviceCounters } from '@cresset/tensorexpr';
import type { CountedNames, RunCounters } from './run-counters.ts';

/** What one call did. Counts are exact; those of the device are shared where two models run on it at once. */
export interface RunProfile {
  /** From taking up the call to its result being there (on the device, where it is made there). */
  readonly milliseconds: number;
  readonly instructions: number;
  /** Launches of kernels: dispatches on a GPU, calls of WebAssembly functions on the host. */
  readonly dispatches: number;
  /** Those of them that were made from a recording. */
  readonly replayed: number;
  readonly submits: number;
  readonly uploads: number;
  readonly uploadedBytes: number;
  readonly readbacks: number;
  readonly readbackBytes: number;
  /** Shaders compiled during the call. */
  readonly shaders: number;
  /** Bytes on the device after the call. */
  readonly liveBytes: number;
  /** Operators (or fused groups) by where they ran, with how often. */
  readonly onDevice: CountedNames;
  readonly hostSmall: CountedNames;
  /** Those on float64 and complex128, which no device computes with. */
  readonly hostDouble: CountedNames;
  readonly hostFallback: CountedNames;
  /** Why the device did not take an operator, the last time: operator and reason. */
  readonly fallbackReasons?: readonly (readonly [string, string])[];
}

const none: readonly never[] = [];

export function makeRunProfile(
  milliseconds: number,
  run: RunCounters,
  before: DeviceCounters | null,
  after: DeviceCounters | null,
): RunProfile {
  const since = (name: keyof DeviceCounters): number => (after?.[name] ?? 0) - (before?.[name] ?? 0);
  return {
    milliseconds,
    instructions: run.instructions,
    dispatches: since('dispatches'),
    replayed: run.replayed,
    submits: since('submits'),
    uploads: since('uploads'),
    uploadedBytes: since('uploadedBytes'),
    readbacks: since('readbacks'),
    readbackBytes: since('readbackBytes'),
    shaders: since('shaders'),
    liveBytes: after?.liveBytes ?? 0,
    onDevice: run.device.rows,
    hostSmall: run.hostSmall.rows,
    hostDouble: run.hostDouble.rows,
    hostFallback: run.hostFallback.rows,
    fallbackReasons: run.fallbackReasons.size > 0 ? [...run.fallbackReasons] : none,
  };
}
