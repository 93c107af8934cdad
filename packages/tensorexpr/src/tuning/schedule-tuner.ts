import { Tensor } from '@cresset/tensor';
import type { DeviceCapabilities, ScheduleTuner } from '../device.ts';
import type { NormalForm } from '../kernels/normalise.ts';
import { stagesOf } from '../schedules/reduction-stages.ts';
import { chooseSchedule, scheduleKey, type Launch, type MeasuredCut } from '../schedules/schedule.ts';
import { chunkCandidates, scheduleCandidates } from './schedule-candidates.ts';
import { choiceKey, choicesText, parseChoices, type ScheduleChoice } from './schedule-choices.ts';

/** What a tuner asks of its device. */
export interface TuningDevice {
  readonly capabilities: DeviceCapabilities;
  /**
   * How long each candidate takes, which is a launch or several in order, in nanoseconds, on memory of its own: Infinity for one that the device refuses. Null
   * where they cannot be measured, and where `signal` ended it.
   */
  time(candidates: readonly (readonly Launch[])[], signal: AbortSignal | null): Promise<readonly number[] | null>;
  /** Kernels that were made ready have other schedules from now on. */
  forgetPrepared(): void;
}

/** Where choices are kept from one visit to the next. */
export interface ChoiceStore {
  read(): Promise<string | null>;
  write(text: string): Promise<void>;
}

/** A schedule that wins has to take at most this part of the time that the rule's takes: what gains less may do so by chance. */
const clearlyFaster = 0.9;

const isClear = (rule: number, other: number): boolean => other <= clearlyFaster * rule;

/** A kernel whose class has not been measured: it is when it turns out to be run again and again. */
export interface ScheduleWish {
  /** It is part of a recording. */
  recorded(): void;
  /** It was launched, and nothing records it. */
  launched(): void;
}

/** How a kernel is launched: as what was measured says, else as the rule does, with what has it measured. */
export interface TunedLaunch {
  readonly launch: Launch;
  readonly wish: ScheduleWish | null;
}

/** In how many chunks a product's sum is cut. */
export interface TunedCut {
  /** As what was measured says; nothing where the rule is to say. */
  readonly cut: MeasuredCut | undefined;
  readonly wish: ScheduleWish | null;
}

/** What there is to choose among for a class: each has a name that stays from visit to visit, the rule's is first. */
interface Candidates {
  readonly names: readonly string[];
  launches(): readonly (readonly Launch[])[];
}

