import type { KernelSignature, ParamExpr } from '@cresset/tensorexpr';
import { i32, i64, type Code, type Local } from '../code.ts';
import type { ValueType } from '../module.ts';
import type { Floats } from './functions/floats.ts';
import type { Value } from './scope.ts';

/** Bytes of a place in a launch block. */
const PLACE = 8;

/** Bytes of what a launch takes along. */
export const blockBytes = (bindings: number, params: number): number => PLACE * (bindings + params);

/**
 * What a launch takes along, where code finds it: for each binding where it lies and how many bytes it has, then the params, each in eight
 * bytes.
 */
export class LaunchBlock {
  readonly #known = new Map<string, Code>();

  /** @param keep puts what code gives where the whole function can read it */
  constructor(
    private readonly signature: KernelSignature,
    private readonly pointer: Local,
    private readonly floats: Floats,
    private readonly keep: (type: ValueType, code: Code) => Code,
  ) {}

  address(binding: number): Code {
    return this.#once(`a${binding}`, 'i32', () => i32.load(this.pointer.get, PLACE * binding));
  }

  byteLength(binding: number): Code {
    return this.#once(`b${binding}`, 'i32', () => i32.load(this.pointer.get, PLACE * binding + 4));
  }

  /** The first address at which four lanes do not lie in memory any more. */
  get limit(): Code {
    const pages: Code = [0x3f, 0];
    return this.#once('limit', 'i32', () => i32.sub(i32.shl(pages, 16), i32.const(16)));
  }

  param(param: ParamExpr): Value {
    const at = PLACE * (this.signature.bindings.length + this.signature.params.indexOf(param));
    const { pointer } = this;
    switch (param.type) {
      case 'float':
        return { form: 'lanes', code: this.#once(`p${at}`, 'v128', () => this.floats.load(pointer.get, at)) };
      case 'i64':
        return { form: 'scalar', code: this.#once(`p${at}`, 'i64', () => i64.load(pointer.get, at)) };
      default:
        return { form: 'scalar', code: this.#once(`p${at}`, 'i32', () => i32.load(pointer.get, at)) };
    }
  }

  #once(key: string, type: ValueType, code: () => Code): Code {
    let known = this.#known.get(key);
    if (known === undefined) this.#known.set(key, (known = this.keep(type, code())));
    return known;
  }
}

/** Writes a param's value to its place among those of a launch. */
export function writeParam(
  view: DataView,
  block: number,
  signature: KernelSignature,
  param: number,
  value: number | bigint | boolean,
): void {
  const { params, hasDoubles } = signature;
  const { type } = params[param];
  const at = block + paramPlace(signature, param);
  if (type === 'float' && hasDoubles) view.setFloat64(at, Number(value), true);
  else if (type === 'float') view.setFloat32(at, Number(value), true);
  else if (type === 'i64') view.setBigInt64(at, BigInt.asIntN(64, BigInt(value)), true);
  else view.setInt32(at, Number(typeof value === 'bigint' ? BigInt.asIntN(32, value) : value), true);
}

export const bindingPlace = (binding: number): number => PLACE * binding;

export const paramPlace = ({ bindings }: KernelSignature, param: number): number => PLACE * (bindings.length + param);
