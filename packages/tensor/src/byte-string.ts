/**
 * TorchScript strings are sequences of bytes: `len("é")` is 2 and `"é"[0]` is half a character. Inside the runtime a `str`
 * is a JavaScript string of code units 0–255, one a byte; these two functions stand at the border.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Text to bytes. ASCII, the usual case, is the same on both sides. */
export function toByteString(text: string): string {
  if (isAscii(text)) return text;
  return fromBytes(encoder.encode(text));
}

/** Bytes to text; bytes that are no UTF-8 become U+FFFD. */
export function fromByteString(bytes: string): string {
  if (isAscii(bytes)) return bytes;
  return decoder.decode(toBytes(bytes));
}

/** The bytes of a byte string. */
export function toBytes(bytes: string): Uint8Array {
  return Uint8Array.from(bytes, (character) => character.charCodeAt(0));
}

/** A byte string of these bytes. */
export function fromBytes(bytes: Uint8Array): string {
  const pieces: string[] = [];
  // fromCharCode takes its characters as arguments, of which there may not be too many.
  for (let at = 0; at < bytes.length; at += 4096) pieces.push(String.fromCharCode(...bytes.subarray(at, at + 4096)));
  return pieces.join('');
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return false;
  return true;
}
