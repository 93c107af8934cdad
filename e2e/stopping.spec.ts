import { expect, test, type Page } from '@playwright/test';
import type * as Cresset from 'cresset';
import { pagesAddress } from './addresses.ts';

declare global {
  // The page gives the library this name.
  var cresset: typeof Cresset;
}

const SOURCE = `
def loop(x: Tensor, trips: int):
    print("begun")
    for i in range(trips):
        x = torch.tanh(x @ x + 1)
    return x

def operator(x: Tensor, repeats: int):
    print("begun")
    # Of doubles, so that it is the host's on every device: one operator that takes many minutes.
    return torch.matrix_exp(x.double().repeat(repeats, repeats)).sum()

def hoard(x: Tensor):
    print("begun")
    kept: List[Tensor] = []
    while True:
        kept.append(torch.relu(x) + len(kept))
    return kept
`;

/** A program without any choice: from its second run on all of it is enqueued at once. */
const STRAIGHT = `
def straight(x: Tensor):
${'    x = torch.tanh(x @ x * 0.01 + 1)\n'.repeat(20)}    return x

def short(x: Tensor):
    return torch.tanh(x @ x * 0.01 + 1)
`;

async function open(page: Page): Promise<void> {
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
}

for (const worker of [true, false]) {
  for (const device of ['cpu', 'webgpu'] as const) {
    const place = `in the ${worker ? 'worker' : 'page'}, on ${device}`;

    test(`an abort ends a program that would never end, and the next call is right, ${place}`, async ({ page }) => {
      await open(page);
      const result = await page.evaluate(
        async ([source, options]) => {
          const { script, tensor, CressetError } = globalThis.cresset;
          const unit = await script<'loop' | 'operator'>(source, options);
          const x = tensor(new Float32Array(16).fill(0.1), { shape: [4, 4] });
          /** Begins a call, aborts it when the program says that it has begun, and tells what it was rejected with. */
          const abortedCall = async (name: 'loop' | 'operator', count: number): Promise<unknown[]> => {
            const controller = new AbortController();
            const { log } = console;
            console.log = (text: string) => {
              if (!String(text).includes('begun')) return log(text);
              console.log = log;
              setTimeout(() => controller.abort(), 50);
            };
            const outcome = unit[name].run([x, count], { signal: controller.signal });
            const error: unknown = await outcome.catch((thrown: unknown) => thrown);
            return error instanceof CressetError ? [error.name, error.code] : [String(error)];
          };
          const numbers = async (): Promise<unknown> => ((await unit.loop(x, 2)) as Cresset.Tensor).tolist();
          const want = await numbers();
          const aborted = [];
          // The call after it waits for the one that was aborted: it comes to an end, or this does not.
          for (const [name, count] of [
            ['loop', 2 ** 40],
            ['operator', 500],
          ] as const) {
            aborted.push([await abortedCall(name, count), JSON.stringify(await numbers()) === JSON.stringify(want)]);
          }
          const small = Number(((await unit.operator(x, 1)) as Cresset.Tensor).data[0]);
          await unit.dispose();
          return { aborted, small };
        },
        [SOURCE, { worker, device }] as const,
      );
      expect(result.aborted).toEqual([
        [['AbortError', 'ABORTED'], true],
        [['AbortError', 'ABORTED'], true],
      ]);
      // e^A of a matrix of 0.1 throughout is I + (e^0.4 - 1)/4 throughout.
      expect(result.small).toBeCloseTo(4 + 4 * (Math.exp(0.4) - 1), 6);
    });

    test(`an abort ends what was enqueued at once, and the next call is right, ${place}`, async ({ page }) => {
      await open(page);
      const { times, code, isRight } = await page.evaluate(
        async ([source, options]) => {
          const { script, tensor, CressetError } = globalThis.cresset;
          const unit = await script<'straight' | 'short'>(source, options);
          const side = options.device === 'cpu' ? 1024 : 640;
          const data = Float32Array.from({ length: side * side }, (_, at) => ((at * 37) % 101) / 101);
          const x = tensor(data, { shape: [side, side] });
          const small = tensor(data.slice(0, 16), { shape: [4, 4] });
          const numbers = async (): Promise<string> =>
            JSON.stringify(((await unit.short(small)) as Cresset.Tensor).tolist());
          const want = await numbers();
          const whole: number[] = [];
          for (let run = 0; run < 3; run++) {
            const start = performance.now();
            await unit.straight(x);
            whole.push(performance.now() - start);
          }
          const controller = new AbortController();
          const outcome = unit.straight.run([x], { signal: controller.signal }).catch((thrown: unknown) => thrown);
          await new Promise((resolve) => setTimeout(resolve, whole[2] / 10));
          const aborted = performance.now();
          controller.abort();
          const error = await outcome;
          const answered = performance.now() - aborted;
          const isRight = (await numbers()) === want;
          await unit.dispose();
          const code = error instanceof CressetError ? error.code : String(error);
          return { times: { whole: whole[2], answered }, code, isRight };
        },
        [STRAIGHT, { worker, device }] as const,
      );
      expect([code, isRight]).toEqual(['ABORTED', true]);
      // Whatever else the machine does meanwhile, it does in both.
      expect(times.answered).toBeLessThan(times.whole / 3);
    });

    test(`a limit to memory ends a program that keeps everything, and the next call is right, ${place}`, async ({
      page,
    }) => {
      await open(page);
      const result = await page.evaluate(
        async ([source, options]) => {
          const { script, tensor, CressetError } = globalThis.cresset;
          const unit = await script<'loop' | 'hoard'>(source, { ...options, memoryLimit: 1 << 20 });
          const x = tensor(new Float32Array(4096).fill(0.01), { shape: [64, 64] });
          const failures = [];
          for (let run = 0; run < 3; run++) {
            const error: unknown = await unit.hoard(x).catch((thrown: unknown) => thrown);
            failures.push(error instanceof CressetError ? [error.code, error.message] : [String(error)]);
          }
          const y = (await unit.loop(x, 1)) as Cresset.Tensor;
          await unit.dispose();
          return { failures, value: Number(y.data[0]) };
        },
        [SOURCE, { worker, device }] as const,
      );
      for (const [code, message] of result.failures) {
        expect(code).toBe('MEMORY_LIMIT');
        expect(message).toMatch(/kept\.append\(.*~ <--- HERE/s);
        expect(message).toContain('the limit is 1048576 bytes');
      }
      expect(result.value).toBeCloseTo(Math.tanh(64 * 0.01 * 0.01 + 1), 5);
    });
  }
}
