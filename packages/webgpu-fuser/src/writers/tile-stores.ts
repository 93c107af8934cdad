import {
  accumulator,
  axis,
  expressionsOf,
  type AxisExpr,
  type Expr,
  type NormalContraction,
  type Store,
} from '@cresset/tensorexpr';
import { bindInstance, inTile } from '../instances.ts';
import type { Scope } from '../scope.ts';
import type { ShaderWriter } from '../shader-writer.ts';
import { groupNumber } from './grid-numbers.ts';

/** How many results a workgroup has along m and n, and what a thread adds to the first of them to have its own. */
interface TileGrid {
  readonly height: number;
  readonly width: number;
  readonly laneM: string;
  readonly laneN: string;
  readonly wide: boolean;
}

/** Tells a workgroup its tile: `first_m`, `first_n` and the batch's axes. */
export function writeTilePlace(
  writer: ShaderWriter,
  kernel: NormalContraction,
  body: Scope,
  { height, width, laneM, laneN, wide }: TileGrid,
): void {
  body.line(`let tile = i32(${groupNumber(wide)});`);
  const extentM = writer.value(kernel.m.extent, body);
  const extentN = writer.value(kernel.n.extent, body);
  body.line(`let tiles_n = (${extentN} + ${width - 1}) / ${width};`);
  body.line(`let tiles_m = (${extentM} + ${height - 1}) / ${height};`);
  if (wide) body.line(`if (tile >= tiles_n * tiles_m * ${writer.extentsProduct(kernel.batch, body)}) { return; }`);
  body.line(`let first_m = (tile / tiles_n % tiles_m) * ${height}${laneM};`);
  body.line(`let first_n = (tile % tiles_n) * ${width}${laneN};`);
  if (kernel.batch.length > 0) {
    body.line('let batch = tile / (tiles_n * tiles_m);');
    writer.unflatten(kernel.batch, 'batch', body);
  }
}

/** Results are stored by one piece of code in a loop over the tile: a copy for each would take long to compile. */
export class TileStores {
  readonly #row: AxisExpr;
  readonly #column: AxisExpr;
  readonly #sum: Expr = { ...accumulator };
  readonly #stores: readonly Store[];
  /** To be announced. */
  readonly expressions: readonly Expr[];

  constructor({ m, n, stores }: NormalContraction) {
    [this.#row, this.#column] = [m, n].map(({ name, extent }) => axis(name, extent));
    const places = new Map<Expr, Expr>([
      [m, this.#row],
      [n, this.#column],
    ]);
    this.#stores = stores.map((store) => inTile(store, this.#sum, places));
    this.expressions = this.#stores.flatMap(expressionsOf);
  }

  /** Stores a result, where it is one, at `first_m` and `first_n` with these added. */
  write(
    writer: ShaderWriter,
    storing: Scope,
    { row, column, result }: { row: string | number; column: string | number; result: string },
  ): void {
    bindInstance(writer, storing, this.#row, 'first_m', row);
    bindInstance(writer, storing, this.#column, 'first_n', column);
    writer.bindAccumulator(this.#sum, result, [this.#row, this.#column], storing);
    const inside = storing.open(true);
    writer.stores(this.#stores, inside);
    const isThere = [this.#row, this.#column].map(
      (place) => `${writer.value(place, storing)} < ${writer.value(place.extent, storing)}`,
    );
    storing.close(`if (${isThere.join(' && ')})`, inside);
  }
}
