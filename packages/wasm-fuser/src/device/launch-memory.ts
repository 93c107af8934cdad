import type { KernelSignature } from '@cresset/tensorexpr';
import type { LinearMemory } from '../linear-memory.ts';
import { bindingPlace, blockBytes, writeParam } from '../nests/launch-block.ts';
import type { PreparedContraction } from './programs.ts';

/** Where a binding lies. */
export interface Place {
  readonly address: number;
  readonly byteLength: number;
}

/** Packed lines that stay from launch to launch. */
export interface KeptLines {
  /** Where those of one of the batch lie; null where they are to be packed. */
  at(side: 'left' | 'right', batch: number): number | null;
}

/** Who has the memory. */
export interface MemoryHost {
  readonly linear: LinearMemory;
  /** As `linear.take`; throws a CressetError where there is no more memory. */
  takeMemory(byteLength: number): number;
}

export const bytesOfBlock = ({ bindings, params }: KernelSignature): number =>
  blockBytes(bindings.length, params.length);

/** Writes params to where a launch finds them. One that is open stays so: nothing goes by what it is. */
export function writeParams({ view }: LinearMemory, block: number, signature: KernelSignature): void {
  signature.params.forEach((param, at) =>
    writeParam(view, block, signature, at, param.open ? param.open.value : param.value),
  );
}

/** Writes where bindings lie. */
export function writePlaces(memory: LinearMemory, block: number, places: readonly Place[]): void {
  const { integers } = memory;
  for (let at = 0; at < places.length; at++) {
    const to = (block + bindingPlace(at)) >>> 2;
    integers[to] = places[at].address;
    integers[to + 1] = places[at].byteLength;
  }
}

/** Bytes of a number that a contraction multiplies, packed. */
export const floatBytes = ({ signature }: PreparedContraction): number => (signature.hasDoubles ? 8 : 4);

/** Bytes of packed lines of one product's side. */
export const bytesOfLines = (prepared: PreparedContraction, lines: number): number =>
  4 * floatBytes(prepared) * Math.ceil(lines / 4) * prepared.k;
