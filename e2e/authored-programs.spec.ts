import { expect, test, type Page } from '@playwright/test';
import type * as Cresset from 'cresset';
import { pagesAddress } from './addresses.ts';

declare global {
  // The page gives the library this name.
  var cresset: typeof Cresset;
}

async function open(page: Page, path = 'authoring.html'): Promise<void> {
  await page.goto(`${pagesAddress}${path}`);
  await page.waitForFunction(() => 'cresset' in globalThis);
}

test('an operator of the page is part of a program in the worker, under a strict policy', async ({ page }) => {
  await open(page, 'strict/authoring.html');
  const result = await page.evaluate(async () => {
    const { registerOperator, script, tensor, Tensor } = globalThis.cresset;
    const seen: string[] = [];
    await registerOperator('page_ns::offset(Tensor x, float by) -> Tensor', {
      host(x: InstanceType<typeof Tensor>, by: number) {
        seen.push(`${document.title}: ${x.shape.join('x')} by ${by}`);
        return tensor(
          Float32Array.from(x.data as Float32Array, (value) => value + by),
          x.shape,
        );
      },
    });
    await registerOperator('page_ns::swish(Tensor x, float alpha=1.0) -> Tensor', {
      lowering: 'x * sigmoid(alpha * x)',
    });
    const unit = await script<'run' | 'fails'>(`
def run(x):
    for i in range(2):
        x = ops.page_ns.offset(x * 2.0, float(i))
    return ops.page_ns.swish(x, 0.0)

def fails(x):
    return ops.page_ns.offset(x, 1.0)[7]
`);
    const { operators, fusionGroups } = await unit.run.explain();
    const y = (await unit.run(tensor(new Float32Array(4000).fill(3), [40, 100]))) as InstanceType<typeof Tensor>;
    const failure = await unit.fails(tensor([1])).catch((error: Error) => error.message);
    return { seen, y: [Number(y.data[0]), Number(y.data[1])], shape: y.shape, operators, fusionGroups, failure };
  });
  expect(result.seen.slice(0, 2)).toEqual([
    'Programs made in the page: 40x100 by 0',
    'Programs made in the page: 40x100 by 1',
  ]);
  expect(result.y).toEqual([6.5, 6.5]);
  expect(result.shape).toEqual([40, 100]);
  // Once for each trip of the loop, which is unrolled.
  expect(result.operators).toContainEqual({ name: 'page_ns::offset', count: 2, placement: 'host' });
  expect(result.failure).toContain('line 8, in fails');
  expect(page.workers()).toHaveLength(1);
});

test('source in the worker calls functions of the page, and traces call what was compiled there', async ({ page }) => {
  await open(page, 'strict/authoring.html');
  const result = await page.evaluate(async () => {
    const { ignore, script, tensor, torch, trace } = globalThis.cresset;
    type Elements = { tolist(): unknown };
    const decode = ignore('(s: str) -> List[int]', async (s: string) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return Array.from(`${document.title[0]}${s}`, (each) => each.codePointAt(0)!);
    });
    const helpers = await script<'swish'>(
      'def swish(x, times: int = 2):\n    for i in range(times):\n        x = x * 2.0\n    return x\n',
    );
    const source = `
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.full([2], LIMIT))

    def forward(self, x, s: str):
        total = 0
        for each in decode(s):
            total += each
        return helpers.swish(x) + self.bias * total
`;
    const unit = await script(source, { globals: { decode, helpers, LIMIT: 0.5 } });
    const net = await unit.construct('Net');
    const called = (await net.forward(tensor([1, 2]), 'ab')) as unknown as Elements;
    const refused = await net.save().catch((error: Error) => error.message);
    const warnings: string[] = [];
    const traced = await trace((x) => torch.cat([helpers.swish(x, 3), x]).mul(x.sum().item()), [tensor([1.5, 2])], {
      warn: (message) => warnings.push(message),
    });
    const file = await traced.save();
    return {
      called: called.tolist(),
      refused,
      traced: ((await traced.forward(tensor([1, 0]))) as unknown as Elements).tolist(),
      graph: await traced.graph(),
      warnings: warnings.map((message) => message.slice(0, 40)),
      isSaved: file.length > 1000,
    };
  });
  // 'P' of the page's title, 'a' and 'b' are 80, 97 and 98.
  expect(result.called).toEqual([141.5, 145.5]);
  expect(result.refused).toContain("Could not export Python function call 'decode'");
  expect(result.traced).toEqual([28, 0, 3.5, 0]);
  expect(result.graph).toContain('prim::CallFunction');
  expect(result.warnings).toEqual(['Converting a tensor to a Python number m']);
  expect(result.isSaved).toBe(true);
  expect(page.workers()).toHaveLength(1);
});

test("an operator of an application's own worker runs there", async ({ page }) => {
  await open(page);
  const values = await page.evaluate(async () => {
    const { setWorker, script, tensor } = globalThis.cresset;
    setWorker(() => new Worker('/own-worker.js', { type: 'module' }));
    const unit = await script<'run'>('def run(x):\n    return ops.own_ns.thread(x) + 1\n');
    return ((await unit.run(tensor([1, 2]))) as { tolist(): unknown }).tolist();
  });
  expect(values).toEqual([102, 103]);
});

