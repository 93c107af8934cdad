import { BOOLEAN_DISPATCHED, FUNCTIONAL_SOURCES, NN_TEXTS } from '@cresset/frontend';
import { commonRows } from '../families/common.ts';
import { rareRows } from '../families/rare.ts';
import type { PartName } from '../part-table.ts';
import { partByForm, plainName } from '../parts-of.ts';
import { withForms } from '../table/register.ts';
import type { OperatorRow } from '../table/row.ts';

/**
 * The tables from names to parts, part-table.ts and source-part-table.ts, made from the rows: `pnpm docs:operators`. A name is one that
 * stands in a program's text: an operator's without its namespace, and in a Python source that of a module, function or layer of PyTorch too.
 */

/** Operators that have another name in Python. */
const pythonNames: Readonly<Record<string, string>> = {
  logsigmoid: 'log_sigmoid',
  phase: 'angle',
  rect: 'polar',
  _segment_reduce: 'segment_reduce',
  _awaitable: 'awaitable_wait',
  _awaitable_wait: 'awaitable_wait',
  _awaitable_nowait: 'awaitable_nowait',
};

/** Python modules whose operators have the module's name before theirs: `torch.linalg.inv` is `aten::linalg_inv`. */
const modules = ['linalg', 'special', 'fft'];

/** Operators that make complex numbers of real ones; tensors that a program comes with are looked at by themselves. */
const makingComplex = 'complex polar view_as_complex stft istft linalg_eig linalg_eigvals'.split(' ');

/** Names of dtypes, which are ints in saved code. */
const dtypes: Readonly<Record<string, PartName>> = {
  ...named('cfloat cdouble chalf complex32 complex64 complex128', 'complex'),
  ...named('qint8 quint8 qint32 quint4x2 quint2x4', 'quantized'),
};

function named(names: string, part: PartName): Record<string, PartName> {
  return Object.fromEntries(names.split(' ').map((name) => [name, part]));
}

/**
 * The name under which a program's text has an operator. `quantized` and `quantized_decomposed` repeat the names of ordinary operators, so what is looked for is the
 * namespace, without which none of its operators can be called.
 */
