import { readFileSync } from 'node:fs';
import { registerAllOperators } from '@cresset/operators';
import type { GraphFunction } from '@cresset/ir';
import { ScriptObject } from '@cresset/tensor';
import * as page from '../index.ts';
import { decoded, type Encoded } from '../page/python-cases-fixture.ts';
import { loadedFile } from '../page/script-module.ts';
import { withTrace, type TraceOptions } from '../page/trace.ts';
import { inMessages } from '../page/values/value.ts';
import { register, ScriptedCallees, TraceRecorder, type MethodInputs, type TraceableFunction } from './recording.ts';
import type { TraceableModule } from './traced-module.ts';

register();
registerAllOperators();

/** Where the cases are that PyTorch made of programs that are written in Python and in JavaScript. */
export const tracingFolder = new URL('../../../../conformance/tracing/', import.meta.url);

/** An input: lists are told from tuples. */
export type EncodedInput =
  | Encoded
  | { readonly list: readonly EncodedInput[] }
  | { readonly items: readonly EncodedInput[] }
  | { readonly entries: readonly (readonly [string, EncodedInput])[] };

/** An example input as a trace takes it. */
export function inputOf(value: EncodedInput): unknown {
  if (value === null || typeof value !== 'object') return value;
  if ('list' in value) return new page.TensorList(value.list.map(inputOf) as page.Tensor[]);
  if ('items' in value) return value.items.map(inputOf);
  if ('entries' in value) {
    return Object.fromEntries(
      (value.entries as readonly [string, EncodedInput][]).map(([key, each]) => [key, inputOf(each)]),
    );
  }
  return decoded(value);
}

/** An input as a traced program takes it. */
export function callInput(value: unknown): page.Input {
  return value instanceof page.TensorList ? (value.items as page.Input[]) : (value as page.Input);
}

/** What programs find by name besides their own: what `library.py` defines. */
export async function traceNames(): Promise<Readonly<Record<string, unknown>>> {
  const unit = await page.script(readFileSync(new URL('library.py', tracingFolder), 'utf8'), {
    device: 'cpu',
    worker: false,
  });
  const functions = Object.fromEntries(unit.functions.map((name) => [name, unit.function(name)]));
  const { tensor, TensorList, torch } = page;
  const [halve, plain] = [await unit.construct('Halve'), await unit.construct('Plain')];
  return { ...functions, halve, plain, tensor, TensorList, torch };
}

/** The program of a case, which is JavaScript. */
export function programOf(
  source: string,
  names: Readonly<Record<string, unknown>>,
): TraceableFunction | TraceableModule {
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval
  return new Function(...Object.keys(names), `return (${source}\n);`)(...Object.values(names)) as TraceableFunction;
}

/** The graphs that a trace records, by the paths of modules and the names of their methods. */
export async function recordedGraphs(
  program: TraceableFunction | TraceableModule,
  inputs: MethodInputs,
  options: TraceOptions,
): Promise<Readonly<Record<string, string>>> {
  const callees = new ScriptedCallees();
  for (const each of typeof program === 'object' ? Object.values(program) : []) {
    if (each instanceof page.ScriptModule) {
      await callees.fetch({ file: each[loadedFile], module: each[inMessages].path, name: 'forward' });
    }
  }
  const recorder = new TraceRecorder(program, { ...options, warn: () => undefined }, withTrace, callees);
  const { module } = await callees.whole(() => recorder.record(inputs));
  const graphs: Record<string, string> = {};
  const seen = new Set<ScriptObject>();
  const visit = (object: ScriptObject, path: string): void => {
    if (seen.has(object)) return;
    seen.add(object);
    const { type, slots } = object;
    for (const { name, graph } of type.methods as readonly GraphFunction[]) graphs[path + name] = `${graph}`;
    type.attributes.forEach(({ name }, slot) => {
      const below = slots[slot];
      if (below instanceof ScriptObject && isTracedClass(below)) visit(below, `${path}${name}.`);
    });
  };
  visit(module, '');
  return graphs;
}

/** Whether a module was traced, and not scripted before. */
const isTracedClass = ({ type }: ScriptObject): boolean => !/Halve|Plain/.test(type.qualifiedName);
