import type { Symbol } from '@cresset/ir';
import { HASHES } from './full-edition-hashes.ts';

/** Characters that a name comes to: its FNV-1a hash, of which 24 bits are kept, in base64. */
export function hashOf(name: Symbol): string {
  let hash = 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return btoa(String.fromCharCode((hash >> 16) & 255, (hash >> 8) & 255, hash & 255));
}

/** Namespaces in which programs cannot make operators known. */
const OWN = /^(?:aten|prim|prims|quantized|profiler|onnx|cuda)::/;

/** What is said of an operator that is not here, in an edition that has all. */
export function foreignNote(name: Symbol): string {
  return OWN.test(name) ? '' : " An operator of one's own is made known by registerOperator of cresset/full.";
}

/** What the core edition says of an operator that it does not have, or (`isKnown`) not for such arguments. */
export function coreNote(name: Symbol, isKnown: boolean): string {
  for (let at = 0, hash = hashOf(name); at < HASHES.length; at += 4) {
    if (HASHES.startsWith(hash, at)) {
      return ` The full edition has ${isKnown ? 'more forms of it' : 'it'}: import cresset/full.`;
    }
  }
  return isKnown ? '' : foreignNote(name);
}
