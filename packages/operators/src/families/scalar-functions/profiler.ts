import { CapsuleType, ClassType, registerCustomClass } from '@cresset/ir';
import { ScriptObject, Tensor } from '@cresset/tensor';
import type { HostKernel, OperatorRow, Results } from '../../table/row.ts';

/** Ranges that a program names for its profile (`torch.profiler.record_function`). A profile of a call notes when they run. */

const RECORD = '__torch__.torch.classes.profiler._RecordFunction';

/** What stands for a range while it is open: an object of C++ in PyTorch, of which programs see nothing. */
const recordClass = new ClassType(RECORD);
recordClass.addAttribute('capsule', CapsuleType.get());

/** Makes the class known. Does nothing the second time. */
export const registerRecordClass = (): void => registerCustomClass(recordClass);

/** Never merged or moved, so that a range holds what its text holds. */
const range = (schema: string, host: HostKernel<{ readonly y: Results }>): OperatorRow => ({
  schema: `profiler::${schema}`,
  hasSideEffects: true,
  readsNoData: true,
  host,
});

/** A range is known by the object that was given for it. */
const record = (): Results => new ScriptObject(recordClass, [null]) as unknown as Results;

export const profilerRows: readonly OperatorRow[] = [
  range(`_record_function_enter_new(str name, str? args=None) -> ${RECORD}`, record),
  range('_record_function_enter(str name, str? args=None) -> Tensor', () =>
    Tensor.fromArray(new Uint8Array(1), [1], 'uint8'),
  ),
  range('_record_function_exit(Tensor handle) -> ()', () => undefined),
  range(`_record_function_exit._RecordFunction(${RECORD} record) -> ()`, () => undefined),
  // The range would end with the future: there is nothing to be done then.
  range('_call_end_callbacks_on_jit_fut(Tensor x, Future(t) y) -> Future(t)', ({ y }) => y),
  range(`_call_end_callbacks_on_jit_fut._RecordFunction(${RECORD} x, Future(t) y) -> Future(t)`, ({ y }) => y),
];
