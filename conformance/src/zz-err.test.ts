import { test } from 'vitest';
import { readFileSync, readdirSync } from 'node:fs';
import { openProgram } from './program.ts';
test('d', async () => {
  const dir = '/work/shared/conformance/jit/';
  for (const f of readdirSync(dir).filter((x) => x.endsWith('.jsonl')))
    for (const l of readFileSync(dir + f, 'utf8').split('\n')) {
      if (!l.trim()) continue;
      const d = JSON.parse(l);
      if (!process.env.ONLY!.split(',').some((o) => d.id.endsWith(o))) continue;
      try {
        const p = await openProgram(d, null, async (n: string) => new Uint8Array(readFileSync(dir + n)));
        console.log(d.id, d.source, p.graph(d.entry ?? 'forward'), JSON.stringify(d.calls).slice(0, 1500));
      } catch (e: any) {
        console.log(d.id, d.source, d.compile_error, 'GOT', e.message.slice(0, 1500));
      }
    }
}, 100000);
