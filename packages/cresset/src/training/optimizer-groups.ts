import { checkOptions, CressetError, type OptionRules } from '@cresset/ir';
import type { Hyperparameters, OptimizerName } from '@cresset/runtime';
import type { Described, ParameterGroup, Parameters } from './optim.ts';

/**
 * A group of parameters and what the optimiser takes for it (`optimizer.param_groups`). The numbers can be changed between two steps: `lr` above
 * all, which is what a schedule does.
 */
export interface ParamGroup {
  /** Names. */
  readonly params: readonly string[];
  lr: number;
  weightDecay: number;
  maximize: boolean;
  momentum?: number;
  dampening?: number;
  nesterov?: boolean;
  betas?: readonly [number, number];
  eps?: number;
  amsgrad?: boolean;
  alpha?: number;
  centered?: boolean;
}

type Settings = Omit<ParamGroup, 'params'>;

const ADAM = {
  lr: 1e-3,
  betas: [0.9, 0.999],
  eps: 1e-8,
  weightDecay: 0,
  amsgrad: false,
  maximize: false,
} as const satisfies Settings;

/** What each optimiser takes, with PyTorch's defaults. */
const DEFAULTS: Readonly<Record<OptimizerName, Settings>> = {
  SGD: { lr: 1e-3, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false, maximize: false },
  Adam: ADAM,
  AdamW: { ...ADAM, weightDecay: 1e-2 },
  RMSprop: { lr: 1e-2, momentum: 0, alpha: 0.99, eps: 1e-8, centered: false, weightDecay: 0, maximize: false },
};

/** An optimiser as a trainer is opened with it. */
export interface OpenedOptimizer {
  readonly name: OptimizerName;
  /** Settings of each group, with the names of its parameters; null for all that require a gradient. */
  readonly groups: readonly { readonly names: readonly string[] | null; readonly settings: Settings }[];
}

/** Reads what was asked of `optim`. Throws `ARGUMENT` with PyTorch's message for what no optimiser takes. */
export function openOptimizer({ kind, args }: Described): OpenedOptimizer {
  if (!Object.hasOwn(DEFAULTS, kind)) {
    throw new CressetError(
      'ARGUMENT',
      `there is no optimizer '${kind}'; there are ${Object.keys(DEFAULTS).join(', ')}`,
    );
  }
  const name = kind as OptimizerName;
  const [params, options = {}] = (Array.isArray(args[0]) ? args : [null, ...args]) as [
    Parameters | readonly ParameterGroup<object>[] | null,
    object?,
  ];
  const common = settingsOf(name, options, DEFAULTS[name]);
  const groups = params?.filter((each): each is ParameterGroup<object> => typeof each === 'object' && 'params' in each);
  if (!groups || groups.length === 0) {
    return { name, groups: [{ names: params && namesOf(params as Parameters), settings: common }] };
  }
  return {
    name,
    groups: groups.map(({ params: own, ...rest }) => ({
      names: namesOf(own),
      settings: settingsOf(name, rest, common),
    })),
  };
}

const namesOf = (params: Parameters): string[] => params.map((each) => (typeof each === 'string' ? each : each.name));

function settingsOf(name: OptimizerName, options: object, defaults: Settings): Settings {
  const rules: OptionRules = Object.fromEntries(
    Object.entries(DEFAULTS[name]).map(([key, value]) => [key, Array.isArray(value) ? 'array' : typeof value]),
  ) as OptionRules;
  checkOptions(`optim.${name}`, options, rules);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings: Settings = { ...defaults, ...given };
  const { lr, momentum = 0, weightDecay, eps = 0, alpha = 0, betas = [0, 0], nesterov, dampening } = settings;
  const refuse = (isWrong: boolean, message: string): void => {
    if (isWrong) throw new CressetError('ARGUMENT', message);
  };
  refuse(!(lr >= 0), `Invalid learning rate: ${lr}`);
  refuse(!(eps >= 0), `Invalid epsilon value: ${eps}`);
  refuse(!(momentum >= 0), `Invalid momentum value: ${momentum}`);
  refuse(!(weightDecay >= 0), `Invalid weight_decay value: ${weightDecay}`);
  refuse(!(alpha >= 0), `Invalid alpha value: ${alpha}`);
  betas.forEach((beta, at) => refuse(!(beta >= 0 && beta < 1), `Invalid beta parameter at index ${at}: ${beta}`));
  refuse(
    nesterov === true && (momentum <= 0 || dampening !== 0),
    'Nesterov momentum requires a momentum and zero dampening',
  );
  return settings;
}

/** A group as the worker and PyTorch's files have it. */
export function hyperparametersOf(name: OptimizerName, group: ParamGroup): Hyperparameters {
  const settings = Object.entries(group).filter(([key]) => key !== 'params');
  const named = settings.map(([key, value]) => [snakeCase(key), value as unknown]);
  const own: Hyperparameters = name.startsWith('Adam') ? { decoupled_weight_decay: name === 'AdamW' } : {};
  return { ...(Object.fromEntries(named) as Hyperparameters), ...own };
}

/** Gives a group what one of a checkpoint has, as far as the optimiser takes it. */
export function takeHyperparameters(group: ParamGroup, given: Hyperparameters): void {
  for (const name of Object.keys(group)) {
    const value = given[snakeCase(name)];
    if (value !== undefined) Object.assign(group, { [name]: value });
  }
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
