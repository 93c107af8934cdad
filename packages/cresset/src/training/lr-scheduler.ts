import { checkOptions, CressetError, type OptionRules } from '@cresset/ir';
import type { Described, OneCycleOptions, PlateauOptions } from './optim.ts';
import type { ParamGroup } from './optimizer-groups.ts';

/** What a schedule changes. */
export type ScheduledGroup = Pick<ParamGroup, 'lr' | 'momentum' | 'betas'>;

/** Changes the learning rates of an optimiser's groups (torch.optim.lr_scheduler.LRScheduler). */
export abstract class LRScheduler {
  /** How often {@link step} was called. */
  lastEpoch = 0;

  constructor(protected readonly groups: readonly ScheduledGroup[]) {}

  /**
   * Goes on to the next learning rate: after each epoch or each training step, whichever the schedule was made for. ReduceLROnPlateau takes the number that is
   * to become better.
   */
  abstract step(metric?: number): void;

  /** Of each group (get_last_lr). */
  getLastLr(): number[] {
    return this.groups.map(({ lr }) => lr);
  }
}

/** Where a group stands: the epoch that begins, its learning rate so far, and the one that it began with. */
interface Point {
  readonly epoch: number;
  readonly lr: number;
  readonly baseLr: number;
}

type Options = Readonly<Record<string, number | readonly number[]>>;

/** A schedule that goes by the number of the epoch. */
interface Form {
  /** Options that have to be given, and those that need not. */
  readonly required: readonly string[];
  readonly defaults: Readonly<Record<string, number>>;
  lr(at: Point, options: Record<string, number>, given: Options): number;
}

const cos = (fraction: number): number => 1 + Math.cos(Math.PI * fraction);

// As PyTorch has them: most go from one learning rate to the next, so that changes from elsewhere last.
const FORMS: Readonly<Record<string, Form>> = {
  StepLR: {
    required: ['stepSize'],
    defaults: { gamma: 0.1 },
    lr: ({ epoch, lr }, { stepSize, gamma }) => (epoch === 0 || epoch % stepSize !== 0 ? lr : lr * gamma),
  },
  MultiStepLR: {
    required: ['milestones'],
    defaults: { gamma: 0.1 },
    lr: ({ epoch, lr }, { gamma }, { milestones }) =>
      lr * gamma ** (milestones as readonly number[]).filter((each) => each === epoch).length,
  },
  ConstantLR: {
    required: [],
    defaults: { factor: 1 / 3, totalIters: 5 },
    lr: ({ epoch, lr }, { factor, totalIters }) => {
      if (epoch === 0) return lr * factor;
      return epoch === totalIters ? lr * (1 / factor) : lr;
    },
  },
  LinearLR: {
    required: [],
    defaults: { startFactor: 1 / 3, endFactor: 1, totalIters: 5 },
    lr: ({ epoch, lr }, { startFactor, endFactor, totalIters }) => {
      if (epoch === 0) return lr * startFactor;
      const slope = endFactor - startFactor;
      return epoch > totalIters ? lr : lr * (1 + slope / (totalIters * startFactor + (epoch - 1) * slope));
    },
  },
  ExponentialLR: {
    required: ['gamma'],
    defaults: {},
    lr: ({ epoch, lr }, { gamma }) => (epoch === 0 ? lr : lr * gamma),
  },
  PolynomialLR: {
    required: [],
    defaults: { totalIters: 5, power: 1 },
    lr: ({ epoch, lr }, { totalIters, power }) =>
      epoch === 0 || epoch > totalIters
        ? lr
        : lr * ((1 - epoch / totalIters) / (1 - (epoch - 1) / totalIters)) ** power,
  },
  CosineAnnealingLR: {
    required: ['tMax'],
    defaults: { etaMin: 0 },
    lr: ({ epoch, lr, baseLr }, { tMax, etaMin }) => {
      if (epoch === 0) return lr;
      if ((epoch - 1 - tMax) % (2 * tMax) === 0) return lr + ((baseLr - etaMin) * (1 - Math.cos(Math.PI / tMax))) / 2;
      return (cos(epoch / tMax) / cos((epoch - 1) / tMax)) * (lr - etaMin) + etaMin;
    },
  },
  CosineAnnealingWarmRestarts: {
    required: ['t0'],
    defaults: { tMult: 1, etaMin: 0 },
    lr: ({ epoch, baseLr }, { t0, tMult, etaMin }) => {
      let length = t0;
      let at = epoch;
      while (at >= length) {
        at -= length;
        length *= tMult;
      }
      return etaMin + ((baseLr - etaMin) * cos(at / length)) / 2;
    },
  },
};

