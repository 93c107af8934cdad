import { CressetError } from '@cresset/ir';
import type { ArchiveContents } from '@cresset/archive';
import { namesInCode, partsOf, partsOfDtype } from '@cresset/operators';
import type { ScalarType } from '@cresset/tensor';
import type { PartLoader, PartUse } from './part-loader.ts';
import type { WireValue } from './wire/protocol.ts';

/** Storages that tensors of a dtype with a part of its own are read from, as pickles name them. */
const STORAGE_OF_DTYPE = /\b(Complex(?:Float|Double)|Q(?:U?Int8|Int32))Storage\b/g;
const DTYPE_OF_STORAGE: Readonly<Record<string, ScalarType>> = {
  ComplexFloat: 'complex64',
  ComplexDouble: 'complex128',
  QInt8: 'qint8',
  QUInt8: 'quint8',
  QInt32: 'qint32',
};

/** Says which parts names need. */
type PartTable = (names: Iterable<string>) => Iterable<string>;

/** The classes of layers with packed weights, in code and in pickles. */
const PACKED = /\btorch\.classes\.(?:quantized|rnn)\b/;

/** A loop that counts, and what is indented below it. */
const LOOP = /^( *)for (\w+) in range\(.*\n((?:\1 +.*\n| *\n)*)/gm;

/**
 * Whether a loop selects by the number of its trip, and calls no module: those do more than compute point by point.
 * @param selects what stands before that number in one line of the loop
 */
function goesAlongTensor(text: string, selects: string): boolean {
  for (const [, , trip, body] of text.matchAll(LOOP))
    if (!body.includes(').forward(') && new RegExp(`${selects}[^\\n]*\\b${trip}\\b`).test(body)) return true;
  return false;
}

/** In files lists have brackets, and tensors a function. */
const SELECTS_IN_FILE = '\\bselect\\(';
const SELECTS_IN_PYTHON = '\\w\\[';

/** Which parts of the library one program needs, and why: each is fetched before what needs it is compiled or run. */
export class ProgramParts {
  readonly #loader: PartLoader | null;
  /** Parts without which the program cannot be compiled or run. */
  readonly #uses = new Map<string, string>();
  /** What else was fetched for it. */
  readonly #others = new Map<string, string>();
  /** Those that could not be fetched, and that the program does without. */
  readonly #without = new Set<string>();

  /** @param loader null where everything has been registered */
  constructor(loader: PartLoader | null) {
    this.#loader = loader;
  }

  /** Those without which it cannot be compiled or run, then the others, in the order in which they were first needed. */
  get uses(): readonly PartUse[] {
    return [...this.#uses, ...this.#others].map(([name, reason]) => ({ name, reason }));
  }

  /** Whether the program cannot do without a part. */
  areNeeded(part: string): boolean {
    return this.#uses.has(part);
  }

  /** Fetches what a file needs, as far as it tells before anything in it is compiled. */
  needForFile({ code, pickles, dtypes = [] }: ArchiveContents): Promise<void> {
    // Files of one program name the same over and over.
    const names = new Set(code.flatMap((text) => [...namesInCode(text)]));
    for (const dtype of dtypes) this.#noteDtype(dtype);
    if (code.some((text) => goesAlongTensor(text, SELECTS_IN_FILE))) this.#note('loops', 'a loop along a tensor');
    this.#noteCode(code.join('\n'), names, partsOf);
    const decoder = new TextDecoder('latin1');
    for (const pickle of pickles) {
      const text = decoder.decode(pickle);
      if (PACKED.test(text)) this.#note('quantized', 'a layer with packed weights');
      for (const [, storage] of text.matchAll(STORAGE_OF_DTYPE)) this.#noteDtype(DTYPE_OF_STORAGE[storage]);
    }
    return this.#fetch();
  }

  /** Fetches what a text needs, by the names in it and a table of `@cresset/operators`. */
  needForCode(text: string, names: Iterable<string>, table: PartTable): Promise<void> {
    if (goesAlongTensor(text, SELECTS_IN_PYTHON)) this.#note('loops', 'a loop along a tensor');
    this.#noteCode(text, names, table);
    return this.#fetch();
  }

  /** Fetches what tensors among the arguments of a call need. */
  async needForValues(values: Iterable<WireValue>): Promise<void> {
    const before = this.#uses.size;
    for (const value of values) this.#noteValue(value);
    if (this.#uses.size > before) await this.#fetch();
  }

  /** Counts something that was fetched for the program. */
  note(name: string, reason: string): void {
    if (!this.#uses.has(name) && !this.#others.has(name)) this.#others.set(name, reason);
  }

  /** Fetches a part, if it can be had: the program runs without it too. It is not tried again. */
  async want(part: string, reason: string): Promise<void> {
    if (this.#others.has(part) || this.#without.has(part)) return;
    try {
      await this.#loader?.need(part);
      this.note(part, reason);
    } catch {
      this.#without.add(part);
    }
  }

  #noteCode(text: string, names: Iterable<string>, table: PartTable): void {
    if (PACKED.test(text)) this.#note('quantized', 'a layer with packed weights');
    if (text.includes('autocast')) this.#note('autocast', 'torch.autocast');
    for (const name of names) for (const part of table([name])) this.#note(part, name);
  }

  #noteValue(value: WireValue): void {
    if (value === null || typeof value !== 'object') return;
    if (Array.isArray(value)) {
      for (const item of value as readonly WireValue[]) this.#noteValue(item);
      return;
    }
    const wire = value as Exclude<WireValue, readonly WireValue[] | number | bigint | string | boolean | null>;
    if ('dtype' in wire) this.#noteDtype(wire.dtype);
    else if (wire.kind === 'dict') for (const [, item] of wire.entries) this.#noteValue(item);
    else if (wire.kind === 'tuple') for (const item of wire.items) this.#noteValue(item);
    else if (wire.kind === 'object') for (const [, item] of wire.attributes) this.#noteValue(item);
  }

  #noteDtype(dtype: ScalarType): void {
    for (const part of partsOfDtype(dtype)) this.#note(part, `a tensor of ${dtype}`);
  }

  #note(part: string, reason: string): void {
    if (!this.#uses.has(part)) this.#uses.set(part, reason);
  }

  async #fetch(): Promise<void> {
    await Promise.all(
      [...this.#uses].map(async ([name, reason]) => {
        try {
          await this.#loader?.need(name);
        } catch (error) {
          if (!(error instanceof CressetError)) throw error;
          throw new CressetError(error.code, `${error.message} (it is needed for: ${reason})`, { cause: error });
        }
      }),
    );
  }
}
