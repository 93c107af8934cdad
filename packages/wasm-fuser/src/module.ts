import { KnownVector, Local, unsigned, type Code } from './code.ts';
import { MOST_PAGES } from './linear-memory.ts';

/** Types of values, by their codes in a module. */
export const valueTypes = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b } as const;
export type ValueType = keyof typeof valueTypes;

/** What a function is made of while its code is written: its parameters come as locals, and it may have more. */
export class FunctionBody {
  readonly #types: ValueType[] = [];
  readonly #parameters: number;
  readonly #known = new Map<string, Local>();
  /** Gives the locals of known vectors what they hold. */
  readonly prologue: Code[] = [];

  constructor(parameters: number) {
    this.#parameters = parameters;
  }

  local(type: ValueType): Local {
    return new Local(this.#parameters + this.#types.push(type) - 1);
  }

  /** A local for four floats, or four integers. */
  vector(): Local {
    return this.local('v128');
  }

  integer(): Local {
    return this.local('i32');
  }

  vectors(count: number): Local[] {
    return Array.from({ length: count }, () => this.vector());
  }

  integers(count: number): Local[] {
    return Array.from({ length: count }, () => this.integer());
  }

  /** The local of a known vector. */
  knownVector(vector: KnownVector): Local {
    let local = this.#known.get(vector.key);
    if (!local) {
      local = this.vector();
      this.#known.set(vector.key, local);
      this.prologue.push(local.set(vector.instruction));
    }
    return local;
  }

  /** How many locals of which type stand one after another, in the order in which they were asked for. */
  declarations(): Code {
    const runs: { type: ValueType; count: number }[] = [];
    for (const type of this.#types) {
      const last = runs.at(-1);
      if (last?.type === type) last.count++;
      else runs.push({ type, count: 1 });
    }
    return vector(runs.map(({ type, count }) => [unsigned(count), valueTypes[type]]));
  }
}

interface DefinedFunction {
  readonly name: string | null;
  readonly parameters: number;
  readonly pieces: readonly (readonly number[])[];
}

/** A function that a module is given as `host.<name>`. */
export interface ImportedFunction {
  readonly name: string;
  readonly parameters: readonly ValueType[];
  readonly result: ValueType;
}

/** A module of functions that take integers and return nothing, over one memory that it is given as `host.memory`. */
export class ModuleBuilder {
  readonly #functions: DefinedFunction[] = [];
  readonly #imports: readonly ImportedFunction[];
  readonly #isShared: boolean;
  #callsImports = false;

  /**
   * @param isShared whether the memory is one that threads share
   * @param isRelaxed whether products and sums are rounded once; only where the engine has that
   */
  constructor(
    imports: readonly ImportedFunction[] = [],
    isShared = false,
    readonly isRelaxed = false,
  ) {
    this.#imports = imports;
    this.#isShared = isShared;
  }

  /** Whether anything calls what the module is given. */
  get callsImports(): boolean {
    return this.#callsImports;
  }

  /** Code that calls what the module is given. */
  imported(name: string, ...values: Code[]): Code {
    this.#callsImports = true;
    return [values, 0x10, unsigned(this.#imports.findIndex((each) => each.name === name))];
  }

  /**
   * Adds a function; those with a name are exported.
   * @returns code that calls it
   */
  define(
    name: string | null,
    parameters: number,
    write: (body: FunctionBody, ...parameters: Local[]) => Code,
  ): (...values: Code[]) => Code {
    const body = new FunctionBody(parameters);
    const code = write(body, ...Array.from({ length: parameters }, (_, index) => new Local(index)));
    const instructions = flat(code, body);
    const head = flat([body.declarations(), body.prologue]);
    const index = this.#imports.length + this.#functions.length;
    this.#functions.push({ name, parameters, pieces: [head, instructions, [0x0b]] });
    return (...values) => [values, 0x10, unsigned(index)];
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const functions = this.#functions;
    const imports = this.#imports;
    const exported = functions.flatMap(({ name }, index) =>
      name === null ? [] : [[text(name), 0, unsigned(imports.length + index)]],
    );
    const head = flat([
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(1, [
        ...imports.map(({ parameters, result }) => [
          0x60,
          vector(parameters.map((type) => valueTypes[type])),
          vector([valueTypes[result]]),
        ]),
        ...functions.map(({ parameters }) => [
          0x60,
          vector(new Array<Code>(parameters).fill(valueTypes.i32)),
          vector([]),
        ]),
      ]),
      section(2, [
        [text('host'), text('memory'), 2, this.#isShared ? [3, 0, unsigned(MOST_PAGES)] : [0, 0]],
        ...imports.map(({ name }, index) => [text('host'), text(name), 0, unsigned(index)]),
      ]),
      section(
        3,
        functions.map((_, index) => unsigned(imports.length + index)),
      ),
      section(7, exported),
    ]);
    // What functions do is nearly all of a module: each byte of it is written down once, and then copied.
    const bodies = functions.flatMap(({ pieces }) => [flat(unsigned(lengthOf(pieces))), ...pieces]);
    const content = [flat(unsigned(functions.length)), ...bodies];
    return joined([head, flat([10, unsigned(lengthOf(content))]), ...content]);
  }
}

/** Bytes in order: what is nested deeply is much. Known vectors are read from locals of the body. */
function flat(code: Code, body?: FunctionBody): number[] {
  const bytes: number[] = [];
  const visit = (each: Code): void => {
    if (typeof each === 'number') bytes.push(each);
    else if (each instanceof KnownVector) visit(body ? body.knownVector(each).get : each.instruction);
    else {
      for (let at = 0; at < each.length; at++) {
        const inner = each[at];
        // Most are numbers, which are spared a call each.
        if (typeof inner === 'number') bytes.push(inner);
        else visit(inner);
      }
    }
  };
  visit(code);
  return bytes;
}

const lengthOf = (pieces: readonly (readonly number[])[]): number =>
  pieces.reduce((length, piece) => length + piece.length, 0);

function joined(pieces: readonly (readonly number[])[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(lengthOf(pieces));
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
}

/** Bytes after their number. */
function sized(code: Code): Code {
  const bytes = flat(code);
  return [unsigned(bytes.length), bytes];
}

const vector = (items: readonly Code[]): Code => [unsigned(items.length), items];

const text = (value: string): Code => sized(Array.from(value, (character) => character.charCodeAt(0)));

const section = (id: number, items: readonly Code[]): Code => [id, sized(vector(items))];
