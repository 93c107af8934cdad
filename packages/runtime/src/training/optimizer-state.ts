import { writeCheckpoint, type SentInput } from '@cresset/archive';
import { readCheckpointFile } from '@cresset/archive/parts/checkpoint';
import { AnyType, CressetError, IntType, StringType } from '@cresset/ir';
import { Dict, List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { tensorFromWire, tensorToWire } from '../worker/wire/wire-value.ts';
import type { Hyperparameters } from './optimizers.ts';
import type { ParameterState, Trainer } from './trainer.ts';
import type { OptimizerState } from './training-requests.ts';

/** What an optimiser keeps of the parameters that it has changed. */
export async function optimizerState({ states }: Trainer): Promise<OptimizerState['state']> {
  await toHost(states);
  return states.flatMap(({ steps, tensors }, index) =>
    steps === 0
      ? []
      : [{ index, step: steps, tensors: [...tensors].map(([name, tensor]) => [name, tensorToWire(tensor)] as const) }],
  );
}

async function toHost(states: readonly ParameterState[]): Promise<void> {
  await Promise.all(states.flatMap(({ tensors }) => [...tensors.values()].map(({ storage }) => storage.toHost())));
}

/** State of a parameter, by its number. */
interface GivenState {
  readonly index: number;
  readonly step: number;
  readonly tensors: readonly (readonly [name: string, tensor: Tensor])[];
}

/** Takes the state that another optimiser of its kind gave. Throws `STATE_DICT` where that does not fit, and then nothing is changed. */
export function restoreState(trainer: Trainer, given: OptimizerState['state']): void {
  restore(
    trainer,
    given.map(({ tensors, ...each }) => ({
      ...each,
      tensors: tensors.map(([name, tensor]) => [name, tensorFromWire(tensor)] as const),
    })),
  );
}

/** As {@link restoreState}, of a file of `torch.save(optimizer.state_dict())`. Gives what its groups have. */
export async function loadState(trainer: Trainer, input: SentInput, signal: AbortSignal): Promise<Hyperparameters[]> {
  const { value } = await readCheckpointFile(input, { signal });
  const state = value instanceof Dict ? value.entries.get('state') : undefined;
  const groups = value instanceof Dict ? value.entries.get('param_groups') : undefined;
  if (!(state instanceof Dict) || !(groups instanceof List)) {
    throw new CressetError('STATE_DICT', 'the file holds no state of an optimizer: save optimizer.state_dict()');
  }
  if (groups.items.length !== trainer.groups.length) {
    throw new CressetError('STATE_DICT', 'loaded state dict has a different number of parameter groups');
  }
  const given = [...state.entries].map(([index, of]): GivenState => {
    const own = of instanceof Dict ? [...of.entries] : [];
    const tensors = own.filter(([name, each]) => name !== 'step' && each instanceof Tensor);
    const step = own.find(([name]) => name === 'step')?.[1];
    return {
      index: Number(index),
      step: step instanceof Tensor ? Number(step.contiguousArray()[0]) : Number(step ?? 1),
      tensors: tensors as [string, Tensor][],
    };
  });
  restore(trainer, given);
  return groups.items.map((group) => hyperparametersIn(group));
}

/** The numbers and flags of a group. */
function hyperparametersIn(group: IValue): Hyperparameters {
  const found: Record<string, number | boolean | readonly number[]> = {};
  for (const [name, value] of group instanceof Dict ? group.entries : []) {
    if (name === 'params') continue;
    if (typeof value === 'number' || typeof value === 'boolean') found[name as string] = value;
    else if (typeof value === 'bigint') found[name as string] = Number(value);
    else if (value instanceof Tuple || value instanceof List) found[name as string] = value.items.map(Number);
  }
  return found;
}

function restore(trainer: Trainer, given: readonly GivenState[]): void {
  const { states, rule } = trainer;
  const restored = given.map(({ index, step, tensors }) => {
    const state = states[index];
    if (!state) {
      throw new CressetError('STATE_DICT', `the optimizer has ${states.length} parameters and no parameter ${index}`);
    }
    const { name: parameter, tensor } = state.parameter;
    for (const [name, { dtype, sizes }] of tensors) {
      if (dtype === tensor.dtype && String(sizes) === String(tensor.sizes)) continue;
      throw new CressetError(
        'STATE_DICT',
        `'${name}' of parameter ${index} does not fit '${parameter}', which is ${tensor.dtype} of [${tensor.sizes.join(', ')}]`,
      );
    }
    return { state, step, tensors };
  });
  for (const state of states) {
    for (const { storage } of state.tensors.values()) storage.dispose();
    state.tensors.clear();
    state.steps = 0;
  }
  for (const { state, step, tensors } of restored) {
    // An optimiser that counts no steps asks only whether there was one.
    state.steps = rule.countsSteps ? step : 1;
    for (const [name, tensor] of tensors) state.tensors.set(name, tensor);
  }
  const all = states.flatMap(({ tensors }) => [...tensors].map(([name, tensor]) => ({ tensors, name, tensor })));
  const own = trainer.zeros(all.map(({ tensor }) => tensor));
  all.forEach(({ tensors, name, tensor }, at) => {
    const elements = own[at].storage.hostArrayForWriting(tensor.dtype);
    (elements as Float32Array).set(tensor.contiguousArray() as Float32Array, own[at].storageOffset);
    tensors.set(name, own[at]);
  });
}

/** The file that `torch.save(optimizer.state_dict())` gives; `torch.load` reads it with `weights_only`. */
export async function saveOptimizer(
  { states, groups, rule, optimizer }: Trainer,
  hyperparameters: readonly Hyperparameters[],
): Promise<Uint8Array<ArrayBuffer>> {
  await toHost(states);
  const state = new Dict(IntType.get(), AnyType.get());
  for (const [index, { steps, tensors }] of states.entries()) {
    if (steps === 0) continue;
    const own = dict(rule.countsSteps ? [['step', Tensor.fromArray(Float32Array.of(steps), [], 'float32')]] : []);
    for (const [name, tensor] of tensors) own.entries.set(name, inOwnMemory(tensor));
    state.entries.set(BigInt(index), own);
  }
  let next = 0n;
  const paramGroups = groups.map((group, at) => {
    const params = new List(
      AnyType.get(),
      group.map(() => next++),
    );
    const own = Object.entries(hyperparameters[at]).map(([name, value]): [string, IValue] => [name, valueOf(value)]);
    return dict([...own, ...Object.entries(rule.others), ['params', params]]);
  });
  return writeCheckpoint(
    dict([
      ['state', state],
      ['param_groups', new List(AnyType.get(), paramGroups)],
    ]),
    optimizer,
  );
}

/** A copy: what lies together here each has its own storage in a file of PyTorch's. */
const inOwnMemory = (tensor: Tensor): Tensor =>
  Tensor.fromArray(tensor.contiguousArray().slice(), tensor.sizes, tensor.dtype);

function dict(entries: readonly (readonly [string, IValue])[]): Dict {
  const made = new Dict(StringType.get(), AnyType.get());
  for (const [key, value] of entries) made.entries.set(key, value);
  return made;
}

const valueOf = (value: Hyperparameters[string]): IValue => (typeof value === 'object' ? new Tuple([...value]) : value);
