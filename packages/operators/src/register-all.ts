import { operatorRegistry } from '@cresset/ir';
import { lowerComplex, takesComplex } from './families/complex/complex-lowering.ts';
import { extraFamilies } from './families/extra.ts';
import { families } from './families/common.ts';
import { foreignNote } from './table/full-edition-names.ts';
import { checkReadable } from './dispatch/dtype-refusals.ts';
import { useComplexLowering, useDtypeRules, useQuantizedForms } from './dispatch/invoke.ts';
import { runQuantizedForm } from './families/quantized/forms.ts';
import { checkWritable } from './dispatch/writable-dtypes.ts';
import { generatedOutForms } from './table/out-forms.ts';
import { registerCommonOperators, registerRows, rowsOf } from './table/register.ts';
import type { OperatorRow } from './table/row.ts';

/** All rows there are, with the in-place and `out=` forms derived from them. */
export function allRows(): OperatorRow[] {
  return [...rowsOf([...families, ...extraFamilies]), ...outForms()];
}

const outForms = (): OperatorRow[] => generatedOutForms([...families, ...extraFamilies].flat());

/** Registers every operator there is, the rarer ones too. Does nothing the second time. */
export function registerAllOperators(): void {
  registerCommonOperators();
  if (operatorRegistry.find('aten::special_i0e', '')) return;
  registerRows([...rowsOf(extraFamilies), ...outForms()]);
  useDtypeRules({ checkReadable, checkWritable });
  useQuantizedForms(runQuantizedForm);
  useComplexLowering({ takes: takesComplex, lower: lowerComplex });
  operatorRegistry.noteOn = (name, isKnown) => (isKnown ? '' : foreignNote(name));
}
