import { afterAll, describe, expect, test } from 'vitest';
import { lrScheduler, optim, shutdown, type Optimizer, type ScriptModule, type TrainerOptions } from '../index.ts';
import { openScheduler } from './lr-scheduler.ts';
import { batches, distance, fixture, fresh } from './training-fixture.ts';

interface Numbers {
  readonly optimizers: readonly {
    readonly optimizer: 'SGD' | 'Adam' | 'AdamW' | 'RMSprop';
    readonly options: Readonly<Record<string, never>>;
    readonly losses: readonly number[];
    readonly last: readonly number[];
  }[];
  readonly clipped: readonly {
    readonly options: {
      readonly clip_grad_norm?: number;
      readonly norm_type?: 'inf';
      readonly clip_grad_value?: number;
    };
    readonly losses: readonly number[];
    readonly norms: readonly number[];
  }[];
  readonly grouped: { readonly losses: readonly number[]; readonly norm: readonly number[] };
}

const { optimizers, clipped, grouped } = fixture<Numbers>('optimizers.json');

const camelCase = (options: object): object =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => {
      const plain = name.replace(/^T_/, 't_');
      return [plain.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()), value as unknown];
    }),
  );

afterAll(() => shutdown());

async function trained(
  options: TrainerOptions,
  steps: number,
): Promise<{ model: ScriptModule; losses: number[]; norms: number[] }> {
  const model = await fresh('mlp');
  const trainer = await model.trainer({ loss: 'cross_entropy', ...options });
  const losses: number[] = [];
  const norms: number[] = [];
  for (let at = 0; at < steps; at++) {
    const [x, y] = batches.mlp(at);
    const { loss, gradNorm } = await trainer.step(x, y);
    losses.push(loss);
    if (gradNorm !== null) norms.push(gradNorm);
  }
  return { model, losses, norms };
}

const title = (name: string, options: object): string => `${name} ${JSON.stringify(options)}`;

describe('optimisers train as those of torch.optim', () => {
  test.each(optimizers.map((each) => [title(each.optimizer, each.options), each] as const))(
    '%s',
    async (_, { optimizer: name, options, losses, last }) => {
      const make = optim[name] as (options: object) => Optimizer;
      const run = await trained({ optimizer: make(camelCase(options)) }, losses.length);
      expect(distance(run.losses, losses)).toBeLessThan(1e-4);
      expect(distance((await run.model.parameter('second.bias')).data as Float32Array, last)).toBeLessThan(1e-3);
    },
  );

  test('groups have settings of their own, and what is in none stays', async () => {
    const optimizer = optim.SGD(
      [
        { params: ['second.weight', 'second.bias'], lr: 0.1 },
        { params: [{ name: 'first.weight' }], weightDecay: 0.2 },
      ],
      { lr: 0.01 },
    );
    const { model, losses } = await trained({ optimizer }, grouped.losses.length);
    expect(distance(losses, grouped.losses)).toBeLessThan(1e-4);
    expect(Array.from((await model.parameter('norm.weight')).data as Float32Array)).toEqual(grouped.norm);
  });
});

test.each(clipped.map((each) => [title('clipping', each.options), each] as const))(
  '%s',
  async (_, { options, losses, norms }) => {
    const { clip_grad_norm: maxNorm, norm_type: normType, clip_grad_value: clipGradValue } = options;
    const optimizer = optim.SGD({ lr: 0.2 });
    const clipping = clipGradValue
      ? { clipGradValue }
      : { clipGradNorm: normType ? { maxNorm: maxNorm!, normType: Infinity } : maxNorm! };
    const run = await trained({ optimizer, ...clipping }, losses.length);
    expect(distance(run.losses, losses)).toBeLessThan(1e-4);
    if (norms.length > 0) expect(distance(run.norms, norms)).toBeLessThan(1e-4);
    else expect(run.norms).toEqual([]);
  },
);

interface ScheduleNumbers {
  readonly schedule: keyof typeof lrScheduler;
  readonly options: object;
  readonly rates: readonly (readonly number[])[];
  readonly momenta: readonly number[];
}

test.each(
  fixture<readonly ScheduleNumbers[]>('schedules.json').map(
    (each) => [title(each.schedule, each.options), each] as const,
  ),
)('schedule %s', (_, { schedule, options, rates, momenta }) => {
  const groups = [
    { lr: 0.2, momentum: 0.9 },
    { lr: 0.05, momentum: 0.9 },
  ];
  const make = lrScheduler[schedule] as (options: object) => ReturnType<typeof lrScheduler.StepLR>;
  const scheduler = openScheduler(make(camelCase(options)), groups);
  rates.forEach((expected, at) => {
    expect(scheduler.getLastLr()[0]).toBeCloseTo(expected[0], 12);
    expect(scheduler.getLastLr()[1]).toBeCloseTo(expected[1], 12);
    expect(groups[0].momentum).toBeCloseTo(momenta[at], 12);
    if (at < rates.length - 1) scheduler.step(Math.cos(at) + 3 / (at + 1));
  });
});

test('what no optimiser and no schedule takes is refused by name', async () => {
  const model = await fresh('mlp');
  const open = (options: unknown): Promise<unknown> => model.trainer(options as TrainerOptions);
  await expect(open({ optimizer: optim.SGD({ lr: -1 }) })).rejects.toThrow('Invalid learning rate: -1');
  await expect(open({ optimizer: optim.SGD({ nesterov: true }) })).rejects.toThrow(
    'Nesterov momentum requires a momentum and zero dampening',
  );
  await expect(open({ optimizer: optim.SGD({ betas: [1, 1] } as object) })).rejects.toThrow(
    "optim.SGD has no option 'betas'",
  );
  await expect(open({ optimizer: { kind: 'Lion', args: [] } })).rejects.toThrow("there is no optimizer 'Lion'");
  await expect(open({ optimizer: optim.SGD(['third.weight']) })).rejects.toMatchObject({ code: 'NO_PARAMETER' });
  await expect(open({ optimizer: optim.SGD([]) })).rejects.toThrow('optimizer got an empty parameter list');
  const optimizer = optim.SGD({ lr: 0.1 });
  await expect(open({ optimizer, scheduler: { kind: 'NoLR', args: [] } })).rejects.toThrow(
    "there is no schedule 'NoLR'",
  );
  await expect(open({ optimizer, scheduler: lrScheduler.StepLR({} as never) })).rejects.toThrow("needs 'stepSize'");
});
