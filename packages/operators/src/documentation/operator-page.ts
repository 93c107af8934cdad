import { isComplex, type ScalarType } from '@cresset/tensor';
import { boxingOf } from '../table/boxing.ts';
import { takesComplex } from '../families/complex/complex-lowering.ts';
import { refusalOf } from '../dispatch/dtype-refusals.ts';
import { rareRows } from '../families/rare.ts';
import { hostReasons } from './host-reasons.ts';
import { computingTypes, TensorElement } from '../kernels/loops/pointwise.ts';
import { allRows, registerAllOperators } from '../register-all.ts';
import { withForms } from '../table/register.ts';
import { derivativesOf } from '../derivatives/index.ts';
import type { OperatorRow } from '../table/row.ts';

/** The page of documentation that lists all operators, made from the table itself: `pnpm docs:operators`. */

// What dtypes a family refuses is known once its part is there.
registerAllOperators();

/** Dtypes that go together, by the letter they have on the page. */
const dtypeClasses: Readonly<Record<string, readonly ScalarType[]>> = {
  f: ['float32', 'float64'],
  h: ['float16', 'bfloat16'],
  i: ['uint8', 'int8', 'int16', 'int32', 'int64'],
  b: ['bool'],
  c: ['complex64', 'complex128'],
};

/** Where an operator computes, and for which dtypes; `any` where it looks at no element. */
interface Support {
  readonly host: string;
  readonly device: string;
  readonly isDecomposed: boolean;
  readonly hasGradient: boolean;
}

/** All overloads and forms of an operator. */
interface Entry {
  readonly name: string;
  readonly rows: OperatorRow[];
}

/** Whether a rule throws for these arguments. */
function accepts(rule: () => unknown): boolean {
  try {
    rule();
    return true;
  } catch {
    return false;
  }
}

/** A pointwise row's arguments with tensors of one dtype and numbers that any dtype can hold. */
function sampleArguments(row: OperatorRow, dtype: ScalarType): Record<string, unknown> {
  const element = new TensorElement({ kind: 'const', type: 'float', value: 1 }, dtype, 'dimensioned');
  const sampleOf = (type: string): unknown => {
    if (type.startsWith('Tensor')) return element;
    if (type === 'Scalar') return 1n;
    return type === 'int' || type === 'float' ? 1 : null;
  };
  return Object.fromEntries(boxingOf(row).signature.args.map(({ name, type }) => [name, sampleOf(type)]));
}

function computesOnHost(row: OperatorRow, dtype: ScalarType): boolean {
  if (refusalOf(row, dtype)) return false;
  if (row.pointwise) return accepts(() => computingTypes(row, sampleArguments(row, dtype)));
  if (row.reduction) return !isComplex(dtype) || row.reduction.complex !== undefined;
  return row.host !== undefined;
}

function computesOnDevice(row: OperatorRow, dtype: ScalarType): boolean {
  const hasKernel = Boolean(row.lower ?? row.device ?? row.pointwise?.body ?? row.reduction);
  if (!hasKernel || !computesOnHost(row, dtype)) return false;
  // What is taken may hang on sizes too, which nobody has here: what asks for them does not count.
  return !isComplex(dtype) || (accepts(() => takesComplex(row, {})) && takesComplex(row, {}));
}

const classesWhere = (takes: (dtype: ScalarType) => boolean): string =>
  Object.entries(dtypeClasses)
    .filter(([, dtypes]) => dtypes.every(takes))
    .map(([letter]) => letter)
    .join('');

const looksAtNoElement = ({ scalar, view, readsNoData, host }: OperatorRow): boolean =>
  Boolean(scalar ?? readsNoData) || (view !== undefined && host === undefined);

function supportOf(rows: readonly OperatorRow[]): Support {
  const own = rows.filter(({ derived }) => !derived);
  const union = (takes: (row: OperatorRow, dtype: ScalarType) => boolean): string =>
    own.every(looksAtNoElement)
      ? 'any'
      : classesWhere((dtype) => own.some((row) => !row.decomposition && !looksAtNoElement(row) && takes(row, dtype)));
  return {
    host: union(computesOnHost),
    device: union(computesOnDevice),
    isDecomposed: own.some(({ decomposition }) => decomposition !== undefined),
    hasGradient: own.map((row) => boxingOf(row).signature).some(({ name, overload }) => derivativesOf(name, overload)),
  };
}

