import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { script, type Tensor } from '../index.ts';
import { casesIn, decoded, expectAlike, failure, plain, trimmed, type Encoded } from './python-cases-fixture.ts';

const folder = new URL('../../../../conformance/python/', import.meta.url);

interface Call {
  readonly method: string;
  readonly args: readonly Encoded[];
  readonly kwargs: Readonly<Record<string, Encoded>>;
  readonly result?: Encoded;
  readonly raises?: string;
}

interface Case {
  readonly id: string;
  readonly source?: string;
  /** A file that holds the source. */
  readonly file?: string;
  readonly make: readonly [name: string, args: readonly Encoded[], kwargs: Readonly<Record<string, Encoded>>];
  readonly refused?: string;
  readonly state?: Readonly<Record<string, Encoded>>;
  readonly parameters?: readonly (readonly [name: string, shape: readonly number[]])[];
  readonly calls?: readonly Call[];
}

const cases = casesIn<Case>(new URL('cases.jsonl', folder));
const cpu = { device: 'cpu' } as const;

describe('modules in source are what PyTorch makes of them', { timeout: 60_000 }, () => {
  it.each(cases.map((each) => [each.id, each] as const))('%s', async (_id, each) => {
    const source = each.source ?? readFileSync(new URL(each.file!, folder), 'utf8');
    const [name, args, kwargs] = each.make;
    const unit = await script(source, cpu);
    const making = unit.construct(name, args.map(decoded), {
      kwargs: Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, decoded(value)])),
    });
    if (each.refused !== undefined) {
      const message = trimmed(await failure(making));
      const wanted = trimmed(each.refused);
      expect(message.slice(0, wanted.length)).toBe(wanted);
      return;
    }
    const module = await making;
    const parameters = module.namedParameters().map(({ name: path, shape }) => [path, [...shape]]);
    expect(parameters).toEqual(each.parameters);
    if (each.state !== undefined) {
      const state = Object.entries(each.state).map(([key, value]) => [key, decoded(value) as Tensor] as const);
      await module.loadStateDict(Object.fromEntries(state));
      await module.eval();
    }
    for (const call of each.calls!) {
      const options = {
        kwargs: Object.fromEntries(Object.entries(call.kwargs).map(([key, value]) => [key, decoded(value)])),
      };
      const running = module.call(call.method, call.args.map(decoded), options);
      if (call.raises === undefined) expectAlike(plain(await running), plain(decoded(call.result!)));
      else expect(await failure(running)).toContain(call.raises.replace(/^(builtins\.)?\w+: /, ''));
    }
    await unit.dispose();
  });
});
