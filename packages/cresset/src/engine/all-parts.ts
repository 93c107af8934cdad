import * as arranging from '@cresset/operators/parts/arranging';
import * as attention from '@cresset/operators/parts/attention';
import * as complex from '@cresset/operators/parts/complex';
import * as einsum from '@cresset/operators/parts/einsum';
import * as exported from '@cresset/operators/parts/exported';
import * as fourier from '@cresset/operators/parts/fourier';
import * as gradients from '@cresset/operators/parts/gradients';
import * as host from '@cresset/operators/parts/host';
import * as indexing from '@cresset/operators/parts/indexing';
import * as layers from '@cresset/operators/parts/layers';
import * as layouts from '@cresset/operators/parts/layouts';
import * as linalg from '@cresset/operators/parts/linalg';
import * as losses from '@cresset/operators/parts/losses';
import * as nested from '@cresset/operators/parts/nested';
import * as numpy from '@cresset/operators/parts/numpy';
import * as padding from '@cresset/operators/parts/padding';
import * as random from '@cresset/operators/parts/random';
import * as recurrent from '@cresset/operators/parts/recurrent';
import * as resampling from '@cresset/operators/parts/resampling';
import * as scalarFunctions from '@cresset/operators/parts/scalar-functions';
import * as scans from '@cresset/operators/parts/scans';
import * as scatter from '@cresset/operators/parts/scatter';
import * as sorting from '@cresset/operators/parts/sorting';
import * as special from '@cresset/operators/parts/special';
import * as vision from '@cresset/operators/parts/vision';
import * as weightOnly from '@cresset/operators/parts/weight-only';
import * as autocast from '@cresset/runtime/parts/autocast';
import * as authoring from '@cresset/runtime/parts/authoring';
import * as deviceTensors from '@cresset/runtime/parts/device-tensors';
import * as executors from '@cresset/runtime/parts/executors';
import * as freezing from '@cresset/runtime/parts/freezing';
import * as inspection from '@cresset/runtime/parts/inspection';
import * as loops from '@cresset/runtime/parts/loops';
import * as memory from '@cresset/runtime/parts/memory';
import * as passes from '@cresset/runtime/parts/passes';
import * as plans from '@cresset/runtime/parts/plans';
import * as quantized from '@cresset/runtime/parts/quantized';
import * as saving from '@cresset/runtime/parts/saving';
import * as training from '@cresset/runtime/parts/training';
import * as tracing from '../tracing/recording.ts';
import { parts, type PartName } from './parts.ts';

const ALL = {
  arranging,
  attention,
  authoring,
  autocast,
  complex,
  'device-tensors': deviceTensors,
  einsum,
  executors,
  exported,
  fourier,
  freezing,
  gradients,
  host,
  indexing,
  inspection,
  layers,
  layouts,
  linalg,
  loops,
  losses,
  memory,
  nested,
  numpy,
  padding,
  passes,
  plans,
  quantized,
  random,
  recurrent,
  resampling,
  saving,
  'scalar-functions': scalarFunctions,
  scans,
  scatter,
  sorting,
  special,
  tracing,
  training,
  vision,
  'weight-only': weightOnly,
} satisfies Record<PartName, object>;

/** Makes all parts known, so that none is fetched. */
export function provideParts(): void {
  for (const [name, part] of Object.entries(ALL)) parts.provide(name, part);
}
