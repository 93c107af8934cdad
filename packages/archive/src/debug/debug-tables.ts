import type { SourceRangeFactory } from '@cresset/ir';
import type { TransferOptions } from '../sources/byte-source.ts';
import type { DebugRanges } from './debug-ranges.ts';
import type { ZipReader } from '../zip/zip-reader.ts';

/**
 * The debug tables of an archive. They are fetched when first wanted, which is after an error or for a graph with source lines:
 * `load` gets their bytes, and each is unpickled at its first question.
 */
export class DebugTables {
  #zip: ZipReader;
  readonly #tables = new Map<string, DebugRanges>();
  #loading: Promise<void> | null = null;

  /** @param onPart told when what reads the tables is fetched */
  constructor(
    zip: ZipReader,
    private readonly onPart?: TransferOptions['onPart'],
  ) {
    this.#zip = zip;
  }

  /** The table beside a code file; it answers nothing until `load` is done. Undefined where there is none. */
  tableOf(codeFile: string): SourceRangeFactory | undefined {
    const name = `${codeFile}.debug_pkl`;
    if (!this.#zip.has(name)) return undefined;
    const lookup = (): DebugRanges | undefined => this.#tables.get(name);
    return { findSourceRangeThatGenerated: (range) => lookup()?.findSourceRangeThatGenerated(range) };
  }

  /** Fetches the tables of all code files. Never rejects: without a table, messages name the generated code. */
  load(): Promise<void> {
    this.#loading ??= this.#fetch();
    return this.#loading;
  }

  /** Lets go of a file that is in memory as a whole: only the tables are kept, as they lie in it. */
  async release(): Promise<void> {
    this.#zip = await this.#zip.subset(this.#names());
  }

  #names(): string[] {
    return [...this.#zip.entries.keys()].filter((name) => name.endsWith('.debug_pkl'));
  }

  async #fetch(): Promise<void> {
    const names = this.#names();
    if (names.length === 0) return;
    const module = await import('./debug-ranges.ts').catch(() => null);
    if (!module) return;
    this.onPart?.('debug-ranges', "lines of the author's source");
    const { DebugRanges } = module;
    const read = async (group: readonly string[]): Promise<void> => {
      const contents = await this.#zip.readAll(group);
      group.forEach((name, index) => this.#tables.set(name, new DebugRanges(contents[index], name)));
    };
    try {
      await read(names);
    } catch {
      // One damaged table must not cost the others.
      await Promise.allSettled(names.map((name) => read([name])));
    }
  }
}
