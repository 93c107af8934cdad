import type { DeviceCapabilities, ScheduleTuner } from '../device.ts';
import type { NormalForm } from '../kernels/normalise.ts';
import { scheduleKey, type Launch } from '../schedules/schedule.ts';
import { scheduleCandidates } from './schedule-candidates.ts';
import { choiceKey, choicesText, parseChoices, type ScheduleChoice } from './schedule-choices.ts';

/** What a tuner asks of its device. */
export interface TuningDevice {
  readonly capabilities: DeviceCapabilities;
  /**
   * How long a launch of each takes, in nanoseconds, on memory of its own: Infinity for one that the device refuses. Null where they cannot be measured, and
   * where `signal` ended it.
   */
  time(launches: readonly Launch[], signal: AbortSignal | null): Promise<readonly number[] | null>;
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

/** Chooses schedules by what was measured on a device, and measures what it has no choice for. */
export class MeasuredSchedules implements ScheduleTuner {
  readonly #choices = new Map<string, ScheduleChoice>();
  /** Classes that there is nothing to choose for, or that could not be measured. */
  readonly #settled = new Set<string>();
  readonly #pending = new Map<string, readonly Launch[]>();
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
    if (this.#settled.has(key)) return { launch: rule, wish: null };
    const candidates = scheduleCandidates(kernel, rule, this.device.capabilities);
    if (candidates.length === 1) {
      this.#settled.add(key);
      return { launch: rule, wish: null };
    }
    const launch = this.#chosen(key, candidates);
    return launch ? { launch, wish: null } : { launch: rule, wish: this.#wish(key, candidates) };
  }

  /** Null where nothing was measured, or where that chose what the rules do not give any more. */
  #chosen(key: string, candidates: readonly Launch[]): Launch | null {
    const choice = this.#choices.get(key);
    if (!choice) return null;
    const keys = candidates.map(({ schedule }) => scheduleKey(schedule));
    const at = keys.indexOf(choice.chosen);
    if (at < 0) {
      this.#choices.delete(key);
      return null;
    }
    const measured = candidates.flatMap(({ schedule }, index) => {
      const nanoseconds = choice.times[keys[index]];
      return nanoseconds === undefined ? [] : [{ schedule, nanoseconds }];
    });
    return { ...candidates[at], measured };
  }

  #wish(key: string, candidates: readonly Launch[]): ScheduleWish {
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
  async #measured(candidates: readonly Launch[], signal: AbortSignal | null): Promise<ScheduleChoice | null> {
    const found = await this.device.time(candidates, signal);
    if (!found || !Number.isFinite(found[0])) return null;
    const times = [...found];
    let chosen = times.indexOf(Math.min(...times));
    if (chosen > 0 && isClear(times[0], times[chosen])) {
      const again = await this.device.time([candidates[0], candidates[chosen]], signal);
      if (!again) return null;
      [times[0], times[chosen]] = again;
    }
    if (!isClear(times[0], times[chosen])) chosen = 0;
    const keys = candidates.map(({ schedule }) => scheduleKey(schedule));
    const known = keys.flatMap((key, at): [string, number][] => (Number.isFinite(times[at]) ? [[key, times[at]]] : []));
    return { chosen: keys[chosen], times: Object.fromEntries(known) };
  }
}