function textName(schema: string): string {
  const [namespace, name] = schema.slice(0, schema.search(/[.(]/)).split('::');
  return namespace.startsWith('quantized') ? namespace : plainName(name);
}

/** Names in a TorchScript text that may be those of operators or functions: after a dot, or called. */
export function namesIn(text: string): Set<string> {
  const dotted =
    /\b(linalg|special|fft)\.(\w+)|\.\s*(?!(?:linalg|special|fft)\.)([A-Za-z_]\w*)|\b([A-Za-z_]\w*)(?=\()/g;
  const found = [...text.matchAll(dotted)];
  return new Set(
    found.map(([, module, name, attribute, called]) => (module ? `${module}_${name}` : (attribute ?? called))),
  );
}

/** Each function and class of a text by name, with what is named in it; overloads are one. */
function definitionsIn(text: string): [name: string, mentions: Set<string>][] {
  return text.split(/^(?=(?:def|class) )/m).flatMap((piece) => {
    const name = /^(?:def|class) (\w+?)(?:__\d+)?[(:]/.exec(piece)?.[1];
    if (name === undefined) return [];
    const bases = /^class \w+\(([\w., ]*)\)/.exec(piece)?.[1] ?? '';
    const mentions = namesIn(piece.slice(piece.indexOf('(')));
    for (const [base] of bases.matchAll(/\w+(?=,|$)/g)) mentions.add(base);
    return [[name, mentions]];
  });
}

/** Adds to the parts of each name those of the names it mentions, until nothing is added. */
function close(parts: Parts, mentions: readonly (readonly [string, ReadonlySet<string>])[]): void {
  for (let grows = true; grows;) {
    grows = false;
    for (const [name, mentioned] of mentions) {
      const own = parts.get(name) ?? new Set();
      const before = own.size;
      for (const each of mentioned) {
        for (const form of [each, plainName(each)]) parts.get(form)?.forEach((part) => own.add(part));
      }
      if (own.size > before) {
        parts.set(name, own);
        grows = true;
      }
    }
  }
}

/** Those of layers; what every module has besides is Python's own, and calls no rare operator. */
const layerTexts = Object.entries(NN_TEXTS).flatMap(([file, { text }]) =>
  file === 'module' || file === 'container' ? [] : [text],
);

type Parts = Map<string, Set<PartName>>;

const add = (parts: Parts, name: string, part: PartName): void =>
  void parts.set(name, (parts.get(name) ?? new Set()).add(part));

/** Parts by the names of operators that need them. */
export function partsByOperator(): Parts {
  const parts: Parts = new Map();
  for (const [part, rows] of Object.entries(rareRows) as [PartName, readonly OperatorRow[]][]) {
    for (const { schema } of withForms(rows)) {
      const name = textName(schema);
      add(parts, name, part);
      if (/^_?fft_/.test(name)) add(parts, name, 'complex');
    }
  }
  for (const name of makingComplex) add(parts, name, 'complex');
  const rows = [...commonRows, ...Object.values(rareRows).flat()];
  close(
    parts,
    rows.map(({ schema, decomposition = '' }) => [textName(schema), namesIn(decomposition)] as const),
  );
  return parts;
}

/** Parts by the names that need them in a Python source. */
export function partsBySourceName(): Parts {
  const operators = partsByOperator();
  const parts: Parts = new Map([...operators].map(([name, own]) => [name, new Set(own)]));
  for (const [name, own] of operators) {
    const module = modules.find((prefix) => name.startsWith(`${prefix}_`));
    if (module) for (const part of own) add(parts, module, part);
  }
  for (const [name, part] of Object.entries(dtypes)) add(parts, name, part);
  close(parts, [
    ...Object.entries(pythonNames).map(([python, name]) => [python, new Set([name])] as const),
    ...[...Object.values(FUNCTIONAL_SOURCES), ...layerTexts].flatMap(definitionsIn),
    ...Object.entries(BOOLEAN_DISPATCHED).map(([name, [, , ...forms]]) => {
      const [own, ...mentioned] = [name, ...forms].map((full) => full.slice(full.lastIndexOf('.') + 1));
      return [own, new Set(mentioned)] as const;
    }),
  ]);
  for (const [name, own] of operators) {
    for (const part of own) parts.get(name)!.delete(part);
    if (parts.get(name)!.size === 0) parts.delete(name);
  }
  return parts;
}

/** Names by the parts they need, as an object's text. */
function tableOf(byName: Parts): string {
  const names = new Map<string, string[]>();
  for (const [name, parts] of byName) {
    const key = [...parts].sort().join(' ');
    if (key === partByForm(name)) continue;
    names.set(key, [...(names.get(key) ?? []), name]);
  }
  return [...names]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([parts, own]) => `  '${parts}': '${own.sort().join(' ')}',\n`)
    .join('');
}

/** The text of part-table.ts. */
export function partTable(): string {
  return `/** A part of the library that is fetched when a program names what it brings. */
export type PartName =
${Object.keys(rareRows)
  .sort()
  .map((part) => `  | '${part}'`)
  .join('\n')};

/** Names of operators that need a part, or several together; \`pnpm docs:operators\` writes them. */
// prettier-ignore
export const NAMES: Readonly<Record<string, string>> = {
${tableOf(partsByOperator())}};
`;
}

/** The text of source-part-table.ts. */
export function sourcePartTable(): string {
  return `/** What needs parts in a Python source beside operators; \`pnpm docs:operators\` writes it. */
// prettier-ignore
export const SOURCE_NAMES: Readonly<Record<string, string>> = {
${tableOf(partsBySourceName())}};
`;
}
