import { CressetError } from '@cresset/ir';
import {
  binaryFunctions,
  floatBinary,
  floatUnary,
  integerBinary,
  nextafterSingle,
  unaryFunctions,
  type BinaryFunction,
  type UnaryFunction,
} from '@cresset/tensorexpr';
import { i32, i64, type Code } from '../../code.ts';
import type { ImportedFunction, ModuleBuilder } from '../../module.ts';
import type { Floats } from './floats.ts';

/** What modules call for functions that have no code: the reference's, one number at a time, in double precision. */
export const rareImports: readonly ImportedFunction[] = [
  { name: 'unary', parameters: ['i32', 'f64'], result: 'f64' },
  { name: 'binary', parameters: ['i32', 'f64', 'f64'], result: 'f64' },
  { name: 'long', parameters: ['i32', 'i64', 'i64'], result: 'i64' },
];

const unaryTable = unaryFunctions.map((name) => floatUnary[name]);
/** `nextafter` is that of singles in its place, and of doubles at the end. */
const binaryTable = [
  ...binaryFunctions.map((name) => (name === 'nextafter' ? nextafterSingle : floatBinary[name])),
  floatBinary.nextafter,
];
const longTable = binaryFunctions.map((name) => integerBinary[name]);

export const rareFunctions = {
  unary: (which: number, x: number): number => unaryTable[which](x),
  binary: (which: number, x: number, y: number): number => binaryTable[which](x, y),
  long: (which: number, x: bigint, y: bigint): bigint => BigInt.asIntN(64, longTable[which]!(x, y)),
};

/** Calls of the functions that a module is given. */
export class RareCalls {
  constructor(
    private readonly module: ModuleBuilder,
    private readonly floats: Floats,
  ) {}

  /** Works out `lanes` lanes, one after the other. */
  unary(fn: UnaryFunction, x: Code, lanes: number): Code {
    const which = i32.const(unaryFunctions.indexOf(fn));
    return this.#everyLane(lanes, (lane) => this.module.imported('unary', which, this.floats.extract(x, lane)));
  }

  binary(fn: BinaryFunction, x: Code, y: Code, lanes: number): Code {
    const { dtype, extract } = this.floats;
    const isLast = fn === 'nextafter' && dtype === 'float64';
    const which = i32.const(isLast ? binaryFunctions.length : binaryFunctions.indexOf(fn));
    return this.#everyLane(lanes, (lane) => this.module.imported('binary', which, extract(x, lane), extract(y, lane)));
  }

  long(fn: BinaryFunction, x: Code, y: Code): Code {
    const which = binaryFunctions.indexOf(fn);
    if (!longTable[which]) {
      throw new CressetError('DEVICE_FUNCTION', `the function ${fn} is not defined for values of type i64`);
    }
    return this.module.imported('long', i32.const(which), x, y);
  }

  /** Of integers of 32 bits. */
  integer(fn: BinaryFunction, x: Code, y: Code): Code {
    return i32.ofLong(this.long(fn, i64.ofInteger(x), i64.ofInteger(y)));
  }

  #everyLane(lanes: number, value: (lane: number) => Code): Code {
    let vector = this.floats.splat(value(0));
    for (let lane = 1; lane < lanes; lane++) vector = this.floats.replace(vector, lane, value(lane));
    return vector;
  }
}
