import { CressetError, type Type } from '@cresset/ir';
import { formatValue, type ScalarKernel } from '@cresset/operators';
import {
  Await,
  Dict,
  fromByteString,
  List,
  ScriptObject,
  Tensor,
  Tuple,
  type Future,
  type IValue,
  isInstance,
} from '@cresset/tensor';
import { afterReadback, dispatch, runPrepared, whenThere } from '../dispatch/dispatch.ts';
import type { Frame } from './frame.ts';
import type { InstructionOf, OpCode } from './code/instruction.ts';
import type { InterpreterState } from './interpreter-state.ts';
import { undefinedTensor, type OperatorBinding } from './code/operator-binding.ts';
import { sortObjects } from './object-sorting.ts';
import { RaisedException } from './script-error.ts';
import { tensorToList } from './tensor-to-list.ts';

/** Does what the instruction says; a Promise where that has to be waited for. */
type Handler<K extends OpCode> = (
  state: InterpreterState,
  frame: Frame,
  instruction: InstructionOf<K>,
) => Promise<void> | void;

export const instructionHandlers: { readonly [K in OpCode]: Handler<K> } = {
  OP(state, frame, { operand, inputs, outputs, node }) {
    const { execution } = state;
    const { scalar } = operand;
    if (scalar && !execution.observer && !(execution.ledger && operand.holdsTensors)) {
      const result = callScalar(scalar, frame, inputs);
      if (outputs.length > 0) frame.set(outputs[0], result);
      return;
    }
    const args = frame.getAll(inputs);
    const result = runPrepared(operand, args, execution);
    if (result !== undefined) {
      state.noteComputed();
      return frame.set(outputs[0], result);
    }
    const results = execution.observer?.run(operand, args, node, execution) ?? dispatch(operand, args, execution);
    if (results instanceof Promise)
      return results.then((values) => setResults(state, frame, operand, outputs, args, values));
    if (results[0] instanceof Tensor) state.noteComputed();
    setResults(state, frame, operand, outputs, args, results);
  },
  DIRECT(_state, frame, { operand: { direct, isPlain }, inputs, outputs }) {
    const result =
      inputs.length === 2
        ? direct(frame.getPlain(inputs[0]), frame.getPlain(inputs[1]))
        : inputs.length === 1
          ? direct(frame.getPlain(inputs[0]))
          : direct(frame.getPlain(inputs[0]), frame.getPlain(inputs[1]), frame.getPlain(inputs[2]));
    if (isPlain) frame.setPlain(outputs[0], result);
    else frame.set(outputs[0], result);
  },
  FUSION_GROUP(state, frame, { operand, inputs, outputs, node }) {
    const { execution } = state;
    const args = frame.getAll(inputs);
    const results = execution.observer?.runGroup(operand, args, node, execution) ?? operand.run(args, execution);
    return whenThere(results, (values) => frame.setAll(outputs, values));
  },
  CALLBACK(state, frame, { operand, inputs, outputs }) {
    const results = operand(frame.getAll(inputs), state);
    return results && whenThere(results, (values) => frame.setAll(outputs, values));
  },
  MOVE(_state, frame, { inputs, outputs }) {
    frame.setAll(outputs, frame.getAll(inputs));
  },
  MOVE_PLAIN(_state, frame, { inputs, outputs }) {
    for (let at = 0; at < inputs.length; at++) frame.setPlain(outputs[at], frame.getPlain(inputs[at]));
  },
  DROP() {},
  JUMP(_state, frame, { operand }) {
    frame.programCounter = operand.target;
  },
  JUMP_IF_FALSE(_state, frame, { operand, inputs }) {
    if (frame.getPlain(inputs[0]) !== true) frame.programCounter = operand.target;
  },
  LOOP_BEGIN(_state, frame, { outputs }) {
    frame.setPlain(outputs[0], 0);
  },
  LOOP(_state, frame, { operand, inputs: [maxTripCount, condition, counter], outputs }) {
    const trip = frame.getPlain(counter) as number;
    // Nobody lives to see the trip whose number would not be exact.
    if (frame.getPlain(condition) !== true || trip >= (frame.getPlain(maxTripCount) as number | bigint)) {
      frame.programCounter = operand.target;
      return;
    }
    frame.setPlain(outputs[0], trip);
    frame.setPlain(counter, trip + 1);
  },
  LIST_CONSTRUCT(state, frame, { operand, inputs, outputs }) {
    const list = new List(operand, frame.getAll(inputs));
    if (!frame.code.countedLists.has(outputs[0])) state.execution.ledger?.pinItems(list);
    frame.set(outputs[0], list);
  },
  LIST_UNPACK(_state, frame, { inputs, outputs }) {
    const { items } = frame.get(inputs[0]) as List;
    if (items.length !== outputs.length) {
      throw new CressetError(
        'UNPACK_LENGTH',
        `Expected ${outputs.length} elements in a list but found ${items.length}`,
      );
    }
    frame.setAll(outputs, items);
  },
  TUPLE_CONSTRUCT(_state, frame, { operand, inputs, outputs }) {
    frame.set(outputs[0], new Tuple(frame.getAll(inputs), operand));
  },
  TUPLE_UNPACK(_state, frame, { inputs, outputs }) {
    frame.setAll(outputs, (frame.get(inputs[0]) as Tuple).items);
  },
  TUPLE_INDEX(_state, frame, { inputs, outputs }) {
    const { items } = frame.get(inputs[0]) as Tuple;
    const index = Number(frame.get(inputs[1]) as bigint);
    const value = items.at(index);
    if (value === undefined) throw new CressetError('TUPLE_INDEX', 'Tuple list index out of range');
    frame.set(outputs[0], value);
  },
  TUPLE_SLICE(_state, frame, { operand: { begin, end }, inputs, outputs }) {
    frame.set(outputs[0], new Tuple((frame.get(inputs[0]) as Tuple).items.slice(begin, end)));
  },
  DICT_CONSTRUCT(state, frame, { operand: { keyType, valueType }, inputs, outputs }) {
    const dict = new Dict(keyType, valueType);
    for (let i = 0; i < inputs.length; i += 2) {
      dict.entries.set(dict.storedKey(frame.get(inputs[i])), frame.get(inputs[i + 1]));
    }
    state.execution.ledger?.pinItems(dict);
    frame.set(outputs[0], dict);
  },
  CREATE_OBJECT(_state, frame, { operand, outputs }) {
    frame.set(outputs[0], new ScriptObject(operand));
  },
  GET_ATTR(_state, frame, { operand: { slot, name, mayBeNone }, inputs, outputs }) {
    const object = frame.get(inputs[0]) as ScriptObject;
    // An initialiser that makes its class while it compiles has added to it since.
    const value = object.slots[slot] ?? null;
    if (value === null && !mayBeNone) {
      throw new CressetError('ATTRIBUTE_UNSET', `attribute '${name}' of ${object.type.str()} has no value yet`);
    }
    frame.set(outputs[0], value);
  },
  SET_ATTR(state, frame, { operand: { slot }, inputs }) {
    const value = frame.get(inputs[1]);
    const object = frame.get(inputs[0]) as ScriptObject;
    state.execution.ledger?.setAttribute(object, slot, value);
    object.slots[slot] = value;
  },
  ISINSTANCE(_state, frame, { operand, inputs, outputs }) {
    const value = frame.get(inputs[0]);
    frame.set(
      outputs[0],
      operand.some((type: Type) => isInstance(value, type)),
    );
  },
  TO_LIST(state, frame, { operand, inputs, outputs }) {
    const tensor = frame.get(inputs[0]) as Tensor | null;
    if (tensor === null) throw undefinedTensor();
    const { execution } = state;
    const read = (): Promise<IValue> | IValue => execution.inTurns(tensorToList(tensor, operand));
    return whenThere(afterReadback([tensor], read, execution), (list) => frame.set(outputs[0], list));
  },
  CALL(state, frame, { operand, inputs, outputs }) {
    const args = frame.getAll(inputs);
    state.enter(operand.code(args), args, outputs);
  },
  SORT(state, frame, { inputs, outputs }) {
    const list = frame.get(inputs[0]) as List;
    const finish = (sorted: IValue[]): void => {
      if (outputs.length > 0) {
        const made = new List(list.elementType, sorted);
        state.execution.ledger?.pinItems(made);
        frame.set(outputs[0], made);
      } else sorted.forEach((item, index) => (list.items[index] = item));
    };
    const sorted = sortObjects(list.items, outputs.length === 0 && frame.get(inputs[1]) === true, state);
    return whenThere(sorted, finish);
  },
  INTERFACE_CALL(state, frame, { operand, inputs, outputs }) {
    const args = frame.getAll(inputs);
    const receiver = args[0] as ScriptObject;
    state.enter(state.codeOf(receiver.type.getMethod(operand)).code(args), args, outputs);
  },
  FORK(state, frame, { operand, inputs, outputs }) {
    const args = frame.getAll(inputs);
    frame.set(outputs[0], state.fork(operand.code(args), args));
  },
  AWAITABLE(state, frame, { operand, inputs, outputs }) {
    const args = frame.getAll(inputs);
    for (const arg of args) state.execution.ledger?.pin(arg);
    frame.set(outputs[0], new Await((result) => state.fork(operand.code(args), args, result)));
  },
  WAIT(_state, frame, { inputs, outputs }) {
    const future = frame.get(inputs[0]) as Future;
    if (future instanceof Await) future.begin();
    if (!future.isCompleted) return future.settled().then(() => frame.set(outputs[0], future.value()));
    frame.set(outputs[0], future.value());
  },
  ENTER(state, frame, { inputs, outputs }) {
    const object = frame.get(inputs[0]) as ScriptObject;
    state.noteEntered(object);
    const args = [object];
    state.enter(state.codeOf(object.type.getMethod('__enter__')).code(args), args, outputs);
  },
  EXIT(state, frame, { inputs, outputs }) {
    const object = frame.get(inputs[0]) as ScriptObject;
    state.noteExited();
    const args = [object, null, null, null];
    state.enter(state.codeOf(object.type.getMethod('__exit__')).code(args), args, outputs);
  },
  RAISE(_state, frame, { inputs }) {
    const [message, className] = frame.getAll(inputs);
    throw new RaisedException(
      fromByteString(message as string),
      typeof className === 'string' && className !== '' ? fromByteString(className) : null,
    );
  },
  PRINT(state, frame, { inputs }) {
    const values = frame.getAll(inputs);
    return afterReadback(
      values,
      () => {
        const texts = values.map((value) => fromByteString(formatValue(value)));
        state.execution.context.print(`${texts.join(' ')}\n`);
      },
      state.execution,
    );
  },
  RETURN(state, frame, { inputs }) {
    state.leave(frame.getAll(inputs));
  },
};

