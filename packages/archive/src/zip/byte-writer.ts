/** Bytes that are appended to. Numbers are little-endian where nothing else is said. */
export class ByteWriter {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  uint8(value: number): this {
    const at = this.#grow(1);
    this.#view.setUint8(at, value);
    return this;
  }

  uint16(value: number): this {
    const at = this.#grow(2);
    this.#view.setUint16(at, value, true);
    return this;
  }

  uint32(value: number): this {
    const at = this.#grow(4);
    this.#view.setUint32(at, value, true);
    return this;
  }

  int32(value: number): this {
    const at = this.#grow(4);
    this.#view.setInt32(at, value, true);
    return this;
  }

  uint64(value: number): this {
    const at = this.#grow(8);
    this.#view.setBigUint64(at, BigInt(value), true);
    return this;
  }

  /** The low 64 bits of an integer. */
  int64(value: bigint): this {
    const at = this.#grow(8);
    this.#view.setBigInt64(at, value, true);
    return this;
  }

  /** Big-endian, as pickles have it. */
  float64BigEndian(value: number): this {
    const at = this.#grow(8);
    this.#view.setFloat64(at, value, false);
    return this;
  }

  bytes(bytes: Uint8Array): this {
    const at = this.#grow(bytes.byteLength);
    this.#bytes.set(bytes, at);
    return this;
  }

  /** A byte string: one byte a code unit. */
  byteString(text: string): this {
    const at = this.#grow(text.length);
    for (let index = 0; index < text.length; index++) this.#bytes[at + index] = text.charCodeAt(index);
    return this;
  }

  /** What has been written, in a buffer of its own. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #grow(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.byteLength) {
      const larger = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.byteLength));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}