class FormScheduler extends LRScheduler {
  readonly #baseLrs: readonly number[];
  readonly #options: Record<string, number>;

  constructor(
    private readonly form: Form,
    groups: readonly ScheduledGroup[],
    private readonly given: Options,
  ) {
    super(groups);
    this.#baseLrs = this.getLastLr();
    this.#options = { ...form.defaults, ...(given as Record<string, number>) };
    this.#set();
  }

  step(): void {
    this.lastEpoch++;
    this.#set();
  }

  #set(): void {
    const { lastEpoch: epoch } = this;
    this.groups.forEach((group, at) => {
      const point = { epoch, lr: group.lr, baseLr: this.#baseLrs[at] };
      group.lr = this.form.lr(point, this.#options, this.given);
    });
  }
}

const ONE_CYCLE_RULES: OptionRules = {
  maxLr: 'any',
  totalSteps: 'positive',
  epochs: 'positive',
  stepsPerEpoch: 'positive',
  pctStart: 'number',
  annealStrategy: ['cos', 'linear'],
  cycleMomentum: 'boolean',
  baseMomentum: 'number',
  maxMomentum: 'number',
  divFactor: 'number',
  finalDivFactor: 'number',
  threePhase: 'boolean',
};

/** Up to the highest learning rate, and down to next to none; momentum the other way. */
class OneCycleLR extends LRScheduler {
  readonly #totalSteps: number;
  readonly #options: OneCycleOptions;

  constructor(groups: readonly ScheduledGroup[], options: OneCycleOptions) {
    super(groups);
    checkOptions('lrScheduler.OneCycleLR', options, ONE_CYCLE_RULES);
    const { totalSteps, epochs = NaN, stepsPerEpoch = NaN, cycleMomentum = true } = options;
    this.#totalSteps = totalSteps ?? epochs * stepsPerEpoch;
    this.#options = options;
    if (!Number.isInteger(this.#totalSteps)) {
      throw new CressetError('ARGUMENT', 'You must define either totalSteps OR (epochs AND stepsPerEpoch)');
    }
    if (cycleMomentum && groups.some(({ momentum, betas }) => momentum === undefined && !betas)) {
      const message = 'optimizer must support momentum or beta1 with `cycleMomentum` option enabled';
      throw new CressetError('ARGUMENT', message);
    }
    this.#set();
  }

  step(): void {
    if (this.lastEpoch + 1 > this.#totalSteps) {
      const told = `Tried to step ${this.lastEpoch + 1} times. The specified number of total steps is ${this.#totalSteps}`;
      throw new CressetError('ARGUMENT', told);
    }
    this.lastEpoch++;
    this.#set();
  }

  #set(): void {
    const { cycleMomentum = true, baseMomentum = 0.85, maxMomentum = 0.95 } = this.#options;
    this.groups.forEach((group, at) => {
      const { fraction, lrs, isRising } = this.#phaseOf(at);
      group.lr = this.#between(lrs[0], lrs[1], fraction);
      if (!cycleMomentum) return;
      const [from, to] =
        isRising === null
          ? [maxMomentum, maxMomentum]
          : isRising
            ? [maxMomentum, baseMomentum]
            : [baseMomentum, maxMomentum];
      const momentum = this.#between(from, to, fraction);
      if (group.betas) group.betas = [momentum, group.betas[1]];
      else group.momentum = momentum;
    });
  }

  /** The phase that the step lies in, and how far. */
  #phaseOf(group: number): { fraction: number; lrs: readonly [number, number]; isRising: boolean | null } {
    const { maxLr, pctStart = 0.3, divFactor = 25, finalDivFactor = 1e4, threePhase = false } = this.#options;
    const max = typeof maxLr === 'number' ? maxLr : maxLr[group];
    const initial = max / divFactor;
    const min = initial / finalDivFactor;
    const total = this.#totalSteps;
    const up = { end: pctStart * total - 1, lrs: [initial, max], isRising: true } as const;
    const phases = threePhase
      ? ([
          up,
          { end: 2 * pctStart * total - 2, lrs: [max, initial], isRising: false },
          { end: total - 1, lrs: [initial, min], isRising: null },
        ] as const)
      : ([up, { end: total - 1, lrs: [max, min], isRising: false }] as const);
    const at = Math.max(
      0,
      phases.findIndex(({ end }, index) => this.lastEpoch <= end || index === phases.length - 1),
    );
    const start = at === 0 ? 0 : phases[at - 1].end;
    const { end, lrs, isRising } = phases[at];
    return { fraction: (this.lastEpoch - start) / (end - start), lrs, isRising };
  }

