import { Local, unsigned, type Code } from './code.ts';

/** What a function is made of while its code is written: its parameters come as locals, and it may have more. */
export class FunctionBody {
  readonly #vectors: Local[] = [];
  readonly #integers: Local[] = [];
  #count: number;

  constructor(parameters: number) {
    this.#count = parameters;
  }

  /** A local for four floats, or four integers. */
  vector(): Local {
    return this.#keep(this.#vectors);
  }

  integer(): Local {
    return this.#keep(this.#integers);
  }

  vectors(count: number): Local[] {
    return Array.from({ length: count }, () => this.vector());
  }

  integers(count: number): Local[] {
    return Array.from({ length: count }, () => this.integer());
  }

  #keep(locals: Local[]): Local {
    const local = new Local(this.#count++);
    locals.push(local);
    return local;
  }

  /** How many locals of which type stand one after another, in the order in which they were asked for. */
  declarations(): Code {
    const types = new Map<number, number>();
    for (const { index } of this.#vectors) types.set(index, 0x7b);
    for (const { index } of this.#integers) types.set(index, 0x7f);
    const runs: { type: number; count: number }[] = [];
    for (const [, type] of [...types].sort(([a], [b]) => a - b)) {
      const last = runs.at(-1);
      if (last?.type === type) last.count++;
      else runs.push({ type, count: 1 });
    }
    return vector(runs.map(({ type, count }) => [unsigned(count), type]));
  }
}

interface DefinedFunction {
  readonly name: string | null;
  readonly parameters: number;
  readonly code: Code;
}

/** A module of functions that take integers and return nothing, over one memory that it is given as `host.memory`. */
export class ModuleBuilder {
  readonly #functions: DefinedFunction[] = [];

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
    const index = this.#functions.length;
    this.#functions.push({ name, parameters, code: [body.declarations(), code, 0x0b] });
    return (...values) => [values, 0x10, unsigned(index)];
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const functions = this.#functions;
    const exported = functions.flatMap(({ name }, index) => (name === null ? [] : [[text(name), 0, unsigned(index)]]));
    const code: Code = [
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(
        1,
        functions.map(({ parameters }) => [0x60, vector(new Array<Code>(parameters).fill(0x7f)), 0]),
      ),
      section(2, [[text('host'), text('memory'), 2, 0, 0]]),
      section(
        3,
        functions.map((_, index) => unsigned(index)),
      ),
      section(7, exported),
      section(
        10,
        functions.map(({ code }) => sized(code)),
      ),
    ];
    return Uint8Array.from(flat(code));
  }
}

const flat = (code: Code): number[] => [code].flat(Infinity as 1) as number[];

/** Bytes after their number. */
function sized(code: Code): Code {
  const bytes = flat(code);
  return [unsigned(bytes.length), bytes];
}

const vector = (items: readonly Code[]): Code => [unsigned(items.length), items];

const text = (value: string): Code => sized(Array.from(value, (character) => character.charCodeAt(0)));

const section = (id: number, items: readonly Code[]): Code => [id, sized(vector(items))];