/** Without a list of arguments where they are few. */
function callScalar(scalar: ScalarKernel, frame: Frame, inputs: readonly number[]): IValue {
  switch (inputs.length) {
    case 1:
      return scalar(frame.get(inputs[0]));
    case 2:
      return scalar(frame.get(inputs[0]), frame.get(inputs[1]));
    case 3:
      return scalar(frame.get(inputs[0]), frame.get(inputs[1]), frame.get(inputs[2]));
    default:
      return scalar(...frame.getAll(inputs));
  }
}

/** Tensors in a list or dict that may change later are left to the sweep at the end of the run. */
function setResults(
  { execution: { ledger } }: InterpreterState,
  frame: Frame,
  { makesContainers, row }: OperatorBinding,
  outputs: readonly number[],
  args: readonly IValue[],
  results: readonly IValue[],
): void {
  if (ledger && makesContainers) {
    outputs.forEach((register, at) => {
      // `l += m` gives back its list, and the schema does not say so.
      if (frame.code.countedLists.has(register) || args.includes(results[at])) return;
      // What is computed is new all through; an operator on containers makes one at most, of what there was.
      if (row?.scalar) ledger.pinItems(results[at]);
      else if (!(results[at] instanceof Tensor)) ledger.pinAll(results[at]);
    });
  }
  frame.setAll(outputs, results);
}
