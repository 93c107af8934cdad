import { CressetError } from '@cresset/ir';
import type { OperatorOutcome, OperatorRun, WireGlobal } from '@cresset/runtime';
import type { CompilationUnit } from './compilation-unit.ts';
import { outsideFunctions } from './outside-functions.ts';
import {
  memberKey,
  PythonExpression,
  type GlobalValue,
  type Globals,
  type IgnoredFunction,
  type Member,
} from './global-values.ts';
import type { LoadedFile } from './loaded-file.ts';
import { loadedFile, openFile, ScriptModule } from './script-module.ts';
import { parameterNames } from './parameter-names.ts';
import { fromWire, inMessages, WireArguments, type Input } from './values/value.ts';

const IDENTIFIER = /^[A-Za-z_]\w*$/;

/** What a program is given by name, for a message. What it shares with other programs lives as long as it does. */
export function wireGlobals(globals: Globals, file: LoadedFile): Promise<(readonly [string, WireGlobal])[]> {
  return Promise.all(
    Object.entries(globals).map(async ([name, value]) => {
      if (!IDENTIFIER.test(name)) throw new CressetError('NAME', `'${name}' cannot be a name in Python`);
      return [name, await wireGlobal(name, value, file)] as const;
    }),
  );
}

async function wireGlobal(name: string, value: GlobalValue, file: LoadedFile): Promise<WireGlobal> {
  if (value instanceof PythonExpression) return { kind: 'expression', text: value.text };
  if (value instanceof ScriptModule) {
    const { path } = value[inMessages];
    return { kind: 'module', model: use(value[loadedFile], file), path };
  }
  if (typeof value === 'function') {
    const member = (value as { readonly [memberKey]?: Member })[memberKey];
    if (member !== undefined) return { kind: 'member', model: use(member.file, file), name: member.name };
    const fn = value as IgnoredFunction;
    return { kind: 'outside', signature: signatureOf(fn), operator: keepFunction(name, fn, file) };
  }
  if (isUnit(value)) return { kind: 'unit', model: use(await value[openFile](), file) };
  const values = new WireArguments();
  const members = enumMembers(value);
  if (members === undefined) return { kind: 'value', value: values.value(value) };
  return { kind: 'enum', members: members.map(([member, each]) => [member, values.value(each)] as const) };
}

function isUnit(value: GlobalValue): value is CompilationUnit {
  return typeof value === 'object' && value !== null && openFile in value;
}

/** The number of a program that another one uses, which lives as long from then on. */
function use(used: LoadedFile, file: LoadedFile): number {
  if (used.placement !== file.placement) {
    throw new CressetError('ARGUMENT', 'a program uses only what runs in its own thread: give both the same `worker`');
  }
  file.used.push(used);
  return used.id;
}

/** The members of an enum: a plain object of numbers, or of texts, by name. TypeScript's own have the way back beside them. */
function enumMembers(value: Input): (readonly [name: string, value: number | string])[] | undefined {
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype)
    return undefined;
  const entries = Object.entries(value as object).filter(([name]) => !/^-?\d+(\.\d+)?$/.test(name));
  const isEnum =
    entries.length > 0 &&
    entries.every(([name]) => IDENTIFIER.test(name)) &&
    ['number', 'string'].some((type) => entries.every(([, each]) => typeof each === type));
  const isComplex = entries.length === 2 && 're' in value && 'im' in value;
  return isEnum && !isComplex ? (entries as (readonly [string, number | string])[]) : undefined;
}

/** The signature in Python: that which was given, or tensors for all parameters, as PyTorch takes functions without annotations. */
function signatureOf(fn: IgnoredFunction): string {
  if (fn.signature !== undefined) return fn.signature;
  const names = parameterNames(fn);
  return `(${Array.from({ length: fn.length }, (_, at) => names[at] || `argument_${at}`).join(', ')})`;
}

/** Functions of programs that are gone are forgotten. */
const forgotten = new FinalizationRegistry<string>((operator) => outsideFunctions.delete(operator));
let functions = 0;

function keepFunction(name: string, fn: IgnoredFunction, file: LoadedFile): string {
  const operator = `${name}#${++functions}`;
  outsideFunctions.set(operator, { run: (call) => run(name, fn, call) });
  forgotten.register(file, operator);
  return operator;
}

async function run(name: string, fn: IgnoredFunction, { args }: OperatorRun): Promise<OperatorOutcome> {
  try {
    const result = await fn(...args.map((each) => fromWire(each)));
    return { values: [new WireArguments().value(result ?? null)], written: [] };
  } catch (cause) {
    const message = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    throw cause instanceof CressetError ? cause : new CressetError('IGNORED_FUNCTION', message, { cause });
  }
}
