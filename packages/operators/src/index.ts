export { boxingOf, tensorsOf, type Boxing } from './boxing.ts';
export { copyInto, cloneOf, lowerCopy } from './copy.ts';
export { OperatorError, type ErrorKind } from './errors.ts';
export { functionalizedRow } from './functionalization.ts';
export {
  callRefusal,
  computeCallOnDevice,
  computeCallOnHost,
  deviceRefusal,
  doublePrecision,
  holdsDoubles,
  isImplemented,
  notImplemented,
  OperatorCall,
  outputShapes,
  runOnDevice,
  runOnHost,
  runWithoutData,
} from './invoke.ts';
export { readScalar } from './elements.ts';
export {
  computingTypes,
  deviceViews,
  hasPointwiseExpr,
  pointwiseExpr,
  pointwiseShape,
  scalarParam,
  TensorElement,
} from './pointwise.ts';
export { packingOf } from './quantized/restored-objects.ts';
export { findRow, registerCommonOperators } from './register.ts';
export { allRows, registerAllOperators } from './register-all.ts';
export * from './row.ts';
export * from './type-promotion.ts';
export * from './broadcast.ts';
export { formatValue } from './scalar/value-format.ts';
