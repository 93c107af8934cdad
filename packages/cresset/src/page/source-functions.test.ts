import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { script } from '../index.ts';
import { casesIn, decoded, expectAlike, failure, plain, trimmed, type Encoded } from './python-cases-fixture.ts';

const folder = new URL('../../../../conformance/python/', import.meta.url);

interface Case {
  readonly id: string;
  readonly source: string;
  readonly refused?: string;
  readonly calls?: readonly {
    readonly method: string;
    readonly args: readonly Encoded[];
    readonly kwargs: Readonly<Record<string, Encoded>>;
    readonly result?: Encoded;
    readonly raises?: string;
  }[];
}

const prelude = readFileSync(new URL('functions/prelude.py', folder), 'utf8');
const cases = casesIn<Case>(new URL('function-cases.jsonl', folder));

/** What is told of a place is compared by the line alone: Python's tree and our own parser mark other parts of one. */
const withoutCarets = (message: string): string =>
  trimmed(message.replace(/^ *~[~ ]*( <--- HERE)?$/gm, '').replace(/\s+/g, ' '));

describe('functions in source are what PyTorch makes of them', { timeout: 60_000 }, () => {
  it.each(cases.map((each) => [each.id, each] as const))('%s', async (_id, each) => {
    vi.spyOn(console, 'log').mockReturnValue();
    vi.spyOn(console, 'warn').mockReturnValue();
    const compiling = script(prelude + each.source, { device: 'cpu' });
    if (each.refused !== undefined) {
      const wanted = withoutCarets(each.refused.split('\n  File ')[0]!);
      expect(withoutCarets(await failure(compiling))).toContain(wanted);
      return;
    }
    const unit = await compiling;
    for (const { method, args, kwargs, result, raises } of each.calls!) {
      const named = Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, decoded(value)]));
      const running = unit.function(method).run(args.map(decoded), { kwargs: named });
      if (raises === undefined) expectAlike(plain(await running), plain(decoded(result!)));
      else expect(await failure(running)).toContain(raises.replace(/^(builtins\.)?\w+: /, ''));
    }
    await unit.dispose();
  });
});
