import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script, shutdown, type GlobalValue } from '../index.ts';
import { givenValue, globalsFolder, namedGlobals, type Given } from './globals-fixture.ts';
import { decoded, expectAlike, failure, plain, trimmed, type Encoded } from './python-cases-fixture.ts';

interface Case {
  readonly id: string;
  readonly source: string;
  readonly given: readonly (readonly [name: string, given: Given])[];
  readonly make?: readonly [name: string, args: readonly Encoded[]];
  readonly function?: string;
  readonly graph?: string;
  readonly code?: string;
  readonly refused?: string;
  readonly calls: readonly {
    readonly method: string;
    readonly args: readonly Encoded[];
    readonly result?: Encoded;
    readonly raises?: string;
  }[];
  readonly saved?: boolean;
  readonly unsaved?: string;
}

const cases = readFileSync(new URL('cases.jsonl', globalsFolder), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);

const cpu = { device: 'cpu', worker: false } as const;

/** Values numbered in order of appearance. */
function numbered(graph: string): string {
  const names = new Map<string, number>();
  return graph
    .replaceAll(/%[\w.]+/g, (name) => `%${names.get(name) ?? names.set(name, names.size).get(name)!}`)
    .replaceAll(/___torch_mangle_\d+\./g, '')
    .trim();
}

describe('names that a program is given', { timeout: 60_000 }, () => {
  let named: ReadonlyMap<string, GlobalValue>;

  beforeAll(async () => {
    ({ named } = await namedGlobals());
  });

  afterAll(() => shutdown());

  it.each(cases.map((each) => [each.id, each] as const))('are what PyTorch takes them for: %s', async (_id, each) => {
    const globals = Object.fromEntries(each.given.map(([name, given]) => [name, givenValue(given, named)]));
    const compiling = script(each.source, { ...cpu, globals });
    const making = each.make
      ? compiling.then((unit) => unit.construct(each.make![0], each.make![1].map(decoded)))
      : compiling;
    if (each.refused !== undefined) {
      const wanted = trimmed(each.refused);
      expect(trimmed(await failure(making)).slice(0, wanted.length)).toBe(wanted);
      return;
    }
    const unit = await compiling;
    const module = each.make ? ((await making) as Awaited<ReturnType<typeof unit.construct>>) : null;
    expect(numbered(module ? await module.graph() : await unit.function(each.function!).graph())).toBe(
      numbered(each.graph!),
    );
    if (each.code !== undefined)
      expect((module ? await module.code('forward') : await unit.function(each.function!).code()).trim()).toBe(
        each.code,
      );
    for (const call of each.calls) {
      const args = call.args.map(decoded);
      const running = module ? module.call(call.method, args) : unit.function(call.method)(...args);
      if (call.raises === undefined) expectAlike(plain(await running), plain(decoded(call.result!)));
      else expect(await failure(running)).toContain(call.raises.replace(/^(\w+: )+/, ''));
    }
    const saving = (): Promise<unknown> => (module ? module.save() : unit.function(each.function!).save());
    if (each.saved) expect(await saving()).toBeInstanceOf(Uint8Array);
    if (each.unsaved !== undefined) expect(trimmed(await failure(saving()))).toContain(trimmed(each.unsaved));
    await unit.dispose();
  });
});
