import type { ScalarType } from '@cresset/tensor';

/** A value on its way between page and worker. Numbers, texts and containers are what JavaScript has; the schema of what is
 * called decides what they become (`3` is an int for an `int` parameter and a float for a `float`). */
export type WireValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | WireTensor
  | WireDeviceTensor
  | WireDict
  | WireTuple
  | WireComplex
  | WireDevice
  | WireEnum
  | WireObject
  | WireReference
  | readonly WireValue[];

/** A tensor: its elements lie contiguously in C order, little-endian, complex numbers as pairs, float16 as its bits. One
 * that occurs twice in a message is one tensor. */
export interface WireTensor {
  readonly kind: 'tensor';
  /** Of an argument: what the answer calls it by, where the program wrote to it. */
  readonly key?: number;
  readonly dtype: ScalarType;
  readonly shape: readonly number[];
  readonly data: ArrayBuffer;
  /** Of a quantised tensor. */
  readonly quantizer?: WireQuantizer;
}

/** How integers stand for numbers: one pair, or one for each index of `axis`. */
export interface WireQuantizer {
  readonly scales: readonly number[];
  readonly zeroPoints: readonly number[];
  readonly axis: number | null;
}

/** A tensor that stays where it was made, by the number that the page has for it. */
export interface WireDeviceTensor {
  readonly kind: 'device-tensor';
  readonly id: number;
  readonly dtype: ScalarType;
  readonly shape: readonly number[];
}

export interface WireDict {
  readonly kind: 'dict';
  readonly entries: readonly (readonly [WireValue, WireValue])[];
}

/** A tuple; with the names of its fields where it is a named one. */
export interface WireTuple {
  readonly kind: 'tuple';
  readonly items: readonly WireValue[];
  readonly fields: readonly string[] | null;
}

export interface WireComplex {
  readonly kind: 'complex';
  readonly re: number;
  readonly im: number;
}

export interface WireDevice {
  readonly kind: 'device';
  readonly name: string;
}

export interface WireEnum {
  readonly kind: 'enum';
  readonly className: string;
  readonly name: string;
}

/** An object of a TorchScript class, as a copy of its attributes. */
export interface WireObject {
  readonly kind: 'object';
  readonly className: string;
  readonly attributes: readonly (readonly [string, WireValue])[];
}

/** An object that stays in the worker: the path of a module, or the name that `construct` gave. */
export interface WireReference {
  readonly kind: 'reference';
  readonly model: number;
  readonly path: string;
}

/** An error on its way: the stack is that of the side where it was thrown. */
export interface WireError {
  readonly code: string;
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** Of an error in a running program: its message alone, and the class that was raised. */
  readonly script: { readonly reason: string; readonly pythonClassName: string; readonly isRaised: boolean } | null;
}
