import { readFileSync } from 'node:fs';
import { registerAllParts } from '@cresset/runtime';
import type { GradientMode } from '@cresset/ir';
import { load, optim, script, setJitOptions, tensor, type ScriptModule, type Tensor } from '../src/index.ts';

const PROGRAM = `
class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)

class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.last = nn.Linear(256, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.silu(self.norm(self.first(x))), 2)
        x = F.max_pool2d(F.silu(self.second(x)), 2)
        return self.last(x.flatten(1))

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.of_state = nn.Linear(64, 256)
        self.of_row = nn.Linear(32, 256)
        self.last = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.size(0), 64)
        c = torch.zeros(x.size(0), 64)
        for i in range(8):
            a, b, d, e = (self.of_state(h) + self.of_row(x)).chunk(4, 1)
            c = torch.sigmoid(a) * c + torch.sigmoid(b) * torch.tanh(d)
            h = torch.sigmoid(e) * torch.tanh(c)
        return self.last(h)

class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 64)
        self.last = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.tanh(self.first(x))
        if bool(y.sum() > -1e9):
            y = torch.tanh(self.second(y)) * torch.sigmoid(y) + y
        return self.last(y)

class Forces(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.last = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        a = self.first(x)
        energy = (self.last(torch.tanh(a) * torch.sigmoid(a))).sum()
        forces = torch.autograd.grad([energy], [x])[0]
        assert forces is not None
        return forces
`;

const LOSS = 'def loss(scores, target):\n    return F.cross_entropy(scores, target)\n';
const TOKEN_LOSS = 'def loss(logits, target):\n    return F.cross_entropy(logits.flatten(0, 1), target.flatten())\n';

const sines = (...shape: readonly number[]): Tensor =>
  tensor(
    Float32Array.from({ length: shape.reduce((product, size) => product * size) }, (_, at) => Math.sin(0.7 * at)),
    [...shape],
  );
const labels = (...shape: readonly number[]): Tensor =>
  tensor(
    Array.from({ length: shape.reduce((product, size) => product * size) }, (_, at) => (3 * at) % 10),
    { shape: [...shape], dtype: 'int64' },
  );

type Made = Readonly<Record<string, () => Promise<ScriptModule>>>;
const made = async (name: string): Promise<ScriptModule> =>
  ((await script(PROGRAM, { device: 'cpu', worker: false })) as unknown as Made)[name]();

interface Subject {
  readonly name: string;
  readonly open: () => Promise<ScriptModule>;
  readonly loss: string;
  /** Of so many rows. */
  readonly batch: (rows: number) => readonly [Tensor, Tensor];
}

const ofRows = (name: string): Subject => ({
  name,
  open: () => made(name),
  loss: LOSS,
  batch: (rows) => [sines(rows, 32), labels(rows)],
});

const subjects = (fixtures: string): readonly Subject[] => [
  ofRows('Perceptron'),
  { ...ofRows('Pictures'), batch: (rows) => [sines(rows, 1, 16, 16), labels(rows)] },
  ofRows('Recurrent'),
  {
    name: 'Transformer',
    open: () => load(readFileSync(`${fixtures}transformer.pt`), { device: 'cpu', worker: false }),
    loss: TOKEN_LOSS,
    batch: (rows) => [labels(rows, 8), labels(rows, 8)],
  },
  ofRows('Chosen'),
  ofRows('Forces'),
];

/** Calls of each kind before it is measured, and how many are: their median is told, which other work on the machine adds least to. */
const warmUp = 20;
const calls = 60;
const rows = 32;

/** What a subject is asked for again and again. */
const kinds = {
  gradients:
    async (model: ScriptModule, { loss }: Subject) =>
    (x: Tensor, target: Tensor) =>
      model.grad(x, { loss, target }),
  step: async (model: ScriptModule, { loss }: Subject) => {
    const trainer = await model.trainer({ optimizer: optim.AdamW({ lr: 1e-3 }), loss });
    return (x: Tensor, target: Tensor) => trainer.step(x, target);
  },
  'gradients within': async (model: ScriptModule) => (x: Tensor) => model.forward(x),
} as const;
type Kind = keyof typeof kinds;

interface Measure {
  readonly launches: number;
  /** Of the processor, for one call. */
  readonly milliseconds: number;
  /** Of the calls before those, together, with all that was compiled in them. */
  readonly first: number;
}

/** @param sizes rows of the batches, which come in turn */
async function measure(
  subject: Subject,
  kind: Kind,
  sizes: readonly number[],
  gradients: GradientMode | undefined,
): Promise<Measure> {
  setJitOptions({ gradients });
  const model = await subject.open();
  await model.train();
  const call = await kinds[kind](model, subject);
  const batches = sizes.map((size) => subject.batch(size));
  const once = async (at: number): Promise<number> => {
    const start = process.cpuUsage();
    await call(...batches[at % batches.length]);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
  let first = 0;
  for (let at = 0; at < warmUp; at++) first += await once(at);
  const times: number[] = [];
  for (let at = 0; at < calls; at++) times.push(await once(at));
  const { dispatches } = model.lastRun!;
  await model.dispose();
  return { launches: dispatches, milliseconds: times.toSorted((a, b) => a - b)[calls >> 1], first };
}

const modes: Readonly<Record<string, GradientMode | undefined>> = {
  operators: 'operators',
  groups: 'groups',
  'the rule': undefined,
};

/**
 * Prints, for each program and what it is asked for, launches of a call, its milliseconds of processor time, and those of the first calls together: with every operator
 * recorded by itself, with groups of operators, and by the rule of the default.
 *
 * @param fixtures the folder that models which are files are in
 */
export async function main(fixtures: string, names: readonly string[]): Promise<void> {
  registerAllParts();
  const table = [];
  for (const subject of subjects(fixtures)) {
    if (names.length > 0 && !names.some((part) => subject.name.includes(part))) continue;
    const own: readonly Kind[] = subject.name === 'Forces' ? ['gradients within'] : ['gradients', 'step'];
    for (const kind of own) {
      for (const sizes of [[rows], [8, 12, 16, 20, 24, 28, 32]]) {
        const row: Record<string, string> = { program: subject.name, of: kind, sizes: String(sizes.length) };
        for (const [name, mode] of Object.entries(modes)) {
          const { launches, milliseconds, first } = await measure(subject, kind, sizes, mode);
          row[`${name}: launches, ms, first ${warmUp}`] =
            `${launches}, ${milliseconds.toFixed(1)}, ${Math.round(first)}`;
        }
        table.push(row);
      }
    }
  }
  console.table(table);
}
