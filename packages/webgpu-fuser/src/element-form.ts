import type { ScalarType } from '@cresset/tensor';
import { elementsOfWord, type Binding } from '@cresset/tensorexpr';
import { atomicType, storedType, unpacked } from './wgsl-type.ts';

/** How a shader has the elements of a buffer: the one place that knows of every layout. */
export interface ElementForm {
  /** Of an element, or of the word that several share. */
  readonly type: string;
  /** Of that, in memory. */
  readonly byteLength: number;
  /** Of four elements. */
  readonly four: string;
  /** Of a word that threads change together. */
  readonly atomic: string;
  /** Of 16 bits in the shader as in memory: the atomic word has two of them. */
  readonly isHalf: boolean;
  /** Elements of a word that threads change together. */
  readonly toWord: 1 | 2 | 4;
  /** Whether an element is taken out of a word, so that its index is used twice, and is stored with others or by exchanging the word. */
  readonly isShared: boolean;
  /** What is stored of a word as `toStored` has it. */
  stored(word: string): string;
  /** An element, as a word of its own would have it. @param entry of the buffer */
  loaded(entry: (index: string) => string, at: string): string;
  /** The same where the buffer is bound as vectors of four. @param at a name */
  loadedOfFour(buffer: string, at: string): string;
  /** Four elements, of which this is the first, as a vector of f32. */
  four32(buffer: string, at: string): string;
}

/** @param f16 whether shaders have numbers of 16 bits, which float16 and float32 that is kept as such are then */
export function elementForm({ operand, layout }: Pick<Binding, 'operand' | 'layout'>, f16: boolean): ElementForm {
  const { dtype } = operand;
  if (f16 && (dtype === 'float16' || layout === 'half')) return half;
  const count = layout === 'half' ? 2 : elementsOfWord(dtype, { f16 });
  return count === 1 ? word(dtype) : partOfWord(dtype, count);
}

const half: ElementForm = {
  type: 'f16',
  byteLength: 2,
  four: 'vec4<f16>',
  atomic: 'atomic<u32>',
  isHalf: true,
  toWord: 2,
  isShared: false,
  stored: (value) => `f16(${value})`,
  loaded: (entry, at) => `f32(${entry(at)})`,
  loadedOfFour: (buffer, at) => `f32(${buffer}[${at} >> 2u][${at} & 3])`,
  four32: (buffer, at) => `vec4<f32>(${buffer}[${at} >> 2u])`,
};

function word(dtype: ScalarType): ElementForm {
  const type = storedType(dtype);
  return {
    type,
    byteLength: type.startsWith('vec2') ? 8 : 4,
    four: `vec4<${type}>`,
    atomic: atomicType(dtype),
    isHalf: false,
    toWord: 1,
    isShared: false,
    stored: (value) => value,
    loaded: (entry, at) => entry(at),
    loadedOfFour: (buffer, at) => `${buffer}[${at} >> 2u][${at} & 3]`,
    four32: (buffer, at) => `${buffer}[${at} >> 2u]`,
  };
}

const partOfWord = (dtype: ScalarType, count: 2 | 4): ElementForm => ({
  ...word(dtype),
  type: 'u32',
  byteLength: 4,
  four: 'vec2<u32>',
  atomic: 'atomic<u32>',
  toWord: count,
  isShared: true,
  loaded: (entry, at) => unpacked(dtype, entry(`${at} >> ${count / 2}u`), `(${at} & ${count - 1})`),
  loadedOfFour: (buffer, at) => unpacked(dtype, `${buffer}[${at} >> 2u][(${at} >> 1u) & 1]`, `(${at} & ${count - 1})`),
  four32: (buffer, at) => `${dtype === 'bfloat16' ? 'four_bfloats' : 'four_halves'}(${buffer}[${at} >> 2u])`,
});
