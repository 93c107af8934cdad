import type { Workspace } from './workspace.ts';

/** Where a matrix lies in an array: strides in elements. */
export interface Place {
  readonly data: Float32Array;
  readonly offset: number;
  readonly rowStride: number;
  readonly columnStride: number;
}

/** The part of a matrix from one of its elements on. */
export const placed = (place: Place, row: number, column: number): Place => ({
  ...place,
  offset: place.offset + row * place.rowStride + column * place.columnStride,
});

/** Puts what is added, or what a product has come to so far, where sums are made: rows of `length` at `to`. */
export function fillRows(
  { memory, functions }: Workspace,
  to: number,
  length: number,
  { data, offset, rowStride, columnStride }: Place,
  rows: number,
  columns: number,
): void {
  const { floats } = memory;
  const distinct = rowStride === 0 ? 1 : rows;
  for (let row = 0; row < distinct; row++) {
    const from = offset + row * rowStride;
    const start = (to >> 2) + row * length;
    if (columnStride === 1) floats.set(data.subarray(from, from + columns), start);
    else if (columnStride === 0) floats.fill(data[from], start, start + columns);
    else for (let column = 0; column < columns; column++) floats[start + column] = data[from + column * columnStride];
  }
  if (distinct < rows) functions.copyRows(to, 0, to + 4 * length, 4 * length, rows - 1, 4 * columns);
}

/** Copies sums to where they belong; `staging` has room for them side by side. */
export function copyOut(
  { memory, functions }: Workspace,
  from: number,
  length: number,
  { data, offset, rowStride, columnStride }: Place,
  rows: number,
  columns: number,
  staging: number,
): void {
  const { floats } = memory;
  if (columnStride === 1 && rowStride === columns) {
    const isBeside = length === columns || rows === 1;
    if (!isBeside) functions.copyRows(from, 4 * length, staging, 4 * columns, rows, 4 * columns);
    const start = (isBeside ? from : staging) >> 2;
    data.set(floats.subarray(start, start + rows * columns), offset);
    return;
  }
  for (let row = 0; row < rows; row++) {
    const start = (from >> 2) + row * length;
    const to = offset + row * rowStride;
    if (columnStride === 1) data.set(floats.subarray(start, start + columns), to);
    else for (let column = 0; column < columns; column++) data[to + column * columnStride] = floats[start + column];
  }
}
