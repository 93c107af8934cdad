/** Writes one message of Protocol Buffers: fields by number, in the order of the calls. */
export class MessageWriter {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  /** A signed or unsigned integer of up to 64 bits; a negative one takes ten bytes. */
  int(field: number, value: number | bigint): this {
    return this.#key(field, 0).#varint(BigInt.asUintN(64, BigInt(value)));
  }

  float(field: number, value: number): this {
    return this.#key(field, 5).#append(new Uint8Array(new Float32Array([value]).buffer));
  }

  text(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#key(field, 2).#varint(BigInt(value.byteLength)).#append(value);
  }

  message(field: number, value: MessageWriter): this {
    return this.bytes(field, value.finish());
  }

  finish(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, at);
      at += chunk.byteLength;
    }
    return all;
  }

  #key(field: number, wireType: number): this {
    return this.#varint(BigInt((field << 3) | wireType));
  }

  #varint(value: bigint): this {
    const bytes: number[] = [];
    let rest = value;
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
    return this.#append(Uint8Array.from(bytes));
  }

  #append(chunk: Uint8Array): this {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
    return this;
  }
}