  #between(start: number, end: number, fraction: number): number {
    if (this.#options.annealStrategy === 'linear') return (end - start) * fraction + start;
    return end + ((start - end) / 2) * cos(fraction);
  }
}

const PLATEAU_RULES: OptionRules = {
  mode: ['min', 'max'],
  factor: 'number',
  patience: 'number',
  threshold: 'number',
  thresholdMode: ['rel', 'abs'],
  cooldown: 'number',
  minLr: 'any',
  eps: 'number',
};

/** Lowers the learning rate when a number has stopped becoming better. */
class ReduceLROnPlateau extends LRScheduler {
  readonly #options: Required<PlateauOptions>;
  #best: number;
  #badEpochs = 0;
  #cooldown = 0;

  constructor(groups: readonly ScheduledGroup[], options: PlateauOptions) {
    super(groups);
    checkOptions('lrScheduler.ReduceLROnPlateau', options, PLATEAU_RULES);
    this.#options = {
      mode: 'min',
      factor: 0.1,
      patience: 10,
      threshold: 1e-4,
      thresholdMode: 'rel',
      cooldown: 0,
      minLr: 0,
      eps: 1e-8,
      ...options,
    };
    if (this.#options.factor >= 1) throw new CressetError('ARGUMENT', 'Factor should be < 1.0.');
    this.#best = this.#options.mode === 'min' ? Infinity : -Infinity;
  }

  step(metric?: number): void {
    if (typeof metric !== 'number') {
      throw new CressetError('ARGUMENT', 'ReduceLROnPlateau goes by a number: scheduler.step(loss)');
    }
    const { factor, patience, cooldown, minLr, eps } = this.#options;
    this.lastEpoch++;
    if (this.#isBetter(metric)) {
      this.#best = metric;
      this.#badEpochs = 0;
    } else {
      this.#badEpochs++;
    }
    if (this.#cooldown > 0) {
      this.#cooldown--;
      this.#badEpochs = 0;
    }
    if (this.#badEpochs <= patience) return;
    this.groups.forEach((group, at) => {
      const lowered = Math.max(group.lr * factor, typeof minLr === 'number' ? minLr : minLr[at]);
      if (group.lr - lowered > eps) group.lr = lowered;
    });
    this.#cooldown = cooldown;
    this.#badEpochs = 0;
  }

  #isBetter(metric: number): boolean {
    const { mode, threshold, thresholdMode } = this.#options;
    const best = this.#best;
    const isRelative = thresholdMode === 'rel';
    if (mode === 'min') return metric < (isRelative ? best * (1 - threshold) : best - threshold);
    return metric > (isRelative ? best * (threshold + 1) : best + threshold);
  }
}

/** Makes a schedule of what was asked of `lrScheduler`. Throws `ARGUMENT` for what there is not. */
export function openScheduler({ kind, args }: Described, groups: readonly ScheduledGroup[]): LRScheduler {
  const [options = {}] = args as [object?];
  if (kind === 'OneCycleLR') return new OneCycleLR(groups, options as OneCycleOptions);
  if (kind === 'ReduceLROnPlateau') return new ReduceLROnPlateau(groups, options);
  const form = Object.hasOwn(FORMS, kind) ? FORMS[kind] : undefined;
  if (!form) {
    const names = [...Object.keys(FORMS), 'OneCycleLR', 'ReduceLROnPlateau'].join(', ');
    throw new CressetError('ARGUMENT', `there is no schedule '${kind}'; there are ${names}`);
  }
  const rules: Record<string, OptionRules[string]> = {};
  for (const name of Object.keys(form.defaults)) rules[name] = 'number';
  for (const name of form.required) rules[name] = name === 'milestones' ? 'array' : 'number';
  checkOptions(`lrScheduler.${kind}`, options, rules);
  const missing = form.required.find((name) => !(name in options));
  if (missing) throw new CressetError('ARGUMENT', `lrScheduler.${kind} needs '${missing}'`);
  return new FormScheduler(form, groups, options as Options);
}
