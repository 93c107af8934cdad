import { PartLoader, type Part } from '@cresset/runtime';

/** The parts of the library that the engine fetches when something first needs them. */
const PARTS = {
  arranging: () => import('@cresset/operators/parts/arranging'),
  attention: () => import('@cresset/operators/parts/attention'),
  autocast: () => import('@cresset/runtime/parts/autocast'),
  authoring: () => import('@cresset/runtime/parts/authoring'),
  complex: () => import('@cresset/operators/parts/complex'),
  'device-tensors': () => import('@cresset/runtime/parts/device-tensors'),
  einsum: () => import('@cresset/operators/parts/einsum'),
  exported: () => import('@cresset/operators/parts/exported'),
  executors: () => import('@cresset/runtime/parts/executors'),
  fourier: () => import('@cresset/operators/parts/fourier'),
  freezing: () => import('@cresset/runtime/parts/freezing'),
  gradients: () => import('@cresset/operators/parts/gradients'),
  host: () => import('@cresset/operators/parts/host'),
  indexing: () => import('@cresset/operators/parts/indexing'),
  inspection: () => import('@cresset/runtime/parts/inspection'),
  layers: () => import('@cresset/operators/parts/layers'),
  layouts: () => import('@cresset/operators/parts/layouts'),
  linalg: () => import('@cresset/operators/parts/linalg'),
  loops: () => import('@cresset/runtime/parts/loops'),
  losses: () => import('@cresset/operators/parts/losses'),
  memory: () => import('@cresset/runtime/parts/memory'),
  nested: () => import('@cresset/operators/parts/nested'),
  padding: () => import('@cresset/operators/parts/padding'),
  passes: () => import('@cresset/runtime/parts/passes'),
  numpy: () => import('@cresset/operators/parts/numpy'),
  plans: () => import('@cresset/runtime/parts/plans'),
  quantized: () => import('@cresset/runtime/parts/quantized'),
  random: () => import('@cresset/operators/parts/random'),
  recurrent: () => import('@cresset/operators/parts/recurrent'),
  resampling: () => import('@cresset/operators/parts/resampling'),
  saving: () => import('@cresset/runtime/parts/saving'),
  'scalar-functions': () => import('@cresset/operators/parts/scalar-functions'),
  scans: () => import('@cresset/operators/parts/scans'),
  scatter: () => import('@cresset/operators/parts/scatter'),
  sorting: () => import('@cresset/operators/parts/sorting'),
  special: () => import('@cresset/operators/parts/special'),
  training: () => import('@cresset/runtime/parts/training'),
  tracing: () => import('../tracing/recording.ts'),
  vision: () => import('@cresset/operators/parts/vision'),
  'weight-only': () => import('@cresset/operators/parts/weight-only'),
} as const;

export type PartName = keyof typeof PARTS;

export const parts = new PartLoader(PARTS);

/** What a part exports, once it is registered. */
export async function loadPart<Name extends PartName>(name: Name): Promise<Awaited<ReturnType<(typeof PARTS)[Name]>>> {
  return (await parts.need(name)) as Part as Awaited<ReturnType<(typeof PARTS)[Name]>>;
}

/** Fetches every part: what a JavaScript function will call, nothing tells before it is run. */
export async function loadAllParts(): Promise<void> {
  await Promise.all(Object.keys(PARTS).map((name) => parts.need(name)));
}