/** Chooses schedules by what was measured on a device, and measures what it has no choice for. */
export class MeasuredSchedules implements ScheduleTuner {
  readonly #choices = new Map<string, ScheduleChoice>();
  /** Classes that there is nothing to choose for, or that could not be measured. */
  readonly #settled = new Set<string>();
  readonly #pending = new Map<string, Candidates>();
  /** Of classes that were launched without being recorded: in which round for the first time. */
  readonly #firstRounds = new Map<string, number>();
  /** Ends with each call of `measure`. */
  #round = 0;
  /** How often schedules have changed, and which of these changes each program was told of last. */
  #changes = 0;
  readonly #told = new WeakMap<object, number>();
  #measuring: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly device: TuningDevice,
    private readonly store: ChoiceStore,
  ) {}

  /** Takes over what earlier visits measured. */
  async restore(): Promise<void> {
    for (const [key, choice] of parseChoices((await this.store.read()) ?? '')) this.#choices.set(key, choice);
  }

  choose(kernel: NormalForm, rule: Launch): TunedLaunch {
    const key = choiceKey(rule);
    const launches = this.#settled.has(key) ? [rule] : scheduleCandidates(kernel, rule, this.device.capabilities);
    const names = launches.map(({ schedule }) => scheduleKey(schedule));
    const { choice, wish } = this.#choiceOf(key, { names, launches: () => launches.map((launch) => [launch]) });
    if (!choice) return { launch: rule, wish };
    const measured = timesOf(
      launches.map(({ schedule }) => ({ schedule })),
      names,
      choice,
    );
    return { launch: { ...launches[names.indexOf(choice.chosen)], measured }, wish };
  }

  chooseChunks(kernel: NormalForm): TunedCut {
    const { capabilities } = this.device;
    const numbers = chunkCandidates(kernel, capabilities);
    if (numbers.length === 1) return { cut: undefined, wish: null };
    const names = numbers.map((chunks) => `c${chunks}`);
    const key = `${choiceKey(chooseSchedule(kernel, capabilities))} ${names[0]}`;
    const launches = (): Launch[][] => numbers.map((chunks) => stageLaunches(kernel, capabilities, chunks));
    const { choice, wish } = this.#choiceOf(key, { names, launches });
    if (!choice) return { cut: undefined, wish };
    const measured = timesOf(
      numbers.map((chunks) => ({ chunks })),
      names,
      choice,
    );
    return { cut: { chunks: numbers[names.indexOf(choice.chosen)], measured }, wish };
  }

  /** What was chosen, or what has it measured. One that is none of the candidates is measured again. */
  #choiceOf(
    key: string,
    candidates: Candidates,
  ): { readonly choice: ScheduleChoice | null; readonly wish: ScheduleWish | null } {
    if (candidates.names.length === 1) this.#settled.add(key);
    if (this.#settled.has(key)) return { choice: null, wish: null };
    const choice = this.#choices.get(key);
    if (choice && candidates.names.includes(choice.chosen)) return { choice, wish: null };
    this.#choices.delete(key);
    return { choice: null, wish: this.#wish(key, candidates) };
  }

  #wish(key: string, candidates: Candidates): ScheduleWish {
    const want = (): void => {
      if (!this.#choices.has(key) && !this.#settled.has(key)) this.#pending.set(key, candidates);
    };
    return {
      recorded: want,
      launched: () => {
        const first = this.#firstRounds.get(key) ?? this.#round;
        this.#firstRounds.set(key, first);
        if (first < this.#round) want();
      },
    };
  }

  async measure(program: object, signal: AbortSignal | null): Promise<boolean> {
    const turn = this.#measuring.then(() => this.#measureAll(signal));
    this.#measuring = turn.catch(() => undefined);
    await turn;
    const isOther = this.#told.get(program) !== this.#changes;
    this.#told.set(program, this.#changes);
    return isOther;
  }

  async #measureAll(signal: AbortSignal | null): Promise<void> {
    this.#round++;
    let hasChosen = false;
    for (const [key, candidates] of this.#pending) {
      if (signal?.aborted) break;
      const choice = await this.#measured(candidates, signal);
      if (!choice && signal?.aborted) break;
      this.#pending.delete(key);
      if (choice) this.#choices.set(key, choice);
      else this.#settled.add(key);
      hasChosen ||= choice !== null;
    }
    if (hasChosen) {
      this.device.forgetPrepared();
      this.#changes++;
      await this.store.write(choicesText(this.#choices));
    }
  }

  /** The fastest, where it is clearly faster than the rule's, twice. Null where the rule's own could not be run, or nobody waits for it any more. */
  async #measured(candidates: Candidates, signal: AbortSignal | null): Promise<ScheduleChoice | null> {
    const { names } = candidates;
    const launches = candidates.launches();
    const found = await this.device.time(launches, signal);
    if (!found || !Number.isFinite(found[0])) return null;
    const times = [...found];
    let chosen = times.indexOf(Math.min(...times));
    if (chosen > 0 && isClear(times[0], times[chosen])) {
      const again = await this.device.time([launches[0], launches[chosen]], signal);
      if (!again) return null;
      [times[0], times[chosen]] = again;
    }
    if (!isClear(times[0], times[chosen])) chosen = 0;
    const known = names.flatMap((name, at): [string, number][] =>
      Number.isFinite(times[at]) ? [[name, times[at]]] : [],
    );
    return { chosen: names[chosen], times: Object.fromEntries(known) };
  }
}

/** Candidates with how long they took, as far as they were measured. */
const timesOf = <Candidate extends object>(
  candidates: readonly Candidate[],
  names: readonly string[],
  { times }: ScheduleChoice,
): (Candidate & { readonly nanoseconds: number })[] =>
  candidates.flatMap((candidate, at) => {
    const nanoseconds = times[names[at]];
    return nanoseconds === undefined ? [] : [{ ...candidate, nanoseconds }];
  });

/** The launches that a product comes to with so many chunks. */
function stageLaunches(kernel: NormalForm, capabilities: DeviceCapabilities, chunks: number): Launch[] {
  const temporary = (sizes: readonly number[]): Tensor => Tensor.empty(sizes, 'float32');
  return stagesOf(kernel, capabilities, temporary, chunks).map((stage) => chooseSchedule(stage, capabilities));
}
