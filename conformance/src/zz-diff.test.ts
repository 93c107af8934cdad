import { test } from 'vitest';
import { readFileSync, readdirSync } from 'node:fs';
import { openProgram } from './program.ts';
import { withCanonicalNames, withoutLocations } from './graph-text.ts';
import { writeFileSync } from 'node:fs';
test('d', async () => {
  const dir = '/work/shared/conformance/jit/';
  for (const f of readdirSync(dir).filter((x) => x.endsWith('.jsonl')))
    for (const l of readFileSync(dir + f, 'utf8').split('\n')) {
      if (!l.trim()) continue;
      const d = JSON.parse(l);
      if (!process.env.ONLY!.split(',').some((o) => d.id.endsWith(o))) continue;
      const p = await openProgram(d, null, async (n: string) => new Uint8Array(readFileSync(dir + n)));
      const c = (x: string) => withCanonicalNames(withoutLocations(x));
      writeFileSync('/tmp/fe/got.txt', c(p.graph(d.entry ?? 'forward')));
      writeFileSync('/tmp/fe/raw.txt', p.graph(d.entry ?? 'forward'));
      writeFileSync('/tmp/fe/want.txt', c(d.graph));
      const { spawnSync } = await import('node:child_process');
      console.log(
        d.id,
        d.source ?? '',
        '\n',
        spawnSync('diff', ['/tmp/fe/want.txt', '/tmp/fe/got.txt']).stdout.toString(),
      );
    }
}, 100000);