/** Rows by operator: in-place and `out=` forms stand with the operator they are derived from. */
function entriesOf(rows: readonly OperatorRow[]): Entry[] {
  const entries = new Map<string, Entry>();
  for (const row of rows) {
    const { name } = boxingOf(row.derived?.from ?? row).signature;
    const entry = entries.get(name);
    if (entry) entry.rows.push(row);
    else entries.set(name, { name, rows: [row] });
  }
  return [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const mark = (holds: boolean): string => (holds ? 'yes' : '');

function lineOf({ name, rows }: Entry, { host, device, isDecomposed, hasGradient }: Support, part: string): string {
  const forms = [
    rows.some(({ derived }) => derived?.form === 'in-place') ? '`_`' : '',
    rows.some(({ derived }) => derived?.form === 'out') ? '`out`' : '',
  ].filter(Boolean);
  const cells = [
    `\`${name}\``,
    `${rows.filter(({ derived }) => !derived).length}`,
    forms.join(' '),
    host,
    device,
    mark(isDecomposed),
    mark(hasGradient),
    part,
  ];
  return `| ${cells.join(' | ')} |`;
}

const isHostOnly = ({ host, device }: Support): boolean => host !== '' && host !== 'any' && device === '';

/** Operators with a kernel on the host and none on WebGPU, without their namespace. */
export function hostOnlyOperators(): string[] {
  return entriesOf(allRows())
    .filter(({ name, rows }) => name.startsWith('aten::') && isHostOnly(supportOf(rows)))
    .map(({ name }) => name.slice('aten::'.length));
}

/** The text of docs/operators.md. */
export function operatorPage(): string {
  const rows = allRows();
  const entries = entriesOf(rows);
  const partOf = new Map(
    Object.entries(rareRows).flatMap(([part, own]) => withForms(own).map(({ schema }) => [schema, part] as const)),
  );
  const supports = entries.map((entry) => supportOf(entry.rows));
  const count = (holds: (support: Support) => boolean): number => supports.filter(holds).length;
  const partsOf = ({ rows: own }: Entry): string =>
    [...new Set(own.map(({ schema }) => partOf.get(schema) ?? ''))].filter(Boolean).join(' ');
  const byClass = Object.entries(dtypeClasses).map(([letter, dtypes]) => {
    const taking = (place: 'host' | 'device'): number =>
      count((support) => support[place].includes(letter) && support[place] !== 'any');
    return `| \`${letter}\` | ${dtypes.join(', ')} | ${taking('host')} | ${taking('device')} |`;
  });
  return `# Operators

<!-- Written by \`pnpm docs:operators\` from the table of rows in packages/operators; a test compares the two. -->

${entries.length} operators with ${rows.length} overloads, in-place and \`out=\` forms counted.

| What | Operators |
| --- | ---: |
| with a kernel on the host | ${count(({ host }) => host !== '' && host !== 'any')} |
| with a kernel on WebGPU | ${count(({ device }) => device !== '' && device !== 'any')} |
| that look at no element: views, sizes, numbers, strings, lists | ${count(({ host }) => host === 'any')} |
| said in terms of others, in TorchScript | ${count(({ isDecomposed }) => isDecomposed)} |
| with a gradient | ${count(({ hasGradient }) => hasGradient)} |
| that are always there | ${entries.filter((entry) => !partsOf(entry)).length} |
| that come with a part of the library | ${entries.filter(partsOf).length} |

Kernels by dtype:

| Letter | Dtypes | Host | WebGPU |
| --- | --- | ---: | ---: |
${byClass.join('\n')}

On WebGPU float64 is computed as float32, and what a kernel there does not take runs on the host. Where a column names no
dtype, the operator runs there through those it is said in terms of, or not at all. An operator may still refuse a
combination of arguments, in PyTorch's words.

Why operators stay on the host:

| Reason | Operators |
| --- | --- |
${hostReasons.map(([reason, names]) => `| ${reason} | ${names.replaceAll(/\S+/g, '`$&`')} |`).join('\n')}

| Operator | Overloads | Forms | Host | WebGPU | Decomposed | Gradient | Part |
| --- | ---: | --- | --- | --- | --- | --- | --- |
${entries.map((entry, at) => lineOf(entry, supports[at], partsOf(entry))).join('\n')}
`;
}
