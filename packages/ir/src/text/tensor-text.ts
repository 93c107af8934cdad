import type { Complex } from '../complex.ts';
import { formatSignificant } from './literal-format.ts';
import { printScalarTensor } from './printer.ts';
import { type ScalarTypeName, scalarTypeIrName } from '../types/scalar-type.ts';

/** Tensors of more elements stand as `<Tensor>` in graphs. */
const MAX_SHOWN_ELEMENTS = 10;

const LINE_WIDTH = 80;

/**
 * A tensor as graphs show it: `{3}` for one element, ` 1  2 [ CPULongType{2} ]` for up to ten, `<Tensor>` for more (PyTorch:
 * printAttribute, at::print). For {@link TensorAttribute.graphText}.
 *
 * @param elements all elements in C order; asked for only where they are shown
 */
export function formatTensorText(
  dtype: ScalarTypeName,
  sizes: readonly number[],
  elements: () => ArrayLike<number | bigint | boolean | Complex>,
): string {
  const numel = sizes.reduce((product, size) => product * size, 1);
  if (numel > MAX_SHOWN_ELEMENTS) {
    return '<Tensor>';
  }
  const values = Array.from(elements());
  if (numel === 1) {
    return printScalarTensor(values[0]);
  }
  // Of complex elements PyTorch shows the real part alone.
  const numbers = values.map((value) => Number(typeof value === 'object' ? value.re : value));
  const type = `[ CPU${scalarTypeIrName(dtype)}Type{${sizes.join(',')}} ]`;
  return numel === 0 ? type : `${rowsText(sizes, numbers)}${type}`.replaceAll('\n', ' ');
}

function rowsText(sizes: readonly number[], values: readonly number[]): string {
  if (sizes.length === 1) {
    const { scale, print } = formatOf(values);
    return scaleText(scale) + values.map((value) => `${print(value)}\n`).join('');
  }
  const [rows, columns] = sizes.slice(-2);
  if (sizes.length === 2) {
    return matrixText(values, columns, 0);
  }
  const outer = sizes.slice(0, -2);
  const count = outer.reduce((product, size) => product * size, 1);
  const matrices = Array.from({ length: count }, (_, number) => {
    // The first index runs fastest.
    const index = outer.map((size, dim) => Math.floor(number / outer.slice(0, dim).reduce((a, b) => a * b, 1)) % size);
    const offset = index.reduce((at, part, dim) => at * outer[dim] + part, 0) * rows * columns;
    const matrix = values.slice(offset, offset + rows * columns);
    return `(${index.map((part) => `${part + 1},`).join('')}.,.) =\n${matrixText(matrix, columns, 1)}`;
  });
  return matrices.join('\n');
}

function matrixText(values: readonly number[], columns: number, indent: number): string {
  const { scale, width, print } = formatOf(values);
  const margin = ' '.repeat(indent);
  const perLine = Math.floor((LINE_WIDTH - indent) / (width + 1));
  const rows = Array.from({ length: values.length / columns }, (_, row) =>
    values.slice(row * columns, (row + 1) * columns),
  );
  let out = margin;
  for (let first = 0; first < columns; first += perLine) {
    const last = Math.min(first + perLine, columns);
    if (perLine < columns) {
      out += `${first === 0 ? '' : '\n'}Columns ${first + 1} to ${last}${margin}`;
    }
    out += scale === 1 ? '' : scaleText(scale) + margin;
    const lines = rows.map((row) => `${row.slice(first, last).map(print).join(' ')}\n`);
    out += lines.join(scale === 1 ? margin : `${margin} `);
  }
  return out;
}

interface NumberFormat {
  /** What all numbers are divided by. */
  readonly scale: number;
  readonly width: number;
  print(value: number): string;
}

/** One format for all numbers of a matrix, by the sizes of the smallest and the largest. */
function formatOf(values: readonly number[]): NumberFormat {
  const finite = values.filter(Number.isFinite).map(Math.abs);
  const smallest = digitsBeforePoint(finite.length === 0 ? 1 : Math.min(...finite));
  const largest = digitsBeforePoint(finite.length === 0 ? 1 : Math.max(...finite));
  if (finite.every(Number.isInteger)) {
    return largest > 9 ? scientific(11) : makeFormat(1, largest + 1, (value) => formatSignificant(value, 6));
  }
  if (largest - smallest > 4) {
    return scientific(Math.abs(largest) > 99 || Math.abs(smallest) > 99 ? 12 : 11);
  }
  const fixed = (value: number): string => (Number.isFinite(value) ? value.toFixed(4) : formatSignificant(value, 6));
  if (largest > 5 || largest < 0) {
    return makeFormat(Number(`1e${largest - 1}`), 7, fixed);
  }
  return makeFormat(1, largest === 0 ? 7 : largest + 6, fixed);
}

function digitsBeforePoint(size: number): number {
  return size === 0 ? 1 : Math.floor(Math.log10(size)) + 1;
}

function scientific(width: number): NumberFormat {
  return makeFormat(1, width, (value) =>
    value.toExponential(4).replace(/e([+-])(\d)$/, (_whole, sign: string, digit: string) => `e${sign}0${digit}`),
  );
}

function makeFormat(scale: number, width: number, format: (value: number) => string): NumberFormat {
  return { scale, width, print: (value) => format(value / scale).padStart(width) };
}

function scaleText(scale: number): string {
  return scale === 1 ? '' : `${formatSignificant(scale, 16)} *\n`;
}