test("what is wrong with an operator of an application's own worker is told", async ({ page }) => {
  await open(page);
  const reason = await page.evaluate(async () => {
    const { setWorker, load } = globalThis.cresset;
    const source = `
      import { registerOperator } from '${location.origin}/dist/worker.js';
      registerOperator('aten::mine(Tensor x) -> Tensor', { host: (x) => x });`;
    setWorker(
      () => new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })), { type: 'module' }),
    );
    const model = await load('/models/digits.pt', { device: 'cpu' });
    return model.place.threadReason;
  });
  expect(reason).toContain("in a namespace that is not PyTorch's");
});

test('a module is authored, changed in place on the GPU, verified, saved and loaded again', async ({ page }) => {
  await open(page);
  const result = await page.evaluate(async () => {
    const { createModule, load, moduleList, tensor } = globalThis.cresset;
    type Elements = { readonly data: ArrayLike<number> };
    const scale = await createModule('Scale', { device: 'webgpu' });
    await scale.registerParameter('weight', tensor(new Float32Array(2000).fill(2)));
    await scale.define('def forward(self, x):\n    return x * self.weight\n');
    const net = await createModule<'step'>('Net', { device: 'webgpu' });
    await net.registerModule('layers', moduleList([scale, scale]));
    await net.define(`
def step(self, by: float):
    self.layers[0].weight.add_(by)

def forward(self, x):
    for layer in self.layers:
        x = layer(x)
    x_in_place = x.add_(1)
    return x_in_place
`);
    await net.step(1);
    const x = tensor(new Float32Array(2000).fill(1));
    const before = ((await net.forward(x)) as unknown as Elements).data[1999];
    const report = await net.verify([x]);
    const bytes = await net.save({ extraFiles: { 'about.txt': 'made here' } });
    const blob = await net.save({ as: 'blob' });
    const again = await load(new Blob([bytes]), { device: 'webgpu' });
    const after = ((await again.forward(x)) as unknown as Elements).data[1999];
    return {
      before,
      after,
      given: x.data[0],
      report: { passed: report.passed, compared: report.compared },
      sizes: [bytes.length > 8000, blob.size > 8000],
      about: new TextDecoder().decode(again.extraFiles.get('about.txt')),
      device: net.place.device,
      code: await again.code('step'),
    };
  });
  expect(result).toMatchObject({ before: 10, after: 10, given: 1, about: 'made here', device: 'webgpu' });
  expect(result.report.passed).toBe(true);
  expect(result.report.compared).toBeGreaterThan(0);
  expect(result.sizes).toEqual([true, true]);
  expect(result.code).toContain('def step(self,\n    by: float) -> NoneType:');
});

test("the page's address turns the JIT off, and lets it tell what it does", async ({ page }) => {
  const run = async (query: string): Promise<{ graph: string; log: string }> => {
    let log = '';
    page.removeAllListeners('console');
    page.on('console', (message) => message.type() === 'debug' && (log += message.text()));
    await open(page, `authoring.html?${query}`);
    const graph = await page.evaluate(async () => {
      const { script } = globalThis.cresset;
      const unit = await script<'f'>('def g(x):\n    return x * 2.0\n\ndef f(x):\n    return torch.relu(g(x)) + 1.0\n');
      return unit.f.graph({ optimized: true });
    });
    return { graph, log };
  };
  const usual = await run('');
  expect(usual.graph).toContain('prim::FusionGroup');
  expect(usual.log).toBe('');
  const plain = await run('PYTORCH_JIT=0');
  expect(plain.graph).not.toContain('prim::FusionGroup');
  const told = await run('PYTORCH_JIT_LOG_LEVEL=inliner');
  expect(told.log).toContain('[DUMP inliner]');
});

test('results that stay in the worker go from one model to another', async ({ page }) => {
  await open(page);
  const result = await page.evaluate(async () => {
    const { memory, script, tensor } = globalThis.cresset;
    const one = await script('def twice(x):\n    return x * 2, x.sum()\n', { device: 'webgpu' });
    const other = await script('def grow(x):\n    x.add_(1)\n    return torch.cat([x, x])\n', { device: 'webgpu' });
    const x = tensor(Float32Array.from({ length: 2000 }, (_, at) => at));
    const places = { outputs: ['device', 'page'] } as const;
    const [stayed, sum] = (await one.function('twice').run([x], places)) as unknown as [
      Cresset.DeviceTensor,
      Cresset.Tensor,
    ];
    const grown = (await other.function('grow').run([stayed], { outputs: 'device' })) as Cresset.DeviceTensor;
    const { tensors } = await memory();
    const data = Array.from((await grown.data()) as Float32Array).slice(1999, 2002);
    const first = (await stayed.tensor()).data[0];
    stayed.dispose();
    grown.dispose();
    return { shape: grown.shape, data, first, sum: sum.data[0], tensors, left: (await memory()).tensors };
  });
  expect(result).toEqual({ shape: [4000], data: [3999, 1, 3], first: 1, sum: 1999000, tensors: 2, left: 0 });
});
