import type { ExprType, ParamExpr } from '@cresset/tensorexpr';

/** Where the params of a kernel lie in its uniform buffer, in 32-bit words. */
export class UniformLayout {
  /** Word offset of each param, in the kernel's order. */
  readonly offsets: readonly number[];
  readonly types: readonly ExprType[];
  readonly byteLength: number;

  constructor(types: readonly ExprType[]) {
    this.types = types;
    // 64-bit params first: they are aligned to 8 bytes, and so nothing is left empty in between.
    const wide = types.filter((type) => type === 'i64').length;
    let nextWide = 0;
    let nextNarrow = 2 * wide;
    this.offsets = types.map((type) => (type === 'i64' ? 2 * nextWide++ : nextNarrow++));
    this.byteLength = 4 * (wide > 0 ? 2 * Math.ceil(nextNarrow / 2) : nextNarrow);
  }

  /** Members of the WGSL struct, in memory order. */
  members(): string[] {
    const order = this.types.map((_, index) => index).sort((a, b) => this.offsets[a] - this.offsets[b]);
    return order.map((index) => `  p${index}: ${uniformTypes[this.types[index]]},`);
  }

  /** Writes the params' values at word `at` of the buffer these arrays share. */
  write(params: readonly ParamExpr[], words: Int32Array, floats: Float32Array, at: number): void {
    for (let index = 0; index < params.length; index++) {
      const { open } = params[index];
      this.put(index, open ? open.value : params[index].value, words, floats, at);
    }
  }

  /** As `write`, of one of the params. */
  put(index: number, value: ParamExpr['value'], words: Int32Array, floats: Float32Array, at: number): void {
    const offset = at + this.offsets[index];
    switch (this.types[index]) {
      case 'float':
        floats[offset] = Number(value);
        break;
      case 'i64': {
        const bits = typeof value === 'bigint' ? value : BigInt(Math.trunc(Number(value)));
        words[offset] = Number(BigInt.asIntN(32, bits));
        words[offset + 1] = Number(BigInt.asIntN(32, bits >> 32n));
        break;
      }
      default:
        words[offset] = typeof value === 'bigint' ? Number(BigInt.asIntN(32, value)) : Number(value);
    }
  }
}

const uniformTypes: Record<ExprType, string> = { float: 'f32', i32: 'i32', i64: 'vec2<u32>', bool: 'u32' };
