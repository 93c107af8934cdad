export { boxingOf, symbolicArguments, tensorsOf, type Boxing } from './table/boxing.ts';
export { copyInto, cloneOf, lowerCopy } from './kernels/copy.ts';
export { OperatorError, type ErrorKind } from './kernels/errors.ts';
export { functionalizedRow } from './dispatch/functionalization.ts';
export {
  callRefusal,
  checkTarget,
  computeCallOnDevice,
  computeCallOnHost,
  deviceRefusal,
  hostPieces,
  doublePrecision,
  isImplemented,
  notImplemented,
  OperatorCall,
  outputShapes,
  runOnDevice,
  runOnHost,
  beginWithoutData,
  runWithoutData,
  type Precision,
} from './dispatch/invoke.ts';
export { preparedCall, type PreparedCall } from './dispatch/call-preparation.ts';
export { isInPieces, type Pieces } from './kernels/loops/pieces.ts';
export { divisionFaults, divisorsIn } from './kernels/loops/division-faults.ts';
export { readScalar } from './kernels/elements.ts';
export {
  computingTypes,
  deviceViews,
  hasPointwiseExpr,
  pointwiseExpr,
  pointwiseShape,
  scalarParam,
  TensorElement,
  travelsAsNumber,
} from './kernels/loops/pointwise.ts';
export { packingOf } from './families/quantized/restored-objects.ts';
export { type PartName } from './part-table.ts';
export { namesInCode, partsOf, partsOfDtype } from './parts-of.ts';
export { findRow } from './table/register.ts';
export { registerCommonOperators } from './register-common.ts';
export { allRows, registerAllOperators } from './register-all.ts';
export * from './table/row.ts';
export * from './kernels/type-promotion.ts';
export * from './kernels/broadcast.ts';
export { requireInt } from './families/scalar/numbers.ts';
export { slicePositions } from './families/scalar/strings.ts';
export { formatValue } from './families/scalar/value-format.ts';
export { namesInSource, partsOfSource } from './parts-of-source.ts';
