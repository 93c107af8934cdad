import { hint } from '@cresset/tensor';
import { symExtentOf, symPointsOf, type AxisExpr, type NormalContraction } from '@cresset/tensorexpr';
import type { Windows } from '../nests/windows.ts';

/** Elements of an image that are worked out at once, and of sums: they stay in the second cache. */
const IMAGE = 1 << 18;
const SUMS = 1 << 17;
/** Windows beside each other below which columns are better packed. */
const LEAST_WIDTH = 5;
/** Rows that can be multiplied with an element of a plain side in the time in which it is packed. */
const PACKED_ROWS = 6;
/** Elements of the left side that are packed at most: it stays while lines go by. */
const MOST_LEFT = 1 << 22;
/** A multiple of all heights of tiles. */
const ROWS = 12;

/** How a convolution goes over its image: in bands of lines, several of the batch at once where they are small. */
export interface ImageLayout {
  readonly width: number;
  readonly lines: number;
  /** Lines of windows in a band, and lines of the image that they take. */
  readonly bandLines: number;
  readonly planeLines: number;
  /** Floats from line to line of the image. */
  readonly pitch: number;
  /** Vectors of sums in a line. */
  readonly vectors: number;
  /** Rows of the left side, and products of the batch, that are worked out at once. */
  readonly rows: number;
  readonly groups: number;
  /** Bytes of one image, as far as a band takes it. */
  readonly imageBytes: number;
  /** Bytes of the packed lines of one left side. */
  readonly leftBytes: number;
  /** Where elements of a window lie, in bytes. */
  readonly table: Int32Array;
  /** Bytes of the table, left sides, images and sums, one after the other. */
  readonly scratchBytes: number;
}

/** Bytes up to where a vector may begin. */
export const aligned = (bytes: number): number => Math.ceil(bytes / 16) * 16;

const pointsOf = (axes: readonly AxisExpr[]): number => hint(symPointsOf(axes));

/** That for the sizes of now. Null where columns are better packed: lines are short, or images have nothing in common with each other's windows. */
export function imageLayout(kernel: NormalContraction, windows: Windows): ImageLayout | null {
  const { reach } = windows;
  const [width, lines] = [windows.width, windows.lines].map(hint);
  const [m, k] = [hint(symExtentOf(kernel.m)), pointsOf(kernel.k)];
  if (width < LEAST_WIDTH || m * k > MOST_LEFT) return null;
  const vectors = Math.ceil(width / 4);
  // Lanes beyond the end of a line are multiplied for nothing.
  if (!windows.hasBorder && m * ((4 * vectors) / width - 1) > PACKED_ROWS) return null;
  const pitch = 4 * Math.ceil(vectors + reach.columns / 4);
  const planes = pointsOf(windows.planes);
  const fitting = Math.floor(IMAGE / (planes * pitch)) - reach.lines;
  const bandLines = Math.min(lines, Math.max(fitting, 4 * reach.lines, 1));
  const planeLines = bandLines + reach.lines;
  const imageElements = planes * planeLines * pitch;
  const lineSums = 4 * vectors * bandLines;
  const rows = Math.min(m, Math.max(ROWS, Math.floor(SUMS / lineSums / ROWS) * ROWS));
  const together = Math.floor(Math.min(IMAGE / imageElements, SUMS / (rows * lineSums)));
  const groups = Math.max(1, Math.min(pointsOf(kernel.batch), together));
  const imageBytes = 4 * imageElements;
  const leftBytes = 16 * Math.ceil(m / 4) * k;
  const table = windows.table(planeLines, pitch).map((place) => 4 * place);
  const parts = [table.byteLength, groups * leftBytes, groups * imageBytes, groups * 4 * rows * lineSums];
  return {
    width,
    lines,
    bandLines,
    planeLines,
    pitch,
    vectors,
    rows,
    groups,
    imageBytes,
    leftBytes,
    table,
    scratchBytes: parts.reduce((sum, size) => sum + aligned(size), 0),
  };
}
