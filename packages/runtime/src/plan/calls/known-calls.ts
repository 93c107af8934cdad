import type { OperatorRow } from '@cresset/operators';
import { List, Storage, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import type { LaunchRecorder, RecordedLaunch } from '@cresset/tensorexpr';
import type { Execution } from '../../run/execution.ts';
import type { LoweredWork } from '../../run/planner.ts';
import { isImmutable } from '../recording/live-in.ts';
import { makeValues, recipeOf, type MadeValue } from '../made-value.ts';
import { PlannedLowering, type MadeStorage } from './planned-lowering.ts';
import { CallArguments, StandIns } from './stand-ins.ts';

/** Calls that are kept: the one that was not made for longest goes first. */
const maxCalls = 512;
/** So many attempts at some work come to nothing, before any did not, until there are no more. */
const maxRefused = 3;

/** A call that was made ready for arguments of one kind. */
interface KnownCall {
  readonly launches: readonly RecordedLaunch[];
  readonly kernelCount: number;
  readonly made: readonly MadeStorage[];
  /** Places of made storages that nobody needs afterwards. */
  readonly temporaries: readonly number[];
  readonly recipes: readonly MadeValue[];
  /** Which of the recipes are results. */
  readonly results: readonly number[];
  /** Whether it stores in arguments. */
  readonly writes: boolean;
}

interface KnownWork {
  readonly number: number;
  /** Attempts that came to nothing; none are counted any more once one has succeeded. */
  refused: number;
}

/**
 * Work on a device that is done again for other tensors without being described, brought to normal form and looked up again: most of what a program does
 * whose sizes are new with each call has the same sizes as ever.
 */
export class KnownCalls {
  readonly #works = new Map<OperatorRow | string, KnownWork>();
  /** Null where it has to be described each time. */
  readonly #calls = new Map<string, KnownCall | null>();

  constructor(private readonly recorder: LaunchRecorder) {}

  run(work: LoweredWork, args: readonly IValue[], execution: Execution): readonly IValue[] | null {
    const known = this.#workOf(work.structure);
    if (known.refused >= maxRefused) return null;
    const given = new CallArguments(args);
    if (given.key === null) return null;
    const key = `${known.number} ${given.key}`;
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = this.#plan(work, args, execution);
      if (call) known.refused = -Infinity;
      else known.refused++;
    } else this.#calls.delete(key);
    this.#calls.set(key, call);
    if (this.#calls.size > maxCalls) this.#calls.delete(this.#calls.keys().next().value!);
    return call && this.#launch(call, work.name, args, given.storages, execution);
  }

  clear(): void {
    this.#works.clear();
    this.#calls.clear();
  }

  #workOf(structure: OperatorRow | string): KnownWork {
    let work = this.#works.get(structure);
    if (!work) this.#works.set(structure, (work = { number: this.#works.size, refused: 0 }));
    return work;
  }

  /** Describes work for stand-ins of its arguments; null where it goes by more than they tell. */
  #plan({ name, keepsKernels, lower }: LoweredWork, args: readonly IValue[], execution: Execution): KnownCall | null {
    const standIns = new StandIns(args);
    const planned = new PlannedLowering(execution, name, this.recorder, standIns.storages, keepsKernels);
    try {
      const values = lower(standIns.values, planned);
      if (!values || !standIns.areUnchanged) return null;
      return knownCall(values, standIns, planned);
    } catch {
      // Whatever is wrong comes up once more where the work is described for its arguments.
      return null;
    } finally {
      planned.end();
    }
  }

  /** Null where a launch is refused and nothing was written: it is refused once more where that is dealt with. */
  #launch(
    { launches, kernelCount, made, temporaries, recipes, results, writes }: KnownCall,
    name: string,
    args: readonly IValue[],
    given: readonly Storage[],
    execution: Execution,
  ): readonly IValue[] | null {
    const { context } = execution;
    const storages = [...given];
    let launched = 0;
    try {
      for (const { dtype, count } of made) storages.push(Storage.onDevice(context.device!, dtype, count));
      for (const { launch, places } of launches) {
        this.recorder.launch(
          launch,
          places.map((place) => storages[place]),
        );
        launched++;
      }
    } catch (error) {
      for (const storage of storages.slice(given.length)) storage.dispose();
      if (writes && launched > 0) throw error;
      return null;
    }
    for (const place of temporaries) storages[place].dispose();
    context.counters.device.add(name, kernelCount);
    const values = makeValues(recipes, args, storages);
    return results.map((at) => values[at]);
  }
}

/** What was described, as it is done again; null where results cannot be made again. */
function knownCall(values: readonly IValue[], standIns: StandIns, planned: PlannedLowering): KnownCall | null {
  const given = standIns.storages.length;
  const recipes: MadeValue[] = [];
  const handedOut = new Set<number>();
  const storageOf = (of: Storage, dtype: ScalarType): number => {
    const storage = planned.placeOf(of, dtype);
    // Which of several tensors over an argument it is, nobody would know.
    if (storage < given) throw new TypeError('a view of an argument');
    handedOut.add(storage);
    return storage;
  };
  const numberOf = (value: IValue): number => {
    const argument = standIns.values.indexOf(value);
    if (typeof value !== 'object' || value === null || isImmutable(value)) recipes.push({ kind: 'same', value });
    else if (argument >= 0) recipes.push({ kind: 'live-in', at: argument });
    else {
      const isPlain = value instanceof Tensor && value.constructor === Tensor && !value.quantizer;
      if (!isPlain && !(value instanceof List)) throw new TypeError('no plain tensor');
      recipes.push(recipeOf(value, numberOf, storageOf));
    }
    return recipes.length - 1;
  };
  const results = values.map(numberOf);
  const { launches, made, kernelCount } = planned;
  const temporaries = made.flatMap((_, at) => (handedOut.has(given + at) ? [] : given + at));
  const writes = launches.some(({ launch, places }) =>
    places.some((place, at) => place < given && launch.bindings[at].stored),
  );
  return { launches, kernelCount, made, temporaries, recipes, results, writes };
}
