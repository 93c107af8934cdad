import { commonRows } from './families/common.ts';
import { rareRows } from './families/rare.ts';
import { register as arranging } from './parts/arranging.ts';
import { register as attention } from './parts/attention.ts';
import { register as complex } from './parts/complex.ts';
import { register as einsum } from './parts/einsum.ts';
import { register as exported } from './parts/exported.ts';
import { register as fourier } from './parts/fourier.ts';
import { register as gradients } from './parts/gradients.ts';
import { register as host } from './parts/host.ts';
import { register as indexing } from './parts/indexing.ts';
import { register as layers } from './parts/layers.ts';
import { register as layouts } from './parts/layouts.ts';
import { register as linalg } from './parts/linalg.ts';
import { register as losses } from './parts/losses.ts';
import { register as nested } from './parts/nested.ts';
import { register as numpy } from './parts/numpy.ts';
import { register as padding } from './parts/padding.ts';
import { register as quantized } from './parts/quantized.ts';
import { register as random } from './parts/random.ts';
import { register as recurrent } from './parts/recurrent.ts';
import { register as resampling } from './parts/resampling.ts';
import { register as scalarFunctions } from './parts/scalar-functions.ts';
import { register as scans } from './parts/scans.ts';
import { register as scatter } from './parts/scatter.ts';
import { register as sorting } from './parts/sorting.ts';
import { register as special } from './parts/special.ts';
import { register as vision } from './parts/vision.ts';
import { register as weightOnly } from './parts/weight-only.ts';
import { registerCommonOperators } from './register-common.ts';
import { withForms } from './table/register.ts';
import type { OperatorRow } from './table/row.ts';

/** Registers every operator there is, with what all parts bring. Does nothing the second time. */
export function registerAllOperators(): void {
  registerCommonOperators();
  for (const register of [
    arranging,
    attention,
    complex,
    einsum,
    exported,
    fourier,
    gradients,
    host,
    indexing,
    layers,
    layouts,
    linalg,
    losses,
    nested,
    numpy,
    padding,
    quantized,
    random,
    recurrent,
    resampling,
    scalarFunctions,
    scans,
    scatter,
    sorting,
    special,
    vision,
    weightOnly,
  ])
    register();
}

/** All rows there are, with the forms derived from them. */
export function allRows(): OperatorRow[] {
  return [commonRows, ...Object.values(rareRows)].flatMap(withForms);
}
