/** Names of parameters, or what `namedParameters()` tells of them. */
export type Parameters = readonly (string | { readonly name: string })[];

/** Parameters that are trained in a way of their own; what is left out is as for all. */
export type ParameterGroup<Options> = Options & { readonly params: Parameters };

export interface SGDOptions {
  /** 1e-3 by default. */
  readonly lr?: number;
  readonly momentum?: number;
  readonly dampening?: number;
  readonly weightDecay?: number;
  readonly nesterov?: boolean;
  readonly maximize?: boolean;
}

export interface AdamOptions {
  /** 1e-3 by default. */
  readonly lr?: number;
  /** `[0.9, 0.999]` by default. */
  readonly betas?: readonly [number, number];
  /** 1e-8 by default. */
  readonly eps?: number;
  /** 0 by default, 0.01 for AdamW. */
  readonly weightDecay?: number;
  readonly amsgrad?: boolean;
  readonly maximize?: boolean;
}

export interface RMSpropOptions {
  /** 1e-2 by default. */
  readonly lr?: number;
  /** 0.99 by default. */
  readonly alpha?: number;
  /** 1e-8 by default. */
  readonly eps?: number;
  readonly weightDecay?: number;
  readonly momentum?: number;
  readonly centered?: boolean;
  readonly maximize?: boolean;
}

/** Something of torch.optim as it was asked for, which a trainer makes: nothing is held against it before. */
export interface Described {
  readonly kind: string;
  readonly args: readonly unknown[];
}

/** An optimiser, for `model.trainer`. */
export type Optimizer = Described & { readonly optimizer?: never };

/** A learning-rate schedule, for `model.trainer`. */
export type Schedule = Described & { readonly schedule?: never };

/** An optimiser of all parameters that require a gradient, or of those that are named. */
export interface OptimizerOf<Options> {
  (options?: Options): Optimizer;
  (params: Parameters | readonly ParameterGroup<Options>[], options?: Options): Optimizer;
}

/** torch.optim */
export interface Optimizers {
  readonly SGD: OptimizerOf<SGDOptions>;
  readonly Adam: OptimizerOf<AdamOptions>;
  readonly AdamW: OptimizerOf<AdamOptions>;
  readonly RMSprop: OptimizerOf<RMSpropOptions>;
}

export interface OneCycleOptions {
  readonly maxLr: number | readonly number[];
  /** Or `epochs` and `stepsPerEpoch`. */
  readonly totalSteps?: number;
  readonly epochs?: number;
  readonly stepsPerEpoch?: number;
  readonly pctStart?: number;
  readonly annealStrategy?: 'cos' | 'linear';
  readonly cycleMomentum?: boolean;
  readonly baseMomentum?: number;
  readonly maxMomentum?: number;
  readonly divFactor?: number;
  readonly finalDivFactor?: number;
  readonly threePhase?: boolean;
}

export interface PlateauOptions {
  readonly mode?: 'min' | 'max';
  readonly factor?: number;
  readonly patience?: number;
  readonly threshold?: number;
  readonly thresholdMode?: 'rel' | 'abs';
  readonly cooldown?: number;
  readonly minLr?: number | readonly number[];
  readonly eps?: number;
}

/** torch.optim.lr_scheduler */
export interface Schedules {
  StepLR(options: { readonly stepSize: number; readonly gamma?: number }): Schedule;
  MultiStepLR(options: { readonly milestones: readonly number[]; readonly gamma?: number }): Schedule;
  ConstantLR(options?: { readonly factor?: number; readonly totalIters?: number }): Schedule;
  LinearLR(options?: {
    readonly startFactor?: number;
    readonly endFactor?: number;
    readonly totalIters?: number;
  }): Schedule;
  ExponentialLR(options: { readonly gamma: number }): Schedule;
  PolynomialLR(options?: { readonly totalIters?: number; readonly power?: number }): Schedule;
  CosineAnnealingLR(options: { readonly tMax: number; readonly etaMin?: number }): Schedule;
  CosineAnnealingWarmRestarts(options: {
    readonly t0: number;
    readonly tMult?: number;
    readonly etaMin?: number;
  }): Schedule;
  OneCycleLR(options: OneCycleOptions): Schedule;
  /** Its `step` takes the number that is to become better. */
  ReduceLROnPlateau(options?: PlateauOptions): Schedule;
}

// What they mean comes with the file that trains.
const described: unknown = new Proxy(
  {},
  {
    get:
      (_, kind) =>
      (...args: unknown[]) => ({ kind, args }),
  },
);

/** Optimisers for `model.trainer`, by PyTorch's names: `optim.AdamW({ lr: 1e-3 })`, `optim.SGD(['fc.weight', 'fc.bias'], { lr: 0.1, momentum: 0.9 })`. */
export const optim = described as Optimizers;

/** Learning-rate schedules for `model.trainer`: `lrScheduler.CosineAnnealingLR({ tMax: 100 })`. */
export const lrScheduler = described as Schedules;
