/** Four tables, so that a step takes four bytes (Sarwate's table method, sliced). */
const tables: readonly Uint32Array[] = makeTables();

function makeTables(): Uint32Array[] {
  const first = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    first[byte] = value;
  }
  const result = [first];
  for (let slice = 1; slice < 4; slice++) {
    const previous = result[slice - 1];
    result.push(previous.map((value) => (value >>> 8) ^ first[value & 0xff]));
  }
  return result;
}

/**
 * The CRC-32 that zip files carry (polynomial 0xEDB88320, reflected), as an unsigned number.
 *
 * @param before the CRC of what stands before `bytes`, where they are a later part.
 */
export function crc32(bytes: Uint8Array, before = 0): number {
  const [table0, table1, table2, table3] = tables;
  let crc = ~before;
  let at = 0;
  for (const last = bytes.length - 3; at < last; at += 4) {
    crc ^= bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    crc = table3[crc & 0xff] ^ table2[(crc >>> 8) & 0xff] ^ table1[(crc >>> 16) & 0xff] ^ table0[crc >>> 24];
  }
  for (; at < bytes.length; at++) crc = table0[(crc ^ bytes[at]) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
