import { instructionNames, prefixedNames, vectorNames } from './instruction-names.ts';

const typeNames: Readonly<Record<number, string>> = {
  0x7f: 'i32',
  0x7e: 'i64',
  0x7d: 'f32',
  0x7c: 'f64',
  0x7b: 'v128',
};
/** The type of a block that gives nothing. */
const NOTHING = 0x40;
const INDENTATION = '  ';

interface FunctionType {
  readonly parameters: readonly string[];
  readonly results: readonly string[];
}

interface NamedFunction {
  readonly name: string | null;
  readonly type: FunctionType;
}

/**
 * A module in WebAssembly's text format, an instruction a line: what `ModuleBuilder` writes, whose modules have types, imports, functions, exports
 * and code. Throws a RangeError at an instruction that is none.
 */
export function moduleText(bytes: Uint8Array): string {
  return new ModuleReader(bytes).text();
}

class ModuleReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 8;
  readonly #types: FunctionType[] = [];
  readonly #functions: NamedFunction[] = [];
  readonly #lines: string[] = ['(module'];

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  text(): string {
    // Functions of the module itself come after those that it is given.
    let own = 0;
    while (this.#at < this.#bytes.length) {
      const id = this.#byte();
      const end = this.#unsigned() + this.#at;
      if (id === 1) this.#many(() => this.#types.push(this.#type()));
      else if (id === 2) this.#many(() => this.#import());
      else if (id === 3) {
        own = this.#functions.length;
        this.#many(() => this.#functions.push({ name: null, type: this.#types[this.#unsigned()] }));
      } else if (id === 7) this.#many(() => this.#export());
      else if (id === 10) this.#many(() => this.#body(own++));
      this.#at = end;
    }
    this.#lines.push(')');
    return this.#lines.join('\n');
  }

  #type(): FunctionType {
    this.#byte();
    return { parameters: this.#many(() => this.#valueType()), results: this.#many(() => this.#valueType()) };
  }

  #import(): void {
    const from = `(import "${this.#name()}" "`;
    const name = this.#name();
    if (this.#byte() === 0) {
      const type = this.#types[this.#unsigned()];
      this.#functions.push({ name, type });
      this.#line(1, `${from}${name}" (func $${name}${described(type)}))`);
      return;
    }
    const flags = this.#byte();
    const limits = [this.#unsigned(), ...(flags & 1 ? [this.#unsigned()] : [])].join(' ');
    this.#line(1, `${from}${name}" (memory ${limits}${flags & 2 ? ' shared' : ''}))`);
  }

  /** Nothing but functions is exported. */
  #export(): void {
    const name = this.#name();
    this.#byte();
    const index = this.#unsigned();
    this.#functions[index] = { ...this.#functions[index], name };
  }

  #body(index: number): void {
    const end = this.#unsigned() + this.#at;
    const { name, type } = this.#functions[index];
    const head = name === null ? `$${index}` : `$${name} (export "${name}")`;
    this.#line(1, `(func ${head}${described(type)}`);
    const locals = this.#many(() => new Array<string>(this.#unsigned()).fill(this.#valueType())).flat();
    if (locals.length > 0) this.#line(2, `(local ${locals.join(' ')})`);
    let depth = 2;
    while (this.#at < end - 1) {
      const text = this.#instruction();
      const isBetween = text === 'else';
      if (text === 'end' || isBetween) depth--;
      this.#line(depth, text);
      if (isBetween || /^(?:block|loop|if)\b/.test(text)) depth++;
    }
    this.#at = end;
    this.#line(1, ')');
  }

  #instruction(): string {
    const opcode = this.#byte();
    if (opcode === 0xfd) return this.#vectorInstruction(this.#unsigned());
    if (opcode === 0xfc) return this.#prefixedInstruction(this.#unsigned());
    const name = nameIn(instructionNames, opcode);
    if (opcode === 0x02 || opcode === 0x03 || opcode === 0x04) {
      const type = this.#byte();
      return type === NOTHING ? name : `${name} (result ${typeNames[type]})`;
    }
    if (opcode === 0x10) {
      const index = this.#unsigned();
      return `${name} $${this.#functions[index].name ?? index}`;
    }
    if (opcode === 0x0c || opcode === 0x0d || (opcode >= 0x20 && opcode <= 0x22)) return `${name} ${this.#unsigned()}`;
    if (opcode >= 0x28 && opcode <= 0x3e) return name + this.#placed(name);
    // Memories have numbers, of which the text says nothing: there is one.
    if (opcode === 0x3f || opcode === 0x40) this.#skip(1);
    if (opcode === 0x41 || opcode === 0x42) return `${name} ${this.#signed()}`;
    if (opcode === 0x43) return `${name} ${floatText(this.#view.getFloat32(this.#skip(4), true))}`;
    if (opcode === 0x44) return `${name} ${floatText(this.#view.getFloat64(this.#skip(8), true))}`;
    return name;
  }

  #prefixedInstruction(opcode: number): string {
    // The numbers of the memories that are written and read.
    if (opcode === 10) this.#skip(2);
    else if (opcode === 11) this.#skip(1);
    return nameIn(prefixedNames, opcode);
  }

  #vectorInstruction(opcode: number): string {
    const name = nameIn(vectorNames, opcode);
    if (opcode === 12) {
      const at = this.#skip(16);
      const words = [0, 4, 8, 12].map((offset) => this.#view.getUint32(at + offset, true));
      return `${name} i32x4 ${words.map((word) => `0x${word.toString(16).padStart(8, '0')}`).join(' ')}`;
    }
    if (opcode === 13) return `${name} ${Array.from({ length: 16 }, () => this.#byte()).join(' ')}`;
    if (opcode >= 21 && opcode <= 34) return `${name} ${this.#byte()}`;
    const hasLane = opcode >= 84 && opcode <= 91;
    if (opcode > 11 && opcode !== 92 && opcode !== 93 && !hasLane) return name;
    const placed = name + this.#placed(name);
    return hasLane ? `${placed} ${this.#byte()}` : placed;
  }

  /** Where a load or store is, beside its address; the alignment only where it is not what the instruction's width is. */
  #placed(name: string): string {
    const alignment = 2 ** this.#unsigned();
    const offset = this.#unsigned();
    return (offset === 0 ? '' : ` offset=${offset}`) + (alignment === widthOf(name) ? '' : ` align=${alignment}`);
  }

  #valueType(): string {
    return typeNames[this.#byte()];
  }

  #name(): string {
    return String.fromCharCode(...this.#many(() => this.#byte()));
  }

  #many<T>(read: () => T): T[] {
    return Array.from({ length: this.#unsigned() }, read);
  }

  #line(depth: number, text: string): void {
    this.#lines.push(INDENTATION.repeat(depth) + text);
  }

  /** Where the next bytes are, of which nothing more is read. */
  #skip(bytes: number): number {
    this.#at += bytes;
    return this.#at - bytes;
  }

  #byte(): number {
    return this.#bytes[this.#at++];
  }

  #unsigned(): number {
    return Number(BigInt.asUintN(32, this.#leb128().bits));
  }

  #signed(): bigint {
    const { bits, length } = this.#leb128();
    return BigInt.asIntN(length, bits);
  }

  /** The bits of a number, and how many there are. */
  #leb128(): { bits: bigint; length: number } {
    let bits = 0n;
    for (let length = 0; ;) {
      const byte = this.#byte();
      bits |= BigInt(byte & 127) << BigInt(length);
      length += 7;
      if (byte < 128) return { bits, length };
    }
  }
}

function nameIn(names: ReadonlyMap<number, string>, opcode: number): string {
  const name = names.get(opcode);
  if (name === undefined) throw new RangeError(`there is no instruction 0x${opcode.toString(16)}`);
  return name;
}

function described({ parameters, results }: FunctionType): string {
  const list = (word: string, types: readonly string[]): string =>
    types.length > 0 ? ` (${word} ${types.join(' ')})` : '';
  return list('param', parameters) + list('result', results);
}

/** Bytes that a load or store takes. */
function widthOf(name: string): number {
  const [type, action] = name.split('.');
  const parts = /(\d+)x(\d+)/.exec(action);
  if (parts) return (Number(parts[1]) * Number(parts[2])) / 8;
  const bits = /(?:load|store)(\d+)/.exec(action)?.[1] ?? /\d+/.exec(type)![0];
  return Number(bits) / 8;
}

const floatText = (value: number): string => {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  return Object.is(value, -0) ? '-0' : String(value);
};
