export { appendConsumer } from './fusion/append-consumer.ts';
export { asNest } from './kernels/as-nest.ts';
export * from './expressions/builders.ts';
export * from './device.ts';
export { measurePeak } from './profiling/device-peak.ts';
export * from './expressions/expr.ts';
export * from './expressions/expr-children.ts';
export { elsewhere, type Elsewhere } from './fusion/elsewhere.ts';
export * from './expressions/index-value.ts';
export { LinearForms, type LinearForm } from './expressions/linear-form.ts';
export { inlineProducer } from './fusion/inline-producer.ts';
export { threadsOf, withEqualWorkgroups } from './schedules/equal-workgroups.ts';
export type { IntegerProducts, IntegerRows, IntegerServices } from './kernels/integer-products.ts';
export { joinContractions } from './fusion/join-contractions.ts';
export { joinDigits } from './kernels/join-digits.ts';
export { joinNests } from './fusion/join-nests.ts';
export { nodesOf, stepsOfPoint, tallTile, workOf, type Work } from './kernels/kernel-work.ts';
export { KernelCache } from './kernels/kernel-cache.ts';
export * from './kernels/kernel.ts';
export { withoutKnownValues, type WithoutKnownValues } from './fusion/known-values.ts';
export { neutralElement } from './expressions/neutral-element.ts';
export { normalise, type NormalContraction, type NormalForm, type NormalKernel } from './kernels/normalise.ts';
export * from './expressions/operand.ts';
export { kernelText } from './text/kernel-text.ts';
export { longReduction, withReplacement } from './kernels/long-reduction.ts';
export { stagesOf, type TemporaryTensor } from './schedules/reduction-stages.ts';
export { isSameExpr } from './expressions/same-expr.ts';
export { remembered } from './remembered.ts';
export { hasExpr, isReduced, loadsIn, reductionsIn, walk } from './expressions/walk.ts';
export {
  keepsRunningSoftmax,
  powerOfSoftmax,
  runningSoftmaxOf,
  type RunningSoftmax,
} from './kernels/running-softmax.ts';
export { sharedTiles } from './schedules/running-softmax-schedule.ts';
export { packOperands } from './fusion/pack-operands.ts';
export { exactQuotient, partRows, type RowsApart } from './fusion/part-rows.ts';
export * from './expressions/rational-functions.ts';
export * from './expressions/scalar-functions.ts';
export { computesDoubles } from './kernels/precision.ts';
export { fetchHardwareSchedules } from './schedules/hardware-file.ts';
export * from './schedules/schedule.ts';
export { describeMeasured, describeSchedule, whyScheduled } from './schedules/describe-schedule.ts';
export { rollTrips, type LoopTrip, type RolledTrips } from './fusion/roll-trips.ts';
export { scheduledLaunch, type ScheduledLaunch } from './schedules/scheduled-launch.ts';
export { rowReductions, sharedTileVectors } from './schedules/shared-tile-schedule.ts';
export {
  LARGEST_FACTOR,
  type Ordering,
  type OrderWay,
  type Routine,
  type Transform,
  type TransformLines,
} from './kernels/routine.ts';
export * from './kernels/signature.ts';
export { paramsOfNow, SizedKernels } from './kernels/sized-kernels.ts';
export { withSizesOfNow } from './kernels/sizes-of-now.ts';
export { splitJoin, type SplitJoin } from './fusion/split-join.ts';
export { splitStores } from './kernels/split-stores.ts';
export { chunkCandidates, scheduleCandidates } from './tuning/schedule-candidates.ts';
export {
  MeasuredSchedules,
  type ChoiceStore,
  type ScheduleWish,
  type TunedCut,
  type TunedLaunch,
  type TuningDevice,
} from './tuning/schedule-tuner.ts';
export { storeInPlace } from './fusion/store-in-place.ts';
export * from './expressions/substitute.ts';
export * from './kernels/windows.ts';
export { elementsOfWord, type WholeWords } from './schedules/whole-words.ts';
export { ValueHomes } from './expressions/value-homes.ts';
