import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shutdown, trace, traceModule } from '../index.ts';
import { casesIn, decoded, expectAlike, failure, numbered, plain, type Encoded } from '../page/python-cases-fixture.ts';
import type { MethodInputs } from './recording.ts';
import {
  callInput,
  inputOf,
  programOf,
  recordedGraphs,
  traceNames,
  tracingFolder,
  type EncodedInput,
} from './traces-fixture.ts';

interface Case {
  readonly id: string;
  readonly javascript: string;
  readonly options: Readonly<Record<string, Encoded>>;
  readonly inputs: EncodedInput;
  readonly check?: readonly EncodedInput[];
  /** Whether several methods are traced, each with inputs of its own. */
  readonly isMethods?: boolean;
  readonly warnings: readonly string[];
  readonly refused?: string;
  readonly graphs?: Readonly<Record<string, string>>;
  readonly run?: EncodedInput;
  readonly result?: Encoded;
}

const cases = casesIn<Case>(new URL('cases.jsonl', tracingFolder));

/** PyTorch's names of options, here. */
const OPTIONS: Readonly<Record<string, string>> = {
  strict: 'strict',
  check_trace: 'checkTrace',
  check_tolerance: 'checkTolerance',
  _force_outplace: 'forceOutplace',
};

/** Graphs as they are compared: a traced function has no self. */
const comparedGraphs = (graphs: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(graphs).map(([name, graph]) => [
      name,
      numbered(graph.replace(/graph\(%\w+ : __torch__\.PlaceholderModule(,\n\s*)?/, 'graph(')),
    ]),
  );

describe('traces', { timeout: 60_000 }, () => {
  let names: Readonly<Record<string, unknown>>;

  beforeAll(async () => {
    names = await traceNames();
  });

  afterAll(() => shutdown());

  it.each(cases.map((each) => [each.id, each] as const))('are what PyTorch records: %s', async (_id, each) => {
    const warnings: string[] = [];
    const options = {
      ...Object.fromEntries(Object.entries(each.options).map(([name, value]) => [OPTIONS[name]!, decoded(value)])),
      ...(each.check && { checkInputs: each.check.map(inputOf) }),
      warn: (message: string) => void warnings.push(message),
      device: 'cpu',
      worker: false,
    } as const;
    // A program may count how often it is run.
    const make = (): ReturnType<typeof programOf> => programOf(each.javascript, names);
    const inputs = inputOf(each.inputs);
    const tracing = each.isMethods
      ? traceModule(make() as object, inputs as Record<string, unknown>, options)
      : trace(make(), inputs, options);
    if (each.refused !== undefined) {
      expect(withoutTraceback((await failure(tracing)).trim())).toBe(each.refused);
      expect(warnings).toEqual(each.warnings);
      return;
    }
    const model = await tracing;
    expect(warnings).toEqual(each.warnings);
    const asList = (given: unknown): readonly unknown[] => (Array.isArray(given) ? given : [given]);
    const methods: MethodInputs = each.isMethods
      ? Object.fromEntries(Object.entries(inputs as object).map(([name, given]) => [name, asList(given)]))
      : { forward: asList(inputs) };
    const graphs = await recordedGraphs(make(), methods, options);
    expect(comparedGraphs(graphs)).toEqual(comparedGraphs(each.graphs!));
    const given = (inputOf(each.run!) as readonly unknown[]).map(callInput);
    expectAlike(plain(await model.call('forward', given)), plain(decoded(toItems(each.result!))));
    await model.dispose();
  });
});

/** Where a program failed that was traced is told in its own lines. */
const withoutTraceback = (message: string): string =>
  message.replace(/\tTraceback of TorchScript[^]*?(?=\tRuntimeError)/, '');

/** Results are compared without telling lists from tuples. */
function toItems(value: EncodedInput): Encoded {
  if (value === null || typeof value !== 'object') return value;
  if ('list' in value) return { items: value.list.map(toItems) };
  if ('items' in value) return { items: value.items.map(toItems) };
  if ('entries' in value)
    return { entries: value.entries.map(([key, each]) => [key as string, toItems(each as EncodedInput)] as const) };
  return value;
}
